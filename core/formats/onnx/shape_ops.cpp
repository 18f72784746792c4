// Part of core/formats/onnx/op_table.h: ops that move elements and ask for sizes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "core/base/cat.h"
#include "core/formats/onnx/byte_moves.h"
#include "core/formats/onnx/layout.h"

namespace emplace {
namespace {

constexpr int64_t kMostBorder = INT32_MAX;
constexpr int64_t kMostIndices = int64_t{1} << 24;  // that are made while a model is read
constexpr int64_t kMostBlockSize = 65536;

Endpoints reshape(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const bool zeros = b.integer("allowzero", 0) != 0;  // a 0 is a size of 0, not the size that x has there
  std::optional<Ints> dims = b.integers("shape");
  Endpoint wanted;
  if (!dims) wanted = b.input(1), dims = b.known(wanted);
  if (dims) {
    bool open = false;
    const Ints given = *dims;
    for (size_t i = 0; i < dims->size() && !zeros; ++i) {
      if ((*dims)[i] != 0) continue;
      if (static_cast<int>(i) >= b.rank(x))
        return {b.fail(cat("size ", i, " is 0, that of x, which has ", b.rank(x), " sizes"))};
      (*dims)[i] = b.dim(x, static_cast<int>(i));
      open = open || (*dims)[i] < 0;
    }
    if (!open || std::count(dims->begin(), dims->end(), -1) == 1) return {b.reshape(x, *dims)};
    Endpoints parts;
    for (size_t i = 0; i < dims->size(); ++i)
      parts.push_back(given[i] == 0 ? b.dim_of(x, static_cast<int>(i)) : b.ints({given[i]}));
    return {b.reshape_to(x, b.concat(parts, 0))};
  }
  if (zeros) return {b.reshape_to(x, wanted)};
  const int64_t n = b.dim(wanted, 0);
  const int rank = b.rank(x);
  if (n < 0) return {b.fail("a shape of a number of sizes that is not known")};
  // Sizes of x where the wanted ones are 0, as far as x has any.
  Endpoint own = b.shape_of(x);
  if (n <= rank) own = b.slice(own, 0, 0, n);
  if (n > rank) own = b.concat({own, b.ints(Ints(static_cast<size_t>(n - rank), 1))}, 0);
  return {b.reshape_to(x, b.select(b.make("Equal", {wanted, b.int64(0)}), own, wanted))};
}

Endpoints transpose(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  Ints perm(static_cast<size_t>(b.rank(x)));
  std::iota(perm.rbegin(), perm.rend(), 0);
  const Ints given = b.integers("perm", perm);
  if (given.size() != perm.size() || !std::is_permutation(given.begin(), given.end(), perm.begin()))
    return {b.fail(cat("perm is no order of ", b.rank(x), " axes"))};
  return {b.transpose(x, given)};
}

Endpoints concat(OnnxBlock& b) {
  Endpoints parts = b.inputs();
  const int64_t axis = b.integer("axis", 1);
  const auto turned = [&](Endpoint e) { return is_turned(b, e); };
  if (parts.empty() || !std::all_of(parts.begin(), parts.end(), turned)) return {b.concat(parts, axis)};
  for (Endpoint& e : parts) e = channels_last(b, e);
  return {channels_first(b, b.concat(parts, axis_with_channels_last(b.axis(axis, 4))))};
}

Endpoints split_along(OnnxBlock& b, Endpoint x, int axis) {
  const auto n = static_cast<int64_t>(b.num_outputs());
  if (const int64_t parts = b.integer("num_outputs", n); parts != n)
    return {b.fail(cat("num_outputs is ", parts, ", there are ", n))};
  if (b.has(1) && !b.known(b.input(1)))
    return b.make_many("SplitV", {x, b.input(1), b.int32(axis)}, b.num_outputs(), {{"num_split", attr_of(n)}});
  const std::optional<Ints> sizes = b.numbers("split", 1);
  if (sizes && sizes->size() != b.num_outputs()) return {b.fail(cat(sizes->size(), " sizes for ", n, " outputs"))};
  if (sizes && std::any_of(sizes->begin(), sizes->end(), [](int64_t part) { return part < 0; }))
    return {b.fail("a size below 0")};
  if (n == 1) return {x};
  const int64_t size = b.dim(x, axis);
  if (!sizes && size >= 0 && size % n != 0) {
    const int64_t each = (size + n - 1) / n;
    Ints uneven(static_cast<size_t>(n), each);
    uneven.back() = size - each * (n - 1);
    return b.make_many("SplitV", {x, b.ints(uneven), b.int32(axis)}, b.num_outputs(), {{"num_split", attr_of(n)}});
  }
  if (sizes)
    return b.make_many("SplitV", {x, b.ints(*sizes), b.int32(axis)}, b.num_outputs(), {{"num_split", attr_of(n)}});
  return b.make_many("Split", {b.int32(axis), x}, b.num_outputs(), {{"num_split", attr_of(n)}});
}

Endpoints split(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int axis = b.axis(b.integer("axis", 0), b.rank(x));
  if (!is_turned(b, x)) return split_along(b, x, axis);
  Endpoints parts = split_along(b, channels_last(b, x), axis_with_channels_last(axis));
  for (Endpoint& e : parts) e = channels_first(b, e);
  return parts;
}

/// ONNX's and Python's slices agree but for ends below the first element with negative steps.
Endpoints slice(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int rank = b.rank(x);
  const std::optional<Ints> starts = b.numbers("starts", 1), ends = b.numbers("ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) return {b.fail("starts and ends of different number")};
  Ints axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (std::optional<Ints> given = b.numbers("axes", 3)) axes = *given;
  const Ints steps = (b.has(4) ? b.numbers("steps", 4) : std::nullopt).value_or(Ints(starts->size(), 1));
  if (axes.size() != starts->size() || steps.size() != starts->size())
    return {b.fail("axes or steps of another number")};
  const auto n = static_cast<size_t>(rank);
  Ints begin(n, 0), end(n, 0), by(n, 1);
  int64_t begin_mask = (int64_t{1} << std::min(rank, 62)) - 1, end_mask = begin_mask;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<size_t>(b.axis(axes[i], rank));
    if (a >= n || b.failed()) break;
    if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) !=
        axes.begin() + static_cast<std::ptrdiff_t>(i))
      return {b.fail(cat("axis ", axes[i], " twice"))};
    constexpr int64_t kFar = INT32_MAX;
    begin[a] = std::clamp((*starts)[i], -kFar, kFar), end[a] = std::clamp((*ends)[i], -kFar, kFar), by[a] = steps[i];
    begin_mask &= ~(int64_t{1} << a), end_mask &= ~(int64_t{1} << a);
    const int64_t size = b.dim(x, static_cast<int>(a));
    if (by[a] > 0 && size >= 0 && begin[a] < -size) begin[a] = 0;
  }
  return {b.make("StridedSlice", {x, b.ints(begin), b.ints(end), b.ints(by)},
                 {{"begin_mask", attr_of(begin_mask)}, {"end_mask", attr_of(end_mask)}})};
}

/// `values` at `axes`, of which `defaults` has one each.
Endpoint at_axes(OnnxBlock& b, Endpoint defaults, Endpoint axes, Endpoint values) {
  const Endpoint rank = b.int64(b.dim(defaults, 0));
  axes = b.cast(axes, DType::kInt64);
  const Endpoint from_start = b.select(b.make("Less", {axes, b.int64(0)}), b.add(axes, rank), axes);
  return b.make("TensorScatterUpdate", {defaults, b.expand(from_start, 1), values});
}

/// Axes as an input, or all.
Endpoint axes_input(OnnxBlock& b, size_t input, int64_t count) {
  if (b.has(input)) return b.input(input);
  Ints all(static_cast<size_t>(std::max<int64_t>(count, 0)));
  std::iota(all.begin(), all.end(), 0);
  return b.ints(all);
}

/// With bounds that only the run knows.
Endpoints slice_by_values(OnnxBlock& b) {
  bool known = true;
  for (size_t i = 1; i < 5; ++i) known = known && (!b.has(i) || b.known(b.input(i)));
  if (b.failed() || known) return slice(b);
  const Endpoint x = b.input(0);
  const auto rank = static_cast<size_t>(b.rank(x));
  const Endpoint starts = b.cast(b.input(1), DType::kInt64), ends = b.cast(b.input(2), DType::kInt64);
  const Endpoint axes = axes_input(b, 3, b.dim(starts, 0));
  const Endpoint begin = at_axes(b, b.ints(Ints(rank, 0)), axes, starts);
  const Endpoint end = at_axes(b, b.shape_of(x), axes, ends);
  Endpoint steps = b.ints(Ints(rank, 1));
  if (b.has(4)) steps = at_axes(b, steps, axes, b.cast(b.input(4), DType::kInt64));
  return {b.make("StridedSlice", {x, begin, end, steps})};
}

/// Which of `rank` axes are not among the given ones, as a column.
Endpoint other_axes(OnnxBlock& b, Endpoint axes, int rank) {
  const Endpoint all = b.make("Fill", {b.ints({rank}), b.scalar(DType::kBool, 1)});
  const Endpoint none = b.make("Fill", {b.shape_of(axes), b.scalar(DType::kBool, 0)});
  return b.make("Where", {at_axes(b, all, axes, none)});
}

/// Which axes there are, or which are single, is only known then.
Endpoints squeezed_in_the_run(OnnxBlock& b, Endpoint x) {
  const std::optional<Ints> given = b.numbers("axes", 1);
  return {b.make("Squeeze", {x}, {{"squeeze_dims", attr_of(given.value_or(Ints()))}})};
}

Endpoints squeeze(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  if (!b.failed() && !b.shape(x).rank_known()) return squeezed_in_the_run(b, x);
  const int rank = b.rank(x);
  Ints axes;
  if (b.has(1) && !b.known(b.input(1))) {
    const Endpoint kept = b.squeeze(other_axes(b, b.input(1), rank), {1});
    return {b.reshape_to(x, b.make("GatherV2", {b.shape_of(x), kept, b.int32(0)}))};
  }
  if (std::optional<Ints> given = b.numbers("axes", 1)) {
    for (int64_t a : *given) axes.push_back(b.axis(a, rank));
  } else {
    for (int i = 0; i < rank; ++i) {
      if (b.dim(x, i) < 0) return squeezed_in_the_run(b, x);
      if (b.dim(x, i) == 1) axes.push_back(i);
    }
  }
  return {b.squeeze(x, axes)};
}

Endpoints unsqueeze(OnnxBlock& b) {
  Endpoint x = b.input(0);
  if (b.has(1) && !b.known(b.input(1))) {
    const int64_t more = b.rank(b.input(1)) == 0 ? 1 : b.dim(b.input(1), 0), all = b.rank(x) + more;
    if (more < 0 || all > kMaxRank) return {b.fail("axes of a number that is not known")};
    const Endpoint kept = other_axes(b, b.reshape(b.input(1), Ints{-1}), static_cast<int>(all));
    const Endpoint ones = b.ints(Ints(static_cast<size_t>(all), 1));
    return {b.reshape_to(x, b.make("TensorScatterUpdate", {ones, kept, b.shape_of(x)}))};
  }
  std::optional<Ints> axes = b.numbers("axes", 1);
  if (!axes) return {b.fail("without axes")};
  if (axes->size() == 1 && !b.failed() && !b.shape(x).rank_known()) return {b.expand(x, axes->front())};
  const int rank = b.rank(x) + static_cast<int>(std::min<size_t>(axes->size(), kMaxRank));
  for (int64_t& a : *axes) a = b.axis(a, rank);
  std::sort(axes->begin(), axes->end());
  if (std::adjacent_find(axes->begin(), axes->end()) != axes->end()) return {b.fail("an axis twice")};
  for (int64_t a : *axes) x = b.expand(x, a);
  return {x};
}

Endpoints flatten(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int rank = b.rank(x);
  const int64_t given = b.integer("axis", 1);
  if (given < -rank || given > rank) return {b.fail(cat("axis ", given, " of a tensor of rank ", rank))};
  const auto axis = static_cast<int>(given < 0 ? given + rank : given);
  int64_t rows = 1, columns = 1;
  for (int i = 0; i < rank; ++i) {
    int64_t& size = i < axis ? rows : columns;
    size = size < 0 || b.dim(x, i) < 0 ? -1 : size * b.dim(x, i);
  }
  if (rows < 0 && columns < 0) {
    const Endpoint first =
        b.make("Prod", {b.slice(b.shape_of(x), 0, 0, axis), b.ints32({0})}, {{"keep_dims", attr_of(true)}});
    return {b.reshape_to(x, b.concat({first, b.ints({-1})}, 0))};
  }
  return {b.reshape(x, Ints{rows, columns})};
}

Endpoints expand(OnnxBlock& b) {
  const Endpoint x = b.input(0), wanted = b.input(1);
  const int64_t n = b.dim(wanted, 0);
  const int rank = b.rank(x);
  if (n < 0) return {b.fail("a shape of a number of sizes that is not known")};
  const Endpoint own = b.shape_of(x);
  Endpoint sizes = wanted, padded = own;
  if (rank > n) sizes = b.concat({b.ints(Ints(static_cast<size_t>(rank - n), 1)), wanted}, 0);
  if (n > rank) padded = b.concat({b.ints(Ints(static_cast<size_t>(n - rank), 1)), own}, 0);
  // 1 gives way to the other size, also where that one is 0.
  const Endpoint both = b.select(b.make("Equal", {sizes, b.int64(1)}), padded, sizes);
  return {b.broadcast(x, both)};
}

Endpoints tile(OnnxBlock& b) { return {b.make("Tile", {b.input(0), b.input(1)})}; }

Endpoints shape(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const Endpoint all = b.make("Shape", {x}, {{"out_type", attr_of(DType::kInt64)}});
  if (!b.has_attribute("start") && !b.has_attribute("end")) return {all};
  const int rank = b.rank(x);
  const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamped(b.integer("start", 0)), end = clamped(b.integer("end", rank));
  return {b.slice(all, 0, start, std::max(start, end))};
}

Endpoints size(OnnxBlock& b) { return {b.make("Size", {b.input(0)}, {{"out_type", attr_of(DType::kInt64)}})}; }

/// [before..., after...] as rows of before and after, for all axes or some.
std::optional<Ints> pads_of(OnnxBlock& b, Endpoint x) {
  const int rank = b.rank(x);
  std::optional<Ints> pads = b.has_attribute("pads") ? b.integers("pads") : b.numbers("pads", 1);
  if (!pads) return b.fail("without pads"), std::nullopt;
  Ints axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (b.has(3)) axes = b.wanted(b.input(3), "axes");
  if (pads->size() != 2 * axes.size())
    return b.fail(cat(pads->size(), " pads for ", axes.size(), " axes")), std::nullopt;
  Ints out(2 * static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<size_t>(b.axis(axes[i], rank));
    if (b.failed()) return std::nullopt;
    const int64_t before = (*pads)[i], after = (*pads)[axes.size() + i], size = b.dim(x, static_cast<int>(a));
    const bool far =
        std::max(std::abs(before), std::abs(after)) > kMostBorder || before == INT64_MIN || after == INT64_MIN;
    if (far || (size >= 0 && size + before + after < 0))
      return b.fail(cat("pads of ", before, " and ", after, " around a size of ", size)), std::nullopt;
    out[2 * a] = before, out[2 * a + 1] = after;
  }
  return out;
}

Endpoint cropped(OnnxBlock& b, Endpoint x, Ints& pads) {
  for (size_t a = 0; a < pads.size() / 2; ++a) {
    int64_t &before = pads[2 * a], &after = pads[2 * a + 1];
    const int64_t from = std::max<int64_t>(-before, 0);
    if (before < 0 || after < 0)
      x = b.slice(x, static_cast<int>(a), from, after < 0 ? after : std::numeric_limits<int32_t>::max());
    before = std::max<int64_t>(before, 0), after = std::max<int64_t>(after, 0);
  }
  return x;
}

/// The border repeated, or the tensor itself: of indices, axis by axis.
Endpoint pad_by_gather(OnnxBlock& b, Endpoint x, const Ints& pads, bool wrap) {
  for (size_t a = 0; a < pads.size() / 2; ++a) {
    const int64_t before = pads[2 * a], after = pads[2 * a + 1], size = b.dim(x, static_cast<int>(a));
    if (before == 0 && after == 0) continue;
    if (size <= 0 || size > kMostIndices || before + after > kMostIndices)
      return b.fail("a border of a size that is not known, or too wide");
    Ints at;
    for (int64_t i = -before; i < size + after; ++i)
      at.push_back(wrap ? ((i % size) + size) % size : std::clamp<int64_t>(i, 0, size - 1));
    x = b.make("GatherV2", {x, b.ints(at), b.int32(static_cast<int64_t>(a))});
  }
  return x;
}

/// Borders that only the run knows, none below 0; edges and wraps by indices.
Endpoints pad_by_values(OnnxBlock& b, const std::string& mode) {
  Endpoint x = b.input(0);
  const int rank = b.rank(x);
  Endpoint rows = b.transpose(b.reshape(b.cast(b.input(1), DType::kInt64), Ints{2, -1}), {1, 0});
  if (b.has(3))
    rows = at_axes(b, b.reshape(b.ints(Ints(2 * static_cast<size_t>(rank), 0)), Ints{rank, 2}), b.input(3), rows);
  if (mode == "reflect") return {b.make("MirrorPad", {x, rows}, {{"mode", attr_of("REFLECT")}})};
  for (int a = 0; a < rank && mode != "constant" && !b.failed(); ++a) {
    const Endpoint size = b.squeeze(b.dim_of(x, a), {0}), own = b.squeeze(b.slice(rows, 0, a, a + 1), {0});
    const Endpoint before = b.squeeze(b.slice(own, 0, 0, 1), {0}), after = b.squeeze(b.slice(own, 0, 1, 2), {0});
    Endpoint at = b.make("Range", {b.make("Neg", {before}), b.add(size, after), b.int64(1)});
    at = mode == "wrap" ? b.make("FloorMod", {at, size})
                        : b.make("Maximum", {b.make("Minimum", {at, b.sub(size, b.int64(1))}), b.int64(0)});
    x = b.make("GatherV2", {x, at, b.int32(a)});
  }
  if (mode != "constant") return {x};
  Endpoint value = b.has(2) ? b.input(2) : b.like(x, 0);
  if (b.rank(value) > 0) value = b.reshape(value, Ints{});
  return {b.make("PadV2", {x, rows, value})};
}

/// x's bytes, if x stands for bytes and what it is filled up with is a byte too: 0, which is their zero point.
const OnnxByteView* bytes_to_pad(OnnxBlock& b, Endpoint x, std::string_view mode) {
  const OnnxByteView* view = movable_bytes(b, x);
  if (!view || b.version() < 11 || mode != "constant" || view->zero.node == kNoNode) return nullptr;
  if (!b.has(2)) return view;
  const Tensor* value = b.value(b.input(2));
  const bool zero = value && value->dtype() == DType::kFloat && value->num_elements() == 1 &&
                    value->data<float>()[0] == 0 && !std::signbit(value->data<float>()[0]);
  return zero ? view : nullptr;
}

/// Before and after each axis.
Endpoint padded(OnnxBlock& b, Endpoint x, const Ints& pads, std::string_view mode, Endpoint value) {
  const Endpoint rows = b.reshape(b.ints(pads), Ints{b.rank(x), 2});
  if (mode == "reflect") return b.make("MirrorPad", {x, rows}, {{"mode", attr_of("REFLECT")}});
  if (mode != "constant") return b.fail(cat("mode '", mode, "'"), "constant, reflect, edge or wrap");
  if (value.node == kNoNode) return b.make("Pad", {x, rows});
  if (b.rank(value) > 0) value = b.reshape(value, Ints{});
  return b.make("PadV2", {x, rows, value});
}

Endpoints pad(OnnxBlock& b) {
  Endpoint x = b.input(0);
  const bool known = !b.has(1) || (b.known(b.input(1)) && (!b.has(3) || b.known(b.input(3))));
  if (const std::string how = b.text("mode", "constant");
      !known && (how == "constant" || how == "reflect" || how == "edge" || how == "wrap"))
    return pad_by_values(b, how);
  std::optional<Ints> pads = pads_of(b, x);
  if (!pads) return {};
  const std::string mode = b.text("mode", "constant");
  std::optional<OnnxByteView> bytes;
  if (const OnnxByteView* view = bytes_to_pad(b, x, mode)) bytes = *view, x = view->bytes;
  Endpoint value = b.version() < 11 ? b.like(x, b.number("value", 0)) : b.has(2) ? b.input(2) : Endpoint{};
  if (bytes) value = bytes->zero;
  x = cropped(b, x, *pads);
  if (mode == "edge" || mode == "wrap") return {pad_by_gather(b, x, *pads, mode == "wrap")};
  const bool turned = is_turned(b, x);
  if (turned) std::rotate(pads->begin() + 2, pads->begin() + 4, pads->end());  // of the channels, which come last
  Endpoint y = padded(b, turned ? channels_last(b, x) : x, *pads, mode, value);
  if (turned) y = channels_first(b, y);
  return {bytes ? reals_of(b, {y, bytes->scale, bytes->zero}) : y};
}

/// Channels that hold blocks, [N,C,H,W]; by reshapes, which fit both orders.
Endpoints depth_to_space(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int64_t s = b.integer("blocksize", 1), n = b.dim(x, 0), c = b.dim(x, 1), h = b.dim(x, 2), w = b.dim(x, 3);
  if (b.rank(x) != 4 || s < 1 || s > kMostBlockSize || c < 0 || h < 0 || w < 0 || c % (s * s) != 0)
    return {b.fail("sizes that do not fit, or are not known")};
  const bool dcr = b.text("mode", "DCR") == "DCR";
  const int64_t depth = c / (s * s);
  const Endpoint parts = dcr ? b.reshape(x, {n, s, s, depth, h, w}) : b.reshape(x, {n, depth, s, s, h, w});
  return {
      b.reshape(b.transpose(parts, dcr ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3}), {n, depth, h * s, w * s})};
}

Endpoints space_to_depth(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int64_t s = b.integer("blocksize", 1), n = b.dim(x, 0), c = b.dim(x, 1), h = b.dim(x, 2), w = b.dim(x, 3);
  if (b.rank(x) != 4 || s < 1 || s > kMostBlockSize || c < 0 || h < 0 || w < 0 || h % s != 0 || w % s != 0)
    return {b.fail("sizes that do not fit, or are not known")};
  const Endpoint parts = b.reshape(x, {n, c, h / s, s, w / s, s});
  return {
      b.reshape(b.transpose(parts, b.text("mode", "DCR") == "CRD" ? Ints{0, 1, 3, 5, 2, 4} : Ints{0, 3, 5, 1, 2, 4}),
                {n, c * s * s, h / s, w / s})};
}

/// Cuts or pads axes to given sizes, the middle stays.
Endpoints center_crop_pad(OnnxBlock& b) {
  const Endpoint x = b.input(0), own = b.shape_of(x);
  Endpoint wanted = b.cast(b.input(1), DType::kInt64);
  if (b.has_attribute("axes")) wanted = at_axes(b, own, b.ints(b.integers("axes", {})), wanted);
  const Endpoint zero = b.int64(0), two = b.int64(2);
  const Endpoint less = b.make("Maximum", {b.sub(own, wanted), zero}),
                 more = b.make("Maximum", {b.sub(wanted, own), zero});
  const Endpoint before = b.make("FloorDiv", {more, two});
  const Endpoint kept = b.make("Slice", {x, b.make("FloorDiv", {less, two}), b.make("Minimum", {own, wanted})});
  const Endpoint rows = b.make("Pack", {before, b.sub(more, before)}, {{"axis", attr_of(int64_t{1})}});
  return {b.make("Pad", {kept, rows})};
}

Endpoints constant(OnnxBlock& b) {
  if (b.has_attribute("value")) {
    const std::optional<Tensor> value = b.tensor("value");
    return {value ? b.constant(*value) : Endpoint{}};
  }
  if (b.has_attribute("value_int")) return {b.int64(b.integer("value_int", 0))};
  if (b.has_attribute("value_ints")) return {b.ints(b.integers("value_ints", {}))};
  if (b.has_attribute("value_float")) return {b.constant(Tensor::scalar(b.number("value_float", 0)))};
  if (const OnnxAttribute* a = b.attribute("value_floats", OnnxAttributeType::kFloats))
    return {b.constant(Tensor::of<float>(Shape{static_cast<int64_t>(a->floats.size())}, a->floats))};
  if (b.has_attribute("value_string")) return {b.constant(Tensor::scalar(b.text("value_string", "")))};
  if (const OnnxAttribute* a = b.attribute("value_strings", OnnxAttributeType::kStrings)) {
    const std::vector<std::string> texts(a->strings.begin(), a->strings.end());
    return {b.constant(Tensor::of<std::string>(Shape{static_cast<int64_t>(texts.size())}, texts))};
  }
  return {b.fail("a Constant without a value that is read")};
}

Endpoints constant_of_shape(OnnxBlock& b) {
  const std::optional<Tensor> value = b.tensor("value");
  if (value && value->num_elements() != 1) return {b.fail("a value of more than one element")};
  const Endpoint one = value ? b.constant(value->reshaped(Shape{})) : b.scalar(DType::kFloat, 0);
  return {b.make("Fill", {b.input(0), one})};
}

constexpr OnnxOp kShapeOps[] = {
    {"CenterCropPad", 18, center_crop_pad},
    {"Concat", 1, concat},
    {"Constant", 1, constant},
    {"ConstantOfShape", 9, constant_of_shape},
    {"DepthToSpace", 1, depth_to_space, false, false, true},
    {"Expand", 8, expand, false, false, true},
    {"Flatten", 1, flatten, false, false, true},
    {"Pad", 2, pad},
    {"Reshape", 1, reshape, false, false, true},
    {"Shape", 1, shape},
    {"Size", 1, size},
    {"Slice", 1, slice, false, false, true},
    {"Slice", 10, slice_by_values, false, false, true},
    {"SpaceToDepth", 1, space_to_depth, false, false, true},
    {"Split", 2, split, false, false, true},
    {"Squeeze", 1, squeeze, false, false, true},
    {"Tile", 6, tile, false, false, true},
    {"Transpose", 1, transpose, false, false, true},
    {"Unsqueeze", 1, unsqueeze, false, false, true},
};

}  // namespace

std::span<const OnnxOp> onnx_shape_ops() { return kShapeOps; }

}  // namespace emplace
