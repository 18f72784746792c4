// Part of core/formats/onnx/op_table.h: pools.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/cat.h"
#include "core/formats/onnx/layout.h"
#include "core/formats/onnx/window.h"

namespace emplace {
namespace {

constexpr int64_t kMostCells = int64_t{1} << 28;  // that are counted while a model is read

/// All numbers of a type are at least this.
double lowest(DType t) {
  switch (t) {
    case DType::kInt8:
      return INT8_MIN;
    case DType::kInt16:
      return INT16_MIN;
    case DType::kInt32:
      return INT32_MIN;
    case DType::kInt64:
      return static_cast<double>(INT64_MIN);
    default:
      return is_integer(t) ? 0 : -std::numeric_limits<double>::infinity();
  }
}

/// Window place by window place, one axis after the other.
Endpoint pooled_by_axes(OnnxBlock& b, Endpoint x, const OnnxWindow& w, std::string_view op) {
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    if (w.kernel[i] > 4096) return b.fail("a window of more than 4096");
    Endpoint out;
    for (int64_t k = 0; k < w.kernel[i] && !b.failed(); ++k) {
      const Endpoint cells = window_cells(b, x, w, i, k);
      out = k == 0 ? cells : b.math(op, {out, cells});
    }
    x = out;
  }
  return x;
}

/// `last`: of images with their channels last.
OnnxAttrs pool_attrs(const OnnxWindow& w, bool border, bool last) {
  OnnxAttrs attrs{{"ksize", attr_of(of_image(w.kernel, last))},
                  {"strides", attr_of(of_image(w.strides, last))},
                  {"data_format", attr_of(last ? "NHWC" : "NCHW")}};
  const bool explicitly = border && w.padded() && !w.same_upper;
  attrs.add("padding", attr_of(border && w.same_upper ? "SAME" : explicitly ? "EXPLICIT" : "VALID"));
  if (explicitly) {
    Ints borders(4, 0);
    borders.insert(borders.begin() + (last ? 2 : 4), {w.before[0], w.after[0], w.before[1], w.after[1]});
    attrs.add("explicit_paddings", attr_of(std::move(borders)));
  }
  return attrs;
}

/// By an op that has kernels for both layouts.
Endpoint pooled(OnnxBlock& b, std::string_view op, Endpoint x, const OnnxWindow& w) {
  if (!is_turned(b, x)) return b.make(op, {x}, pool_attrs(w, true, false));
  return channels_first(b, b.make(op, {channels_last(b, x)}, pool_attrs(w, true, true)));
}

/// [N,C,L] as images of one row.
OnnxWindow of_rows(OnnxWindow w) {
  for (Ints* v : {&w.kernel, &w.strides, &w.dilations}) v->insert(v->begin(), 1);
  for (Ints* v : {&w.before, &w.after, &w.extra}) v->insert(v->begin(), 0);
  return w;
}

bool has_pool_kernel(OnnxBlock& b, Endpoint x, const OnnxWindow& w, std::string_view op) {
  const OpDef* def = OpLibrary::find(op);
  bool fits = w.rank() == 2 && !w.dilated() && def && def->cpu_kernel(b.type(x));
  for (size_t i = 0; i < w.kernel.size() && fits; ++i) fits = w.before[i] < w.kernel[i] && w.after[i] < w.kernel[i];
  return fits;
}

Endpoint max_pooled(OnnxBlock& b, Endpoint x, const OnnxWindow& w) {
  if (w.rank() == 1) return b.squeeze(max_pooled(b, b.expand(x, 2), of_rows(w)), {2});
  if (has_pool_kernel(b, x, w, "MaxPool")) return pooled(b, "MaxPool", x, w);
  return pooled_by_axes(b, with_border(b, x, w, lowest(b.type(x))), w, "Maximum");
}

/// For each window the place of its largest cell, the first of equals, among all of x. `columns` first: storage_order.
Endpoint places_of_largest(OnnxBlock& b, Endpoint x, const OnnxWindow& w, bool columns) {
  const int rank = b.rank(x);
  if (!b.has_shape(x) || rank < 3) return b.fail("places in a tensor whose sizes are not known");
  Ints sizes(b.shape(x).dims().begin(), b.shape(x).dims().end());
  Ints order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (columns) std::reverse(order.begin() + 2, order.end());
  Ints turned;
  for (int64_t a : order) turned.push_back(sizes[static_cast<size_t>(a)]);
  const Endpoint count = b.int64(std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()));
  const Endpoint line = b.make("Range", {b.int64(0), count, b.int64(1)});
  Endpoint numbers = with_border(b, b.transpose(b.reshape(line, turned), order), w, 0);
  const Endpoint cells = with_border(b, x, w, lowest(b.type(x)));
  int64_t places = 1;
  for (int64_t k : w.kernel) places *= std::min<int64_t>(k, 4096);
  if (places > 4096) return b.fail("a window of more than 4096 cells");
  Endpoint best, at;
  for (int64_t p = 0; p < places && !b.failed(); ++p) {
    Endpoint value = cells, number = numbers;
    int64_t rest = p;
    for (size_t i = w.kernel.size(); i-- > 0; rest /= w.kernel[i]) {
      value = window_cells(b, value, w, i, rest % w.kernel[i]);
      number = window_cells(b, number, w, i, rest % w.kernel[i]);
    }
    const Endpoint better = p == 0 ? Endpoint{} : b.math("Greater", {value, best});
    best = p == 0 ? value : b.select(better, value, best);
    at = p == 0 ? number : b.select(better, number, at);
  }
  return at;
}

/// A border as wide as the window would have windows without a cell.
std::optional<OnnxWindow> pool_window(OnnxBlock& b, Endpoint x) {
  std::optional<OnnxWindow> w = onnx_window(b, x, {});
  for (size_t i = 0; w && i < w->kernel.size(); ++i) {
    const int64_t border = std::max(w->before[i], w->after[i] - w->extra[i]);
    if (border < w->reach(i)) continue;
    b.fail(cat("pads of ", border, " around windows of ", w->reach(i)), "pads are smaller than the window");
    return std::nullopt;
  }
  return w;
}

Endpoints max_pool(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const std::optional<OnnxWindow> w = pool_window(b, x);
  if (!w) return {};
  Endpoints out{max_pooled(b, x, *w)};
  if (b.wants(1)) out.push_back(places_of_largest(b, x, *w, b.integer("storage_order", 0) != 0));
  return out;
}

/// How many cells each window of an axis has; `border`: those of the given border count.
Ints cells_counted(const OnnxWindow& w, size_t i, int64_t size, bool border) {
  Ints counts;
  const int64_t low = border ? 0 : w.before[i];
  const int64_t high = w.before[i] + size + (border ? w.after[i] - w.extra[i] : 0);
  const int64_t whole = w.before[i] + size + w.after[i];
  for (int64_t begin = 0; begin + w.reach(i) <= whole; begin += w.strides[i]) {
    int64_t n = 0;
    for (int64_t k = 0; k < w.kernel[i]; ++k) {
      const int64_t at = begin + k * w.dilations[i];
      n += at >= low && at < high;
    }
    counts.push_back(n);
  }
  return counts;
}

/// The same where only the run knows the sizes: what pooling a tensor of ones makes of it.
Endpoint open_counts(OnnxBlock& b, Endpoint x, const OnnxWindow& w, bool border) {
  const Endpoint sizes = b.concat({b.ints({1, 1}), b.dim_of(x, 2), b.dim_of(x, 3)}, 0);
  OnnxWindow given = w, rounding = w;
  for (size_t i = 0; i < w.kernel.size(); ++i)
    given.after[i] -= w.extra[i], rounding.before[i] = 0, rounding.after[i] = w.extra[i];
  const Endpoint ones = b.make("Fill", {sizes, b.scalar(DType::kFloat, 1)});
  const Endpoint cells = with_border(b, with_border(b, ones, given, border ? 1 : 0), rounding, 0);
  const double window = static_cast<double>(w.kernel[0] * w.kernel[1]);
  const Endpoint shares = b.mul(b.make("AvgPool", {cells}, pool_attrs(w, false, false)), b.like(cells, window));
  return b.cast(b.make("Maximum", {b.make("Rint", {shares}), b.like(shares, 1)}), b.type(x));
}

/// The numbers of cells of all windows, [1,1,...], as a constant of x's type; 1 for windows without any.
Endpoint counts_of(OnnxBlock& b, Endpoint x, const OnnxWindow& w, bool border) {
  Endpoint product;
  const bool open = w.rank() == 2 && (b.dim(x, 2) < 0 || b.dim(x, 3) < 0);
  if (open && !w.dilated() && !w.same_upper) return open_counts(b, x, w, border);
  for (size_t i = 0; i < w.kernel.size() && !b.failed(); ++i) {
    const int64_t size = b.dim(x, static_cast<int>(i) + 2);
    if (size < 0) return b.fail("a border around a size that is not known");
    if (size + w.before[i] + w.after[i] > kMostCells / w.kernel[i])
      return b.fail(cat("windows of ", w.kernel[i], " over a size of ", size, ": too many to count their cells"));
    std::vector<float> counts;
    for (int64_t n : cells_counted(w, i, size, border)) counts.push_back(static_cast<float>(std::max<int64_t>(n, 1)));
    Ints dims(w.kernel.size() + 2, 1);
    dims[i + 2] = static_cast<int64_t>(counts.size());
    const Endpoint axis = b.constant(Tensor::of<float>(Shape(dims), counts));
    product = i == 0 ? axis : b.mul(product, axis);
  }
  return b.cast(product, b.type(x));
}

Endpoint mean_pooled(OnnxBlock& b, Endpoint x, const OnnxWindow& w, bool border) {
  if (w.rank() == 1) return b.squeeze(mean_pooled(b, b.expand(x, 2), of_rows(w), border), {2});
  const bool plain = !w.padded() || (w.same_upper && !border);
  if (plain && has_pool_kernel(b, x, w, "AvgPool")) return pooled(b, "AvgPool", x, w);
  if (w.rank() != 2 || w.dilated())
    return b.div(pooled_by_axes(b, with_border(b, x, w, 0), w, "AddV2"), counts_of(b, x, w, border));
  const bool last = is_turned(b, x);
  const Endpoint cells = with_border(b, last ? channels_last(b, x) : x, w, 0, last);
  const Endpoint mean = b.math("AvgPool", {cells}, pool_attrs(w, false, last));
  const double window = static_cast<double>(w.kernel[0] * w.kernel[1]);
  const Endpoint share = b.div(b.like(x, window), counts_of(b, x, w, border));
  return last ? channels_first(b, b.mul(mean, b.transpose(share, {0, 2, 3, 1}))) : b.mul(mean, share);
}

Endpoints average_pool(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const std::optional<OnnxWindow> w = pool_window(b, x);
  if (!w) return {};
  return {mean_pooled(b, x, *w, b.integer("count_include_pad", 0) != 0)};
}

/// (sum |x|^p)^(1/p)
Endpoint powered(OnnxBlock& b, Endpoint x, double p) {
  x = b.math("Abs", {x});
  return p == 1 ? x : p == 2 ? b.mul(x, x) : b.math("Pow", {x, b.like(x, p)});
}

Endpoint rooted(OnnxBlock& b, Endpoint x, double p) {
  return p == 1 ? x : p == 2 ? b.math("Sqrt", {x}) : b.math("Pow", {x, b.like(x, 1 / p)});
}

Endpoints lp_pool(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const std::optional<OnnxWindow> w = pool_window(b, x);
  if (!w) return {};
  const auto p = static_cast<double>(b.integer("p", 2));
  return {rooted(b, pooled_by_axes(b, with_border(b, powered(b, x, p), *w, 0), *w, "AddV2"), p)};
}

Ints behind_channels(OnnxBlock& b, Endpoint x) {
  Ints axes;
  for (int i = 2; i < b.rank(x); ++i) axes.push_back(i);
  return axes;
}

Endpoints global_pool(OnnxBlock& b, std::string_view op) {
  const Endpoint x = b.input(0);
  if (is_turned(b, x)) return {channels_first(b, b.reduce(op, channels_last(b, x), {1, 2}))};
  return {b.reduce(op, x, behind_channels(b, x))};
}

Endpoints global_lp_pool(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const auto p = static_cast<double>(b.integer("p", 2));
  return {rooted(b, b.reduce("Sum", powered(b, x, p), behind_channels(b, x)), p)};
}

/// Each value to the place that it came from, in the tensor that was pooled; zeros elsewhere, and behind it up to the
/// sizes that are asked for.
Endpoints max_unpool(OnnxBlock& b) {
  const Endpoint x = b.input(0), at = b.input(1);
  const std::optional<OnnxWindow> w = pool_window(b, x);
  if (!w) return {};
  Ints pooled{b.dim(x, 0), b.dim(x, 1)};
  for (size_t i = 0; i < w->kernel.size(); ++i)
    pooled.push_back((b.dim(x, static_cast<int>(i) + 2) - 1) * w->strides[i] - w->before[i] - w->after[i] +
                     w->kernel[i]);
  int64_t count = 1;
  for (int64_t s : pooled) count = s < 0 || count < 0 ? -1 : count * s;
  if (count < 0) return {b.fail("sizes that are not known")};
  const Endpoint flat = b.make("ScatterNd", {b.reshape(at, Ints{-1, 1}), b.reshape(x, Ints{-1}), b.ints({count})});
  const Endpoint out = b.reshape(flat, pooled);
  if (!b.has(2)) return {out};
  const Endpoint more = b.sub(b.cast(b.input(2), DType::kInt64), b.ints(pooled));
  const Endpoint none = b.ints(Ints(pooled.size(), 0));
  return {b.make("Pad", {out, b.make("Pack", {none, more}, {{"axis", attr_of(int64_t{1})}})})};
}

constexpr OnnxOp kPoolOps[] = {
    {"AveragePool", 1, average_pool},
    {"GlobalAveragePool", 1, [](OnnxBlock& b) { return global_pool(b, "Mean"); }},
    {"GlobalLpPool", 2, global_lp_pool},
    {"GlobalMaxPool", 1, [](OnnxBlock& b) { return global_pool(b, "Max"); }},
    {"LpPool", 2, lp_pool},
    {"MaxPool", 1, max_pool, false, false, true},
    {"MaxUnpool", 9, max_unpool},
};

}  // namespace

std::span<const OnnxOp> onnx_pool_ops() { return kPoolOps; }

}  // namespace emplace
