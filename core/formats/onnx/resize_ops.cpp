// Part of core/formats/onnx/op_table.h: Resize. An axis is resized by a matrix [out,in] of weights, or by the indices
// of the nearest cells; both follow from scales or sizes, which may be known in the run only.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "core/base/cat.h"
#include "core/formats/onnx/layout.h"

namespace emplace {
namespace {

/// One axis; scalars of float64, sizes of int64.
struct ResizedAxis {
  int axis = 0;
  Endpoint in, out, scale;
  Endpoint roi_begin, roi_end;
};

struct ResizeNode {
  std::string mode, coordinates, nearest;
  bool antialias = false, exclude_outside = false;
  double cubic_a = -0.75;
};

Endpoint real(OnnxBlock& b, double v) { return b.scalar(DType::kDouble, v); }
Endpoint as_real(OnnxBlock& b, Endpoint e) { return b.cast(e, DType::kDouble); }
Endpoint element(OnnxBlock& b, Endpoint vector, int64_t i) { return b.squeeze(b.slice(vector, 0, i, i + 1), {0}); }

Endpoint clamped(OnnxBlock& b, Endpoint at, Endpoint in) {
  return b.make("Maximum", {b.make("Minimum", {at, b.sub(in, b.int64(1))}), b.int64(0)});
}

/// Where the cells of the result lie in x.
Endpoint origins(OnnxBlock& b, const ResizeNode& r, const ResizedAxis& a) {
  const Endpoint half = real(b, 0.5), one = real(b, 1), zero = real(b, 0);
  const Endpoint i = as_real(b, b.make("Range", {b.int64(0), a.out, b.int64(1)}));
  const Endpoint in = as_real(b, a.in), out = as_real(b, a.out), width = b.mul(a.scale, in);
  const Endpoint centred = b.sub(b.div(b.add(i, half), a.scale), half);
  if (r.coordinates == "half_pixel") return centred;
  if (r.coordinates == "asymmetric") return b.div(i, a.scale);
  if (r.coordinates == "half_pixel_symmetric")
    return b.add(b.mul(b.mul(in, half), b.sub(one, b.div(out, width))), centred);
  if (r.coordinates == "pytorch_half_pixel") return b.select(b.make("Greater", {out, one}), centred, b.mul(i, zero));
  const Endpoint last = b.sub(in, one);
  if (r.coordinates == "align_corners") {
    const Endpoint single = b.make("Equal", {width, one});
    const Endpoint steps = b.select(single, one, b.sub(width, one));
    return b.select(single, b.mul(i, zero), b.div(b.mul(i, last), steps));
  }
  if (r.coordinates != "tf_crop_and_resize") return b.fail(cat("coordinate_transformation_mode '", r.coordinates, "'"));
  const Endpoint several = b.make("Greater", {out, one});
  const Endpoint steps = b.select(several, b.sub(width, one), one);
  const Endpoint moved = b.div(b.mul(b.mul(i, b.sub(a.roi_end, a.roi_begin)), last), steps);
  const Endpoint middle = b.mul(b.mul(half, b.add(a.roi_begin, a.roi_end)), last);
  return b.select(several, b.add(b.mul(a.roi_begin, last), moved), b.add(b.mul(i, zero), middle));
}

Endpoint nearest_cells(OnnxBlock& b, const ResizeNode& r, Endpoint at, Endpoint in) {
  const Endpoint half = real(b, 0.5);
  Endpoint cell;
  if (r.nearest == "floor") cell = b.make("Floor", {at});
  if (r.nearest == "ceil") cell = b.make("Ceil", {at});
  if (r.nearest == "round_prefer_floor") cell = b.make("Ceil", {b.sub(at, half)});
  if (r.nearest == "round_prefer_ceil") cell = b.make("Floor", {b.add(at, half)});
  if (cell.node == kNoNode) return b.fail(cat("nearest_mode '", r.nearest, "'"));
  return clamped(b, b.cast(cell, DType::kInt64), in);
}

/// The weight of a cell at this distance.
Endpoint weight_at(OnnxBlock& b, const ResizeNode& r, Endpoint distance) {
  const Endpoint d = b.make("Abs", {distance}), one = real(b, 1), zero = real(b, 0);
  if (r.mode == "linear") return b.make("Maximum", {b.sub(one, d), zero});
  const double a = r.cubic_a;
  const auto polynomial = [&](double c3, double c2, double c1, double c0) {
    const Endpoint inner = b.add(b.mul(b.add(b.mul(real(b, c3), d), real(b, c2)), d), real(b, c1));
    return b.add(b.mul(inner, d), real(b, c0));
  };
  const Endpoint near = polynomial(a + 2, -(a + 3), 0, 1), far = polynomial(a, -5 * a, 8 * a, -4 * a);
  const Endpoint outer = b.select(b.make("Less", {d, real(b, 2)}), far, zero);
  return b.select(b.make("LessEqual", {d, one}), near, outer);
}

/// [out,in]
Endpoint weights(OnnxBlock& b, const ResizeNode& r, const ResizedAxis& a, Endpoint at) {
  const Endpoint one = real(b, 1), zero = real(b, 0);
  const Endpoint narrow = r.antialias ? b.make("Minimum", {a.scale, one}) : one;
  const Endpoint begin = b.make("Floor", {b.div(real(b, r.mode == "linear" ? -1 : -2), narrow)});
  const Endpoint end = b.sub(one, begin);
  const Endpoint places = b.make("Range", {b.add(begin, one), b.add(end, zero), one});
  const Endpoint cell = b.make("Floor", {at});
  const Endpoint distance = b.sub(places, b.expand(b.sub(at, cell), 1));
  Endpoint weight = weight_at(b, r, b.mul(distance, narrow));
  const Endpoint cells = b.cast(b.add(b.expand(cell, 1), places), DType::kInt64);
  if (r.exclude_outside) {
    const Endpoint inside =
        b.make("LogicalAnd", {b.make("GreaterEqual", {cells, b.int64(0)}), b.make("Less", {cells, a.in})});
    weight = b.select(inside, weight, zero);
  }
  if (r.antialias || r.exclude_outside) weight = b.div(weight, b.reduce("Sum", weight, {1}));
  const Endpoint hot = b.make("OneHot", {clamped(b, cells, a.in), b.cast(a.in, DType::kInt32), one, zero});
  return b.reduce("Sum", b.mul(hot, b.expand(weight, 2)), {1}, false);
}

Endpoint along(OnnxBlock& b, Endpoint x, Endpoint matrix, int axis) {
  std::string in, out;
  for (int i = 0; i < b.rank(x) && i < 24; ++i) in += static_cast<char>('a' + i);
  out = in;
  if (axis >= static_cast<int>(in.size())) return b.fail("an axis behind the 24th");
  out[static_cast<size_t>(axis)] = 'z';
  return b.math("Einsum", {x, matrix},
                {{"equation", attr_of(cat(in, ",z", in[static_cast<size_t>(axis)], "->", out))}});
}

/// Scales of all axes that are resized: given, or from sizes.
bool set_scales(OnnxBlock& b, std::vector<ResizedAxis>& axes) {
  const size_t at = b.version() < 11 ? 1 : 2;
  const bool by_scales = b.has(at) && b.dim(b.input(at), 0) != 0;
  if (!by_scales && !b.has(3)) return b.fail("neither scales nor sizes"), false;
  const Endpoint given = by_scales ? b.cast(b.input(at), DType::kDouble) : b.cast(b.input(3), DType::kInt64);
  if (b.dim(given, 0) != static_cast<int64_t>(axes.size()))
    return b.fail("scales or sizes of another number than the axes"), false;
  Endpoint common;
  const std::string policy = b.text("keep_aspect_ratio_policy", "stretch");
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizedAxis& a = axes[i];
    const Endpoint own = element(b, given, static_cast<int64_t>(i));
    if (by_scales) {
      a.scale = own;
      a.out = b.cast(b.make("Floor", {b.mul(own, as_real(b, a.in))}), DType::kInt64);
      continue;
    }
    a.out = own;
    a.scale = b.div(as_real(b, own), as_real(b, a.in));
    if (policy != "stretch")
      common = i == 0 ? a.scale : b.make(policy == "not_larger" ? "Minimum" : "Maximum", {common, a.scale});
  }
  for (ResizedAxis& a : axes) {
    if (common.node == kNoNode) break;
    a.scale = common;
    a.out = b.cast(b.make("Floor", {b.add(b.mul(common, as_real(b, a.in)), real(b, 0.5))}), DType::kInt64);
  }
  return !b.failed();
}

bool stays(OnnxBlock& b, const ResizedAxis& a) {
  const Tensor* scale = b.value(a.scale);
  const std::optional<Ints> in = b.known(a.in), out = b.known(a.out);
  return scale && scale->dtype() == DType::kDouble && *scale->data<double>() == 1 && in && out && *in == *out;
}

/// The constant that it is, if that is known.
Endpoint folded(OnnxBlock& b, Endpoint e) {
  const Tensor* value = b.value(e);
  return value ? b.constant(*value) : e;
}

/// Is the scale that of the sizes, which are known?
bool is_exact(OnnxBlock& b, const ResizedAxis& a) {
  const Tensor* scale = b.value(a.scale);
  const std::optional<Ints> in = b.known(a.in), out = b.known(a.out);
  if (!scale || scale->dtype() != DType::kDouble || !in || !out || (*in)[0] < 1 || (*out)[0] < 1) return false;
  const double exact = static_cast<double>((*out)[0]) / static_cast<double>((*in)[0]);
  return std::abs(*scale->data<double>() - exact) <= 1e-6 * exact;
}

/// Images of floats whose heights and widths are resized linearly, between the two nearest cells: TensorFlow's own op.
/// Nothing: it is something else.
std::optional<Endpoint> bilinear(OnnxBlock& b, const ResizeNode& r, const std::vector<ResizedAxis>& axes) {
  const Endpoint x = b.input(0);
  const bool half = r.coordinates == "half_pixel", corners = r.coordinates == "align_corners";
  if (r.mode != "linear" || r.antialias || r.exclude_outside || b.rank(x) != 4 || b.type(x) != DType::kFloat ||
      !(half || corners || r.coordinates == "asymmetric"))
    return {};
  Ints sizes{b.dim(x, 2), b.dim(x, 3)};
  for (const ResizedAxis& a : axes) {
    if (a.axis < 2 ? !stays(b, a) : !is_exact(b, a)) return {};
    if (a.axis >= 2) sizes[static_cast<size_t>(a.axis) - 2] = (*b.known(a.out))[0];
  }
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t s) { return s < 1 || s > INT32_MAX; })) return {};
  const Endpoint y = b.make("ResizeBilinear", {channels_last(b, x), b.ints32(sizes)},
                            {{"align_corners", attr_of(corners)}, {"half_pixel_centers", attr_of(half)}});
  return channels_first(b, y);
}

Endpoints resized(OnnxBlock& b, const ResizeNode& r, std::vector<ResizedAxis> axes) {
  Endpoint y = b.input(0), outside;
  if (!set_scales(b, axes)) return {};
  if (const std::optional<Endpoint> image = bilinear(b, r, axes)) return {*image};
  const bool crop = r.coordinates == "tf_crop_and_resize";
  const int rank = b.rank(y);
  const DType own = b.type(y), used = own == DType::kDouble ? own : DType::kFloat;
  const bool last = is_turned(b, y);
  if (last) y = channels_last(b, y);
  if (r.mode != "nearest") y = b.cast(y, used);
  for (const ResizedAxis& a : axes) {
    if (!crop && stays(b, a)) continue;
    const int axis = last ? axis_with_channels_last(a.axis) : a.axis;
    const Endpoint at = origins(b, r, a);
    if (crop) {
      const Endpoint end = b.sub(as_real(b, a.in), real(b, 1));
      Endpoint out = b.make("LogicalOr", {b.make("Less", {at, real(b, 0)}), b.make("Greater", {at, end})});
      out = b.per_channel(out, rank, axis);
      outside = outside.node == kNoNode ? out : b.make("LogicalOr", {outside, out});
    }
    y = r.mode == "nearest" ? b.make("GatherV2", {y, folded(b, nearest_cells(b, r, at, a.in)), b.int32(axis)})
                            : along(b, y, folded(b, b.cast(weights(b, r, a, at), used)), axis);
  }
  if (crop) y = b.select(outside, b.like(y, b.number("extrapolation_value", 0)), y);
  y = b.cast(y, own);
  return {last ? channels_first(b, y) : y};
}

Endpoints resize(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int rank = b.rank(x);
  ResizeNode r;
  r.mode = b.text("mode", "nearest");
  r.coordinates = b.text("coordinate_transformation_mode", b.version() < 11 ? "asymmetric" : "half_pixel");
  r.nearest = b.text("nearest_mode", b.version() < 11 ? "floor" : "round_prefer_floor");
  r.antialias = b.integer("antialias", 0) != 0;
  r.exclude_outside = b.integer("exclude_outside", 0) != 0;
  r.cubic_a = b.number("cubic_coeff_a", -0.75F);
  if (r.mode != "nearest" && r.mode != "linear" && r.mode != "cubic") return {b.fail(cat("mode '", r.mode, "'"))};
  Ints all(static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  all = b.integers("axes", all);
  std::vector<ResizedAxis> axes;
  const bool crop = r.coordinates == "tf_crop_and_resize";
  if (crop && !b.has(1)) return {b.fail("no region")};
  const Endpoint roi = crop ? as_real(b, b.input(1)) : Endpoint{};
  for (size_t i = 0; i < all.size() && !b.failed(); ++i) {
    ResizedAxis a;
    a.axis = b.axis(all[i], rank);
    a.in = b.dim(x, a.axis) >= 0 ? b.int64(b.dim(x, a.axis)) : b.squeeze(b.dim_of(x, a.axis), {0});
    if (crop) {
      a.roi_begin = element(b, roi, static_cast<int64_t>(i));
      a.roi_end = element(b, roi, static_cast<int64_t>(i + all.size()));
    }
    axes.push_back(a);
  }
  return resized(b, r, std::move(axes));
}

constexpr OnnxOp kResizeOps[] = {{"Resize", 10, resize}, {"Upsample", 9, resize}};

}  // namespace

std::span<const OnnxOp> onnx_resize_ops() { return kResizeOps; }

}  // namespace emplace
