// Part of core/formats/onnx/op_table.h: images read at places between their cells, GridSample, AffineGrid, DeformConv;
// windows of signals, random numbers, and distinct values.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/products.h"
#include "core/formats/onnx/tensor.h"

namespace emplace {
namespace {

constexpr int64_t kMostSlices = 4096;

// --- AffineGrid ---

/// Where the cells of an axis lie in [-1,1], as [...,n,1...]: a place for each axis behind it, and one for coordinates.
Endpoint cell_places(OnnxBlock& b, Endpoint size, bool align, int behind) {
  const Endpoint n = b.cast(size, DType::kDouble), one = b.scalar(DType::kDouble, 1), two = b.scalar(DType::kDouble, 2);
  const Endpoint at = b.cast(b.make("Range", {b.int64(0), size, b.int64(1)}), DType::kDouble);
  const Endpoint place = align ? b.div(b.mul(at, two), b.sub(n, one)) : b.div(b.add(b.mul(at, two), one), n);
  Ints dims(static_cast<size_t>(behind) + 2, 1);
  dims[0] = -1;
  return b.reshape(b.sub(place, one), dims);
}

/// [N,H,W,2] of theta [N,2,3], or [N,D,H,W,3] of [N,3,4]: theta's columns are for x, y, (z) and 1.
Endpoints affine_grid(OnnxBlock& b) {
  const Endpoint theta = b.cast(b.input(0), DType::kDouble), sizes = b.cast(b.input(1), DType::kInt64);
  const int64_t dims = b.dim(sizes, 0) - 2;
  if (dims != 2 && dims != 3) return {b.fail("a size that is not one of images or volumes")};
  Ints column(static_cast<size_t>(dims) + 2, 1);
  column.front() = -1, column.back() = dims;
  const auto column_of = [&](int64_t i) { return b.reshape(b.slice(theta, 2, i, i + 1), column); };
  Endpoint sum = column_of(dims);
  for (int64_t i = 0; i < dims && !b.failed(); ++i) {
    const Endpoint size = b.squeeze(b.slice(sizes, 0, dims + 1 - i, dims + 2 - i), {0});
    const Endpoint places = cell_places(b, size, b.integer("align_corners", 0) != 0, static_cast<int>(i));
    sum = b.add(sum, b.mul(column_of(i), places));
  }
  return {b.cast(sum, b.type(b.input(0)))};
}

// --- GridSample ---

struct GridPlan {
  std::string mode, padding;
  bool align = false;
  Ints sizes;      // of x behind batch and channels
  Endpoint x;      // [N*sizes, C]
  Endpoint batch;  // [N,1,...]: where each image begins
};

/// One axis of the places that are sampled.
struct GridAxis {
  Endpoint cell, part;  // the cell below, and what is left
};

/// A triangle wave between the borders.
Endpoint mirrored(OnnxBlock& b, Endpoint at, double low, double high) {
  const double range = high - low;
  if (range <= 0) return b.mul(at, b.like(at, 0));
  const Endpoint around = b.make("FloorMod", {b.sub(at, b.like(at, low)), b.like(at, 2 * range)});
  const Endpoint back = b.sub(b.like(at, 2 * range), around);
  return b.add(b.make("Minimum", {around, back}), b.like(at, low));
}

Endpoint bounded(OnnxBlock& b, const GridPlan& g, Endpoint at, size_t i) {
  const auto size = static_cast<double>(g.sizes[i]);
  if (g.padding == "border") return b.math("ClipByValue", {at, b.like(at, 0), b.like(at, size - 1)});
  if (g.padding == "reflection") return g.align ? mirrored(b, at, 0, size - 1) : mirrored(b, at, -0.5, size - 0.5);
  return at;
}

double cubic_weight(int tap, int power) {
  // Of t^power, for the cells -1, 0, 1 and 2 around t, with a = -0.75.
  static constexpr double kA = -0.75;
  static constexpr double kWeights[4][4] = {
      {0, kA, -2 * kA, kA}, {1, 0, -(kA + 3), kA + 2}, {0, -kA, 2 * kA + 3, -(kA + 2)}, {0, 0, kA, -kA}};
  return kWeights[tap][power];
}

/// The weight of cell `tap` beside the one below, of as many as `taps`.
Endpoint tap_weight(OnnxBlock& b, Endpoint part, int tap, int taps) {
  if (taps == 1) return b.add(b.mul(part, b.like(part, 0)), b.like(part, 1));
  if (taps == 2) return tap == 0 ? b.sub(b.like(part, 1), part) : part;
  Endpoint sum = b.like(part, cubic_weight(tap, 3));
  for (int power = 2; power >= 0; --power) sum = b.add(b.mul(sum, part), b.like(part, cubic_weight(tap, power)));
  return sum;
}

Endpoint sampled(OnnxBlock& b, const GridPlan& g, const std::vector<GridAxis>& axes, int taps) {
  const auto n = static_cast<int>(axes.size());
  int combinations = 1;
  for (int i = 0; i < n; ++i) combinations *= taps;
  Endpoint sum;
  for (int c = 0; c < combinations && !b.failed(); ++c) {
    Endpoint weight, at = g.batch;
    int rest = c;
    for (size_t i = 0; i < axes.size(); ++i, rest /= taps) {
      const int tap = rest % taps;
      const auto last = static_cast<double>(g.sizes[i] - 1);
      const Endpoint cell = b.add(axes[i].cell, b.like(axes[i].cell, taps == 4 ? tap - 1 : tap));
      Endpoint own = tap_weight(b, axes[i].part, tap, taps);
      if (g.padding == "zeros") {
        const Endpoint inside = b.make("LogicalAnd", {b.make("GreaterEqual", {cell, b.like(cell, 0)}),
                                                      b.make("LessEqual", {cell, b.like(cell, last)})});
        own = b.select(inside, own, b.like(own, 0));
      }
      const Endpoint near = b.make("Round", {g.padding == "reflection" ? bounded(b, g, cell, i) : cell});
      const Endpoint place = b.cast(b.math("ClipByValue", {near, b.like(near, 0), b.like(near, last)}), DType::kInt64);
      int64_t stride = 1;
      for (size_t j = i + 1; j < axes.size(); ++j) stride *= g.sizes[j];
      at = b.add(at, b.mul(place, b.int64(stride)));
      weight = i == 0 ? own : b.mul(weight, own);
    }
    const Endpoint values = b.make("GatherV2", {g.x, at, b.int32(0)});
    const Endpoint part = b.mul(values, b.cast(b.expand(weight, -1), b.type(values)));
    sum = c == 0 ? part : b.add(sum, part);
  }
  return sum;
}

Endpoints grid_sample(OnnxBlock& b) {
  const Endpoint x = b.input(0), grid = b.input(1);
  const int rank = b.rank(x), n = rank - 2;
  GridPlan g;
  g.mode = b.text("mode", "linear"), g.padding = b.text("padding_mode", "zeros");
  g.align = b.integer("align_corners", 0) != 0;
  if (n < 1 || n > 3 || !b.has_shape(x) || b.dim(x, 0) < 1) return {b.fail("wanted images whose sizes are known")};
  int64_t cells = 1;
  Ints to_back{0}, to_front{0, rank - 1}, starts, ones;
  for (int i = 0; i < n; ++i) {
    g.sizes.push_back(b.dim(x, i + 2));
    cells *= b.dim(x, i + 2);
    to_back.push_back(i + 2), to_front.push_back(i + 1), ones.push_back(1);
  }
  to_back.push_back(1);
  for (int64_t i = 0; i < b.dim(x, 0); ++i) starts.push_back(i * cells);
  ones.insert(ones.begin(), -1);
  g.batch = b.reshape(b.ints(starts), ones);
  g.x = b.reshape(b.transpose(x, to_back), Ints{-1, b.dim(x, 1)});
  const bool nearest = g.mode == "nearest";
  const int taps = nearest ? 1 : g.mode == "cubic" || g.mode == "bicubic" ? 4 : 2;
  std::vector<GridAxis> axes;
  for (int i = 0; i < n; ++i) {  // the grid names the last axis first
    const auto size = static_cast<double>(g.sizes[static_cast<size_t>(i)]);
    const Endpoint own = b.cast(b.squeeze(b.slice(grid, rank - 1, n - 1 - i, n - i), {rank - 1}), DType::kDouble);
    const Endpoint one = b.like(own, 1), half = b.like(own, 0.5);
    Endpoint at = g.align ? b.mul(b.mul(b.add(own, one), half), b.like(own, size - 1))
                          : b.sub(b.mul(b.mul(b.add(own, one), half), b.like(own, size)), half);
    if (nearest) at = b.make("Round", {at});
    at = bounded(b, g, at, static_cast<size_t>(i));
    if (nearest) at = b.make("Round", {at});
    const Endpoint cell = b.make("Floor", {at});
    axes.push_back({cell, b.sub(at, cell)});
  }
  return {b.transpose(sampled(b, g, axes, taps), to_front)};
}

// --- DeformConv ---

/// Where the taps of all windows lie along axis i of 2, [taps, windows]-wise: [K,oH,1] or [K,1,oW].
Endpoint tap_places(OnnxBlock& b, const OnnxWindow& w, size_t i, int64_t windows) {
  std::vector<double> places;
  const int64_t inner = i == 0 ? w.kernel[1] : 1;
  for (int64_t k = 0; k < w.kernel[0] * w.kernel[1]; ++k) {
    for (int64_t o = 0; o < windows; ++o)
      places.push_back(static_cast<double>(o * w.strides[i] - w.before[i] + k / inner % w.kernel[i] * w.dilations[i]));
  }
  const int64_t taps = w.kernel[0] * w.kernel[1];
  return b.constant(Tensor::of<double>(i == 0 ? Shape{taps, windows, 1} : Shape{taps, 1, windows}, places));
}

/// A convolution whose taps are moved, each by an offset of its own, and read between the cells: columns of what they
/// read, [N,C*K,oH,oW], by a window of one cell.
Endpoints deform_conv(OnnxBlock& b) {
  const Endpoint x = b.input(0), filter = b.input(1), offset = b.input(2);
  if (b.rank(x) != 4 || !b.has_shape(x) || !b.has_shape(filter) || !b.has_shape(offset))
    return {b.fail("wanted images, filter and offsets whose sizes are known")};
  const std::optional<OnnxWindow> w = onnx_window(b, x, {b.dim(filter, 2), b.dim(filter, 3)});
  if (!w) return {Endpoint{}};
  const int64_t parts = b.integer("offset_group", 1), taps = w->kernel[0] * w->kernel[1], n = b.dim(x, 0),
                channels = b.dim(x, 1), out_h = b.dim(offset, 2), out_w = b.dim(offset, 3);
  if (parts < 1 || channels % parts != 0 || n < 1 || b.dim(offset, 1) != 2 * parts * taps || taps * (out_h + out_w) < 1)
    return {b.fail("offsets that do not fit")};
  GridPlan g;
  g.padding = "zeros", g.sizes = {b.dim(x, 2), b.dim(x, 3)};
  Ints starts;
  for (int64_t i = 0; i < n * parts; ++i) starts.push_back(i * g.sizes[0] * g.sizes[1]);
  g.batch = b.reshape(b.ints(starts), Ints{-1, 1, 1, 1});
  const Endpoint images = b.reshape(x, Ints{n * parts, channels / parts, g.sizes[0], g.sizes[1]});
  g.x = b.reshape(b.transpose(images, {0, 2, 3, 1}), Ints{-1, channels / parts});
  const Endpoint moved = b.cast(b.reshape(offset, Ints{n * parts, taps, 2, out_h, out_w}), DType::kDouble);
  std::vector<GridAxis> axes;
  for (size_t i = 0; i < 2; ++i) {
    const auto own = static_cast<int64_t>(i);
    const Endpoint at =
        b.add(b.squeeze(b.slice(moved, 2, own, own + 1), {2}), tap_places(b, *w, i, i == 0 ? out_h : out_w));
    const Endpoint cell = b.make("Floor", {at});
    axes.push_back({cell, b.sub(at, cell)});
  }
  Endpoint read = sampled(b, g, axes, 2);
  if (b.has(4)) read = b.mul(read, b.reshape(b.input(4), Ints{n * parts, taps, out_h, out_w, 1}));
  const Endpoint columns = b.reshape(b.transpose(read, {0, 4, 1, 2, 3}), Ints{n, channels * taps, out_h, out_w});
  const Endpoint flat = b.reshape(filter, Ints{b.dim(filter, 0), b.dim(filter, 1) * taps, 1, 1});
  const OnnxWindow cell{{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {0, 0}};
  return {onnx_convolution(b, columns, flat, cell, b.integer("group", 1), b.input_or(3, {}))};
}

// --- windows ---

Endpoints cosine_window(OnnxBlock& b, double constant, double first, double second) {
  const std::optional<DType> stated = onnx_dtype(b.integer("output_datatype", 1));
  const Endpoint size = b.cast(b.reshape(b.input(0), Ints{}), DType::kInt64);
  const Endpoint last = b.integer("periodic", 1) != 0 ? size : b.sub(size, b.int64(1));
  const Endpoint line = b.cast(b.make("Range", {b.int64(0), size, b.int64(1)}), DType::kDouble);
  const Endpoint turn = b.div(b.mul(line, b.like(line, 2 * M_PI)), b.cast(last, DType::kDouble));
  Endpoint y = b.sub(b.like(line, constant), b.mul(b.like(line, first), b.make("Cos", {turn})));
  if (second != 0) y = b.add(y, b.mul(b.like(line, second), b.make("Cos", {b.mul(turn, b.like(turn, 2))})));
  return {b.cast(y, stated ? *stated : DType::kFloat)};
}

// --- random numbers: as many as there are, not the same as elsewhere ---

Endpoints random_numbers(OnnxBlock& b, bool uniform, bool like) {
  const std::optional<DType> stated = onnx_dtype(b.integer("dtype", 0));
  const DType type = stated ? *stated : like ? b.type(b.input(0)) : DType::kFloat;
  const Endpoint sizes = like ? b.shape_of(b.input(0)) : b.ints(b.integers("shape", Ints()));
  const auto seed = static_cast<int64_t>(std::clamp(b.number("seed", 0), -1e9F, 1e9F));
  const Endpoint drawn = b.make(uniform ? "RandomUniform" : "RandomStandardNormal", {sizes},
                                {{"dtype", attr_of(DType::kFloat)}, {"seed", attr_of(seed)}});
  const float low = b.number("low", 0), high = b.number("high", 1);
  const float shift = uniform ? low : b.number("mean", 0), factor = uniform ? high - low : b.number("scale", 1);
  return {b.cast(b.add(b.mul(drawn, b.like(drawn, factor)), b.like(drawn, shift)), type)};
}

Endpoints bernoulli(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const std::optional<DType> stated = onnx_dtype(b.integer("dtype", 0));
  const auto seed = static_cast<int64_t>(std::clamp(b.number("seed", 0), -1e9F, 1e9F));
  const Endpoint drawn =
      b.make("RandomUniform", {b.shape_of(x)}, {{"dtype", attr_of(DType::kFloat)}, {"seed", attr_of(seed)}});
  return {b.cast(b.make("Less", {drawn, b.cast(x, DType::kFloat)}), stated ? *stated : b.type(x))};
}

// --- distinct values ---

/// Rows [n,m] in lexicographic order: where each one goes, [n].
Endpoint places_in_order(OnnxBlock& b, Endpoint rows) {
  const Endpoint x = b.expand(rows, 1), y = b.expand(rows, 0);
  const auto as_numbers = [&](Endpoint e) { return b.cast(e, DType::kInt64); };
  const Endpoint before = b.math("Cumprod", {as_numbers(b.make("Equal", {x, y})), b.int32(2)},
                                 {{"exclusive", attr_of(true)}, {"reverse", attr_of(false)}});
  const Endpoint less = b.reduce("Sum", b.mul(before, as_numbers(b.math("Less", {x, y}))), {2}, false);
  return b.reduce("Sum", less, {0}, false);
}

/// Slices along an axis, each compared with each.
Endpoints unique_slices(OnnxBlock& b, Endpoint x, int axis) {
  const int64_t n = b.dim(x, axis);
  if (n > kMostSlices) return {b.fail(cat(n, " slices; at most ", kMostSlices, " are compared"))};
  Ints perm(static_cast<size_t>(b.rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin(), perm.begin() + axis, perm.begin() + axis + 1);
  const Endpoint size = b.dim_of(x, axis);
  const Endpoint rows = b.reshape_to(b.transpose(x, perm), b.concat({size, b.ints({-1})}, 0));
  const Endpoint same = b.make("All", {b.make("Equal", {b.expand(rows, 1), b.expand(rows, 0)}), b.ints32({2})});
  const Endpoint all = b.squeeze(size, {0}), line = b.make("Range", {b.int64(0), all, b.int64(1)});
  const Endpoint first_like = b.reduce("Min", b.select(same, line, all), {1}, false);
  const Endpoints found = b.make_many("Unique", {first_like}, 2, {{"out_idx", attr_of(DType::kInt64)}});
  const Endpoint count = b.make("Size", {found[0]}, {{"out_type", attr_of(DType::kInt64)}});
  Endpoint first = found[0], group = found[1];
  Endpoint counts = b.make("UnsortedSegmentSum", {b.make("OnesLike", {group}), group, count});
  if (b.integer("sorted", 1) != 0) {
    const Endpoint places = places_in_order(b, b.make("GatherV2", {rows, first, b.int32(0)}));
    const Endpoint order = b.make("InvertPermutation", {places});
    first = b.make("GatherV2", {first, order, b.int32(0)});
    counts = b.make("GatherV2", {counts, order, b.int32(0)});
    group = b.make("GatherV2", {places, group, b.int32(0)});
  }
  return {b.make("GatherV2", {x, first, b.int32(axis)}), first, group, counts};
}

Endpoints unique(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  if (b.has_attribute("axis") && b.rank(x) != 1) return unique_slices(b, x, b.axis(b.integer("axis", 0), b.rank(x)));
  const Endpoint flat = b.reshape(x, Ints{-1});
  const OnnxAttrs as_int64{{"out_idx", attr_of(DType::kInt64)}};
  const Endpoints found = b.make_many("Unique", {flat}, 2, as_int64);
  const Endpoint count = b.make("Size", {found[0]}, {{"out_type", attr_of(DType::kInt64)}});
  const Endpoint all = b.make("Size", {flat}, {{"out_type", attr_of(DType::kInt64)}});
  const Endpoint line = b.make("Range", {b.int64(0), all, b.int64(1)});
  Endpoint first = b.make("UnsortedSegmentMin", {line, found[1], count});
  Endpoint counts = b.make("UnsortedSegmentSum", {b.make("OnesLike", {line}), found[1], count});
  if (b.integer("sorted", 1) == 0) return {found[0], first, found[1], counts};
  const bool floating = is_floating(b.type(x));
  const Endpoint turned = floating ? b.math("Neg", {found[0]}) : b.math("Sub", {b.like(x, -1), found[0]});
  const Endpoint order = b.make_many("TopKV2", {turned, b.cast(count, DType::kInt32)}, 2)[1];
  const auto in_order = [&](Endpoint e) { return b.make("GatherV2", {e, order, b.int32(0)}); };
  const Endpoint back = b.cast(b.make("InvertPermutation", {order}), DType::kInt64);
  return {in_order(found[0]), in_order(first), b.make("GatherV2", {back, found[1], b.int32(0)}), in_order(counts)};
}

constexpr OnnxOp kSamplingOps[] = {
    {"AffineGrid", 20, affine_grid},
    {"Bernoulli", 15, bernoulli},
    {"BlackmanWindow", 17, [](OnnxBlock& b) { return cosine_window(b, 0.42, 0.5, 0.08); }},
    {"DeformConv", 19, deform_conv},
    {"GridSample", 16, grid_sample},
    {"HammingWindow", 17, [](OnnxBlock& b) { return cosine_window(b, 25.0 / 46, 21.0 / 46, 0); }},
    {"HannWindow", 17, [](OnnxBlock& b) { return cosine_window(b, 0.5, 0.5, 0); }},
    {"RandomNormal", 1, [](OnnxBlock& b) { return random_numbers(b, false, false); }},
    {"RandomNormalLike", 1, [](OnnxBlock& b) { return random_numbers(b, false, true); }},
    {"RandomUniform", 1, [](OnnxBlock& b) { return random_numbers(b, true, false); }},
    {"RandomUniformLike", 1, [](OnnxBlock& b) { return random_numbers(b, true, true); }},
    {"Unique", 11, unique},
};

}  // namespace

std::span<const OnnxOp> onnx_sampling_ops() { return kSamplingOps; }

}  // namespace emplace
