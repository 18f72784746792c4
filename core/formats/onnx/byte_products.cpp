#include "core/formats/onnx/byte_products.h"

#include <algorithm>
#include <cmath>

#include "core/base/cat.h"
#include "core/base/tiny_float.h"
#include "core/formats/onnx/layout.h"
#include "core/formats/onnx/products.h"

namespace emplace {
namespace {

bool limits(DType t, double& low, double& high) {
  switch (t) {
    case DType::kUInt8:
      return low = 0, high = UINT8_MAX, true;
    case DType::kInt8:
      return low = INT8_MIN, high = INT8_MAX, true;
    case DType::kUInt16:
      return low = 0, high = UINT16_MAX, true;
    case DType::kInt16:
      return low = INT16_MIN, high = INT16_MAX, true;
    case DType::kUInt4:
      return low = 0, high = 15, true;
    case DType::kInt4:
      return low = -8, high = 7, true;
    case DType::kUInt2:
      return low = 0, high = 3, true;
    case DType::kInt2:
      return low = -2, high = 1, true;
    default:
      return false;
  }
}

bool is_byte(DType t) { return t == DType::kInt8 || t == DType::kUInt8; }

bool is_one(OnnxBlock& b, Endpoint e) { return b.has_shape(e) && b.shape(e).num_elements() == 1; }

/// One number, or one for each of `count` channels.
bool is_one_or_each(OnnxBlock& b, Endpoint e, int64_t count) {
  return is_one(b, e) || (count > 0 && b.rank(e) == 1 && b.dim(e, 0) == count);
}

/// Bytes with one zero point, by bytes with one or with one for each of `channels`.
bool fit(OnnxBlock& b, const OnnxBytes& x, const OnnxBytes& y, int64_t channels, const OnnxRescaling* how) {
  if (b.failed() || !is_byte(b.type(x.bytes)) || !is_byte(b.type(y.bytes)) || channels < 1) return false;
  if (x.zero.node != kNoNode && !is_one(b, x.zero)) return false;
  if (y.zero.node != kNoNode && !is_one_or_each(b, y.zero, channels)) return false;
  if (!how) return true;
  return is_byte(b.type(how->zero)) && is_one(b, how->zero) && is_one_or_each(b, how->scale, channels) &&
         (how->bias.node == kNoNode || is_one_or_each(b, how->bias, channels));
}

/// [N,H,W,C] by [h,w,C/group,M].
Endpoint make_product(OnnxBlock& b, const OnnxBytes& x, const OnnxBytes& y, OnnxAttrs attrs, const OnnxRescaling* how) {
  const auto zero_of = [&](const OnnxBytes& side) {
    return side.zero.node == kNoNode ? b.like(side.bytes, 0) : side.zero;
  };
  Endpoints inputs{x.bytes, y.bytes, zero_of(x), zero_of(y)};
  if (!how) return b.make("OnnxConvInteger", std::move(inputs), std::move(attrs));
  const Endpoint bias = how->bias.node == kNoNode ? b.int32(0) : how->bias;
  inputs.insert(inputs.end(), {bias, b.cast(how->scale, DType::kFloat), how->zero});
  return b.make("OnnxQLinearConv", std::move(inputs), std::move(attrs));
}

}  // namespace

Endpoint onnx_saturated(OnnxBlock& b, Endpoint x, DType to) {
  const double most = static_cast<double>(tiny_float_max(to));
  if (!kFloating.has(b.type(x))) x = b.cast(x, DType::kFloat);
  x = b.math("Minimum", {b.math("Maximum", {x, b.like(x, -most)}), b.like(x, most)});
  return b.cast(x, to);
}

Endpoint onnx_quantised(OnnxBlock& b, Endpoint x, Endpoint zero, DType to) {
  if (kTinyFloats.has(to)) {  // the type itself rounds
    if (zero.node != kNoNode) x = b.add(x, b.cast(zero, b.type(x)));
    return onnx_saturated(b, x, to);
  }
  double low = 0, high = 0;
  if (!limits(to, low, high)) return b.fail(cat("quantisation to ", dtype_name(to), ", which is not read"));
  x = b.math("Round", {x});
  if (zero.node != kNoNode) x = b.add(x, b.cast(zero, b.type(x)));
  return b.cast(b.math("ClipByValue", {x, b.like(x, low), b.like(x, high)}), to);
}

Endpoint rescaling_factor(OnnxBlock& b, Endpoint x_scale, Endpoint w_scale, Endpoint y_scale) {
  const auto real = [&](Endpoint e) { return b.cast(e, DType::kFloat); };
  return b.div(b.mul(real(x_scale), real(w_scale)), real(y_scale));
}

std::optional<Endpoint> byte_convolution(OnnxBlock& b, const OnnxBytes& x, const OnnxBytes& filter, const OnnxWindow& w,
                                         int64_t group, const OnnxRescaling* how) {
  if (w.rank() < 1 || w.rank() > 2 || !fit(b, x, filter, b.dim(filter.bytes, 0), how)) return {};
  if (!onnx_convolution_fits(b, x.bytes, filter.bytes, w, group)) return Endpoint{};
  const bool line = w.rank() == 1;
  const auto image = [&](Endpoint e) { return line ? b.expand(e, 2) : e; };
  const OnnxBytes last{channels_last(b, image(x.bytes)), x.zero};
  const OnnxBytes turned{b.transpose(image(filter.bytes), {2, 3, 1, 0}), filter.zero};
  const Endpoint y = channels_first(b, make_product(b, last, turned, conv_attrs(line ? flat_window(w) : w), how));
  return line ? b.squeeze(y, {2}) : y;
}

std::optional<Endpoint> byte_product(OnnxBlock& b, const OnnxBytes& x, const OnnxBytes& y, const OnnxRescaling* how) {
  const int rank = b.rank(x.bytes);
  if (rank < 2 || b.rank(y.bytes) != 2) return {};
  const int64_t depth = b.dim(x.bytes, rank - 1), cols = b.dim(y.bytes, 1);
  if (depth < 1 || b.dim(y.bytes, 0) != depth || !fit(b, x, y, cols, how)) return {};
  Ints dims;
  for (int i = 0; i + 1 < rank; ++i) dims.push_back(b.dim(x.bytes, i));
  dims.push_back(cols);
  if (std::count(dims.begin(), dims.end(), -1) > 1 || std::count(dims.begin(), dims.end(), 0) > 0) return {};
  const OnnxBytes rows{b.reshape(x.bytes, {1, 1, -1, depth}), x.zero};
  const OnnxBytes filter{b.reshape(y.bytes, {1, 1, depth, cols}), y.zero};
  const OnnxWindow pixel{{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {0, 0}};
  return b.reshape(make_product(b, rows, filter, conv_attrs(pixel), how), dims);
}

namespace {

bool is_all_zero(const Tensor* t) {
  if (!t || t->dtype() != DType::kInt32) return false;
  return std::all_of(t->data<int32_t>(), t->data<int32_t>() + t->num_elements(), [](int32_t v) { return v == 0; });
}

/// A bias in bytes' own unit, the product of both scales; nothing: it is in another.
std::optional<Endpoint> bias_of_bytes(OnnxBlock& b, Endpoint bias, const OnnxByteView& x, const OnnxByteView& y) {
  if (bias.node == kNoNode) return Endpoint{};
  const OnnxByteView* view = b.frame().body().byte_views().find(bias);
  if (!view || b.type(view->bytes) != DType::kInt32) return {};
  if (view->zero.node != kNoNode && !is_all_zero(b.value(view->zero))) return {};
  const Tensor *own = b.value(view->scale), *of_x = b.value(x.scale), *of_y = b.value(y.scale);
  const auto all = {own, of_x, of_y};
  if (std::any_of(all.begin(), all.end(), [](const Tensor* t) { return !t || t->dtype() != DType::kFloat; })) return {};
  const int64_t n = own->num_elements();
  if (of_x->num_elements() != 1 || of_y->num_elements() != n) return {};
  for (int64_t i = 0; i < n; ++i) {
    const float unit = of_x->data<float>()[0] * of_y->data<float>()[i];
    if (std::abs(own->data<float>()[i] - unit) > 1e-6F * std::abs(unit)) return {};
  }
  return view->bytes;
}

/// `axis`: of the right side's outputs. `multiply`: of both sides' bytes.
template <class Multiply>
void note(OnnxBlock& b, Endpoint y, Endpoint left, Endpoint right, Endpoint bias, int axis, const Multiply& multiply) {
  OnnxByteViews& views = b.frame().body().byte_views();
  const OnnxByteView *x = views.find(left), *factor = views.find(right);
  if (b.failed() || !x || !factor || !is_byte(b.type(x->bytes)) || !is_byte(b.type(factor->bytes)) || x->axis >= 0 ||
      (factor->axis >= 0 && factor->axis != axis))
    return;
  const std::optional<Endpoint> whole = bias_of_bytes(b, bias, *x, *factor);
  if (!whole) return;
  views.products[{y.node, y.slot}] = [=, x = *x, factor = *factor](OnnxBlock& q, Endpoint scale, Endpoint zero) {
    const OnnxRescaling how{rescaling_factor(q, x.scale, factor.scale, scale), zero, *whole};
    return multiply(q, OnnxBytes{x.bytes, x.zero}, OnnxBytes{factor.bytes, factor.zero}, how);
  };
}

}  // namespace

void note_byte_convolution(OnnxBlock& b, Endpoint y, Endpoint x, Endpoint filter, Endpoint bias, const OnnxWindow& w,
                           int64_t group) {
  note(b, y, x, filter, bias, 0,
       [w, group](OnnxBlock& q, const OnnxBytes& left, const OnnxBytes& right, const OnnxRescaling& how) {
         return byte_convolution(q, left, right, w, group, &how);
       });
}

void note_byte_product(OnnxBlock& b, Endpoint y, Endpoint x, Endpoint factor, Endpoint bias, bool factor_turned) {
  note(b, y, x, factor, bias, factor_turned ? 0 : 1,
       [factor_turned](OnnxBlock& q, const OnnxBytes& left, OnnxBytes right, const OnnxRescaling& how) {
         if (factor_turned) right.bytes = q.transpose(right.bytes, {1, 0});
         return byte_product(q, left, right, &how);
       });
}

std::optional<Endpoint> product_as_bytes(OnnxBlock& b, Endpoint reals, Endpoint scale, Endpoint zero) {
  const OnnxByteViews& views = b.frame().body().byte_views();
  const auto product = views.products.find({reals.node, reals.slot});
  if (b.failed() || product == views.products.end() || !is_one(b, scale) || !is_one(b, zero) || !is_byte(b.type(zero)))
    return {};
  return product->second(b, scale, zero);
}

}  // namespace emplace
