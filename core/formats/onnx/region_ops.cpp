// Part of core/formats/onnx/op_table.h: RoiAlign: regions of images, each sampled on a grid of its own; and Col2Im:
// images of which there are the windows.
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/layout.h"
#include "core/formats/onnx/op_table.h"

namespace emplace {
namespace {

struct RegionPlan {
  int64_t samples = 0;  // of a bin, along an axis
  double scale = 1;
  bool half_pixel = false;
};

/// Samples along one axis, [regions,samples]: the cells on both sides, the share of the upper one, and which lie on the
/// image, all float32 but the cells, which are int64.
struct RegionAxis {
  Endpoint low, high, share, inside;
};

RegionAxis region_axis(OnnxBlock& b, const RegionPlan& plan, Endpoint regions, int column, int64_t bins, int64_t size) {
  const auto real = [&](double v) { return b.scalar(DType::kFloat, v); };
  const auto edge = [&](int at) {
    const Endpoint e = b.mul(b.slice(regions, 1, at, at + 1), real(plan.scale));
    return plan.half_pixel ? b.sub(e, real(0.5)) : e;
  };
  const Endpoint begin = edge(column);
  Endpoint width = b.sub(edge(column + 2), begin);
  if (!plan.half_pixel) width = b.make("Maximum", {width, real(1)});
  std::vector<float> places;  // in bins
  for (int64_t i = 0; i < bins * plan.samples; ++i)
    places.push_back((static_cast<float>(i) + 0.5F) / static_cast<float>(plan.samples));
  const Endpoint along = b.constant(Tensor::of<float>(Shape{1, static_cast<int64_t>(places.size())}, places));
  const Endpoint at = b.add(begin, b.mul(b.div(width, real(static_cast<double>(bins))), along));
  const Endpoint last = real(static_cast<double>(size - 1)), zero = real(0);
  RegionAxis a;
  a.inside = b.cast(b.make("LogicalAnd", {b.make("GreaterEqual", {at, real(-1)}),
                                          b.make("LessEqual", {at, real(static_cast<double>(size))})}),
                    DType::kFloat);
  const Endpoint on_image = b.make("Minimum", {b.make("Maximum", {at, zero}), last});
  const Endpoint low = b.make("Floor", {on_image});
  a.share = b.sub(on_image, low);
  a.low = b.cast(low, DType::kInt64);
  a.high = b.cast(b.make("Minimum", {b.add(low, real(1)), last}), DType::kInt64);
  return a;
}

/// What x, [N,H,W,C], has in the cells, times their weights: [regions,rows,columns,C].
Endpoint weighted_cells(OnnxBlock& b, Endpoint x, Endpoint image, Endpoint y, Endpoint z, Endpoint y_weight,
                        Endpoint z_weight) {
  const Endpoint rows = b.expand(y, 2), columns = b.expand(z, 1);
  const Endpoint none = b.mul(b.add(rows, columns), b.int64(0));
  const Endpoint images = b.add(none, b.reshape(image, {-1, 1, 1}));
  const Endpoint at =
      b.make("Pack", {images, b.add(none, rows), b.add(none, columns)}, {{"axis", attr_of(int64_t{-1})}});
  const Endpoint weight = b.mul(b.expand(y_weight, 2), b.expand(z_weight, 1));
  return b.mul(b.make("GatherNd", {x, at}), b.expand(weight, 3));
}

Endpoints roi_align(OnnxBlock& b) {
  const Endpoint x = b.input(0), regions = b.cast(b.input(1), DType::kFloat), image = b.cast(b.input(2), DType::kInt64);
  const int64_t rows = b.integer("output_height", 1), columns = b.integer("output_width", 1);
  const int64_t height = b.dim(x, 2), width = b.dim(x, 3);
  RegionPlan plan;
  plan.samples = b.integer("sampling_ratio", 0);
  plan.scale = b.number("spatial_scale", 1);
  plan.half_pixel =
      b.version() >= 16 && b.text("coordinate_transformation_mode", "half_pixel") == std::string_view("half_pixel");
  const std::string mode = b.text("mode", "avg");
  if (b.rank(x) != 4 || height < 1 || width < 1 || b.type(x) != DType::kFloat)
    return {b.fail("an input that is no image of float32 of known size")};
  if (mode != "avg" && mode != "max") return {b.fail(cat("mode '", mode, "'"), "avg or max")};
  if (plan.samples < 1) return {b.fail("as many samples as a region is large", "a sampling_ratio above 0 is read")};
  if (rows < 1 || columns < 1 || rows > 4096 / plan.samples || columns > 4096 / plan.samples)
    return {b.fail(cat("an output of ", rows, " times ", columns, " of ", plan.samples, " samples each"))};
  const RegionAxis v = region_axis(b, plan, regions, 1, rows, height),
                   h = region_axis(b, plan, regions, 0, columns, width);
  const Endpoint last = channels_last(b, x), one = b.scalar(DType::kFloat, 1);
  const Endpoint v_low = b.mul(b.sub(one, v.share), v.inside), v_high = b.mul(v.share, v.inside);
  const Endpoint h_low = b.mul(b.sub(one, h.share), h.inside), h_high = b.mul(h.share, h.inside);
  const bool average = mode == "avg";
  const std::string_view join = average ? "AddV2" : "Maximum";  // ONNX takes the largest of the weighted cells, too
  const Endpoint upper = b.math(join, {weighted_cells(b, last, image, v.low, h.low, v_low, h_low),
                                       weighted_cells(b, last, image, v.low, h.high, v_low, h_high)});
  const Endpoint lower = b.math(join, {weighted_cells(b, last, image, v.high, h.low, v_high, h_low),
                                       weighted_cells(b, last, image, v.high, h.high, v_high, h_high)});
  const Endpoint samples =
      b.reshape(b.math(join, {upper, lower}), {-1, rows, plan.samples, columns, plan.samples, b.dim(x, 1)});
  return {channels_first(b, b.reduce(average ? "Mean" : "Max", samples, {2, 4}, false))};
}

// --- Col2Im ---

/// Of the cells that windows cover along one axis: where they are, [block,windows], and how many of each there are.
struct CoveredCells {
  Endpoint at, block, windows;  // the last two: vectors of one element
};

CoveredCells covered_cells(OnnxBlock& b, int64_t axis, Endpoint size, int64_t stride, int64_t dilation, int64_t before,
                           int64_t after) {
  CoveredCells c;
  c.block = b.slice(b.cast(b.input(2), DType::kInt64), 0, axis, axis + 1);
  const Endpoint reach = b.mul(b.sub(c.block, b.int64(1)), b.int64(dilation));
  const Endpoint left = b.sub(b.add(size, b.int64(before + after - 1)), reach);
  c.windows = b.add(b.make("FloorDiv", {left, b.int64(stride)}), b.int64(1));
  const auto line = [&](Endpoint count) { return b.make("Range", {b.int64(0), b.squeeze(count, {0}), b.int64(1)}); };
  c.at = b.sub(b.add(b.expand(b.mul(line(c.block), b.int64(dilation)), 1), b.mul(line(c.windows), b.int64(stride))),
               b.int64(before));
  return c;
}

/// [N,C*block,windows] as [N,C,image]: what falls on a cell is summed, and what falls beside the image is dropped.
Endpoints col_to_image(OnnxBlock& b) {
  const Endpoint x = b.input(0), image = b.cast(b.input(1), DType::kInt64);
  const int64_t n = b.dim(image, 0);
  if (n < 1 || n > 8 || b.dim(b.input(2), 0) != n || b.rank(x) != 3)
    return {b.fail("wanted columns [N,C*block,windows] of images whose rank is known")};
  const auto rank = static_cast<size_t>(n);
  const Ints strides = b.integers("strides", Ints(rank, 1)), dilations = b.integers("dilations", Ints(rank, 1)),
             pads = b.integers("pads", Ints(2 * rank, 0));
  if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank ||
      std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s < 1; }))
    return {b.fail("strides, dilations or pads that do not fit")};
  Endpoint place = b.int64(0), inside = b.scalar(DType::kBool, 1), block = b.ints({1});
  for (size_t i = 0; i < rank && !b.failed(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    const Endpoint size = b.slice(image, 0, axis, axis + 1);
    const CoveredCells c = covered_cells(b, axis, size, strides[i], dilations[i], pads[i], pads[rank + i]);
    Endpoints dims(2 * rank, b.ints({1}));
    dims[i] = c.block, dims[rank + i] = c.windows;
    const Endpoint at = b.reshape_to(c.at, b.concat(dims, 0));
    const Endpoint on = b.make("LogicalAnd", {b.make("GreaterEqual", {at, b.int64(0)}), b.make("Less", {at, size})});
    inside = b.make("LogicalAnd", {inside, on});
    place = b.add(b.mul(place, size), at);
    block = b.mul(block, c.block);
  }
  const Endpoint cells = b.reshape(b.select(inside, place, b.int64(-1)), Ints{-1});
  const Endpoint count = b.make("Prod", {image, b.ints32({0})});
  const Endpoint channels = b.make("FloorDiv", {b.dim_of(x, 1), block}), batch = b.dim_of(x, 0);
  const Endpoint columns = b.reshape_to(
      x,
      b.concat({b.mul(batch, channels), b.expand(b.make("Size", {cells}, {{"out_type", attr_of(DType::kInt64)}}), 0)},
               0));
  const Endpoint summed = b.make("UnsortedSegmentSum", {b.transpose(columns, {1, 0}), cells, count});
  return {b.reshape_to(b.transpose(summed, {1, 0}), b.concat({batch, channels, image}, 0))};
}

constexpr OnnxOp kRegionOps[] = {{"Col2Im", 18, col_to_image}, {"RoiAlign", 10, roi_align}};

}  // namespace

std::span<const OnnxOp> onnx_region_ops() { return kRegionOps; }

}  // namespace emplace
