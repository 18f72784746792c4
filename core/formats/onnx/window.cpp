#include "core/formats/onnx/window.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {
namespace {

constexpr int64_t kMostWindow = int64_t{1} << 24;  // of sizes, strides and borders

bool fits(const Ints& values, size_t n, int64_t least) {
  return values.size() == n &&
         std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= least && v <= kMostWindow; });
}

void same_borders(OnnxBlock& b, Endpoint x, OnnxWindow& w, bool upper) {
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    const int64_t size = b.dim(x, static_cast<int>(i) + 2);
    if (size < 0) {
      if (!upper || w.dilated()) b.fail("auto_pad of a size that is not known");
      continue;
    }
    const int64_t windows = (size + w.strides[i] - 1) / w.strides[i];
    const int64_t border = std::max<int64_t>((windows - 1) * w.strides[i] + w.reach(i) - size, 0);
    w.before[i] = upper ? border / 2 : border - border / 2;
    w.after[i] = border - w.before[i];
  }
}

/// The last window begins inside the tensor or the border before it.
void round_up(OnnxBlock& b, Endpoint x, OnnxWindow& w) {
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    const int64_t size = b.dim(x, static_cast<int>(i) + 2);
    if (size < 0) {
      // As many cells more as a last window may need; where it reaches as far as that, it begins inside the input.
      if (w.after[i] + w.strides[i] > w.reach(i)) b.fail("ceil_mode of a size that is not known");
      w.extra[i] = w.strides[i] - 1;
      w.after[i] += w.extra[i];
      continue;
    }
    const int64_t room = size + w.before[i] + w.after[i] - w.reach(i);
    int64_t windows = (room + w.strides[i] - 1) / w.strides[i] + 1;
    if ((windows - 1) * w.strides[i] >= size + w.before[i]) --windows;
    w.extra[i] = std::max<int64_t>((windows - 1) * w.strides[i] - room, 0);
    w.after[i] += w.extra[i];
  }
}

}  // namespace

bool OnnxWindow::padded() const {
  const auto any = [](const Ints& v) { return std::any_of(v.begin(), v.end(), [](int64_t n) { return n != 0; }); };
  return any(before) || any(after);
}

bool OnnxWindow::dilated() const {
  return std::any_of(dilations.begin(), dilations.end(), [](int64_t n) { return n != 1; });
}

std::optional<OnnxWindow> onnx_window(OnnxBlock& b, Endpoint x, Ints kernel) {
  const int rank = b.rank(x);
  if (rank < 3) return b.fail(cat("an input of rank ", rank, "; wanted at least 3")), std::nullopt;
  const auto n = static_cast<size_t>(rank - 2);
  OnnxWindow w;
  w.kernel = b.integers("kernel_shape", std::move(kernel));
  w.strides = b.integers("strides", Ints(n, 1));
  w.dilations = b.integers("dilations", Ints(n, 1));
  Ints pads = b.integers("pads", Ints(2 * n, 0));
  if (!fits(w.kernel, n, 1) || !fits(w.strides, n, 1) || !fits(w.dilations, n, 1) || !fits(pads, 2 * n, 0))
    return b.fail(cat("kernel_shape, strides, dilations or pads that do not fit ", n, " dimensions")), std::nullopt;
  w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  w.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  w.extra.assign(n, 0);
  const std::string automatic = b.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    w.same_upper = automatic == "SAME_UPPER";
    same_borders(b, x, w, w.same_upper);
  } else if (automatic == "VALID") {
    w.before.assign(n, 0), w.after.assign(n, 0);
  } else if (automatic != "NOTSET" && !automatic.empty()) {
    return b.fail(cat("auto_pad '", automatic, "'")), std::nullopt;
  }
  if (b.integer("ceil_mode", 0) != 0) round_up(b, x, w);
  if (b.failed()) return std::nullopt;
  return w;
}

Endpoint window_cells(OnnxBlock& b, Endpoint x, const OnnxWindow& w, size_t i, int64_t offset) {
  const int axis = static_cast<int>(i) + 2;
  const int64_t begin = offset * w.dilations[i], size = b.dim(x, axis);
  if (size < 0) return b.fail("a window over a size that is not known");
  if (size < w.reach(i)) return b.fail("a window larger than the input");
  const int64_t windows = (size - w.reach(i)) / w.strides[i] + 1;
  return b.slice(x, axis, begin, begin + (windows - 1) * w.strides[i] + 1, w.strides[i]);
}

Endpoint with_border(OnnxBlock& b, Endpoint x, const OnnxWindow& w, double value, bool channels_last) {
  if (!w.padded()) return x;
  Ints rows(channels_last ? 2 : 4, 0);
  for (size_t i = 0; i < w.kernel.size(); ++i) rows.push_back(w.before[i]), rows.push_back(w.after[i]);
  if (channels_last) rows.resize(rows.size() + 2, 0);
  return b.make("PadV2", {x, b.reshape(b.ints(rows), Ints{-1, 2}), b.like(x, value)});
}

}  // namespace emplace
