// Part of core/formats/onnx/op_table.h: RoiAlign: regions of images, each sampled on a grid of its own.
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

constexpr OnnxOp kRegionOps[] = {{"RoiAlign", 10, roi_align}};

}  // namespace

std::span<const OnnxOp> onnx_region_ops() { return kRegionOps; }

}  // namespace emplace
