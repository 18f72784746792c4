// OnnxConvInteger, OnnxQLinearConv: convolutions of bytes that stand for reals, real = (byte - zero) * scale.
#include <cstring>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/conv/byte_conv.h"
#include "core/ops/conv/byte_rescale.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

constexpr DTypeSet kBytes{DType::kInt8, DType::kUInt8};
constexpr int kImage = 0, kFilter = 1, kImageZero = 2, kFilterZero = 3, kBias = 4, kScale = 5, kResultZero = 6;

Status integer_conv_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape image, c.with_rank(kImage, 4));
  ASSIGN_OR_RETURN(const Shape filter, c.with_rank(kFilter, 4));
  ASSIGN_OR_RETURN(const ConvShape s, conv_shape(c.attrs(), image, filter, false));
  c.set_output(0, image_shape(image_layout(c.attrs()), s.batch, s.out_h, s.out_w, s.out_c));
  return ok_status();
}

class SumSink final : public ByteSink {
 public:
  SumSink(int32_t* out, int64_t channels) : out_(out), channels_(channels) {}
  void take(const ByteSums& s) const override {
    for (int64_t p = 0; p < s.pixels; ++p) {
      std::memcpy(out_ + (s.pixel + p) * channels_ + s.first, s.sums + p * s.stride,
                  static_cast<size_t>(s.cols) * sizeof(int32_t));
    }
  }

 private:
  int32_t* out_;
  int64_t channels_;
};

int int_of(const Tensor& t) { return t.dtype() == DType::kInt8 ? t.data<int8_t>()[0] : t.data<uint8_t>()[0]; }

class IntegerConv final : public Kernel {
 public:
  explicit IntegerConv(const KernelInit& init) : attrs_(init.attrs), rescales_(init.output_types[0] != DType::kInt32) {}

  Status prepare(KernelContext& c) override {
    ASSIGN_OR_RETURN(shape_, conv_shape(attrs_, c.input(kImage).shape(), c.input(kFilter).shape(), false));
    conv_ = ByteConv(shape_, c.input(kImage).dtype() == DType::kInt8, c.input(kFilter).dtype() == DType::kInt8);
    packed_ = Tensor();
    return ok_status();
  }
  Workspace workspace() const override { return {conv_.image_bytes(), conv_.packed_bytes()}; }

  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(check_vectors(c));
    if (c.output(0).num_elements() == 0) return ok_status();
    RETURN_IF_ERROR(pack(c));
    Tensor ordered;
    if (conv_.image_bytes() > 0) {
      ASSIGN_OR_RETURN(ordered, c.allocate_scratch(DType::kUInt8, Shape{conv_.image_bytes()}));
    }
    if (!rescales_) {
      convolve(c, ordered, SumSink(c.out<int32_t>(0), shape_.out_c));
      return ok_status();
    }
    const int zero = int_of(c.input(kResultZero));
    const bool is_signed = c.output(0).dtype() == DType::kInt8;
    const Rescaling how{spread(c.input(kScale), scales_), spread(c.input(kBias), bias_),
                        static_cast<float>((is_signed ? INT8_MIN : 0) - zero),
                        static_cast<float>((is_signed ? INT8_MAX : UINT8_MAX) - zero), zero};
    if (is_signed)
      convolve(c, ordered, RescaledSink<int8_t>(c.out<int8_t>(0), shape_.out_c, how));
    else
      convolve(c, ordered, RescaledSink<uint8_t>(c.out<uint8_t>(0), shape_.out_c, how));
    return ok_status();
  }

 private:
  Status check_vectors(KernelContext& c) const {
    const auto one = [&](int i, std::string_view name) -> Status {
      if (c.input(i).num_elements() == 1) return ok_status();
      return invalid_argument(cat(name, " must be one number, got ", c.input(i).shape().to_string()));
    };
    const auto one_or_each = [&](int i, std::string_view name) -> Status {
      const Shape& s = c.input(i).shape();
      if (s.num_elements() == 1 || (s.rank() == 1 && s.dim(0) == shape_.out_c)) return ok_status();
      return invalid_argument(cat(name, " must be one number or ", shape_.out_c, " of them, got ", s.to_string()));
    };
    RETURN_IF_ERROR(one(kImageZero, "x_zero"));
    RETURN_IF_ERROR(one_or_each(kFilterZero, "filter_zero"));
    if (!rescales_) return ok_status();
    RETURN_IF_ERROR(one_or_each(kBias, "bias"));
    RETURN_IF_ERROR(one_or_each(kScale, "scale"));
    return one(kResultZero, "y_zero");
  }

  Status pack(KernelContext& c) {
    const bool fresh = !packed_.valid();
    if (fresh) {
      ASSIGN_OR_RETURN(packed_, c.allocate_persistent(DType::kInt8, Shape{conv_.packed_bytes()}));
    }
    if (!fresh && c.input_is_constant(kFilter) && c.input_is_constant(kFilterZero)) return ok_status();
    const Tensor& zero = c.input(kFilterZero);
    conv_.pack(c.input(kFilter).raw(), zero.raw(), zero.num_elements() > 1, packed_.data<int8_t>());
    return ok_status();
  }

  /// One number for each channel.
  template <class T>
  const T* spread(const Tensor& t, std::vector<T>& room) const {
    if (t.num_elements() > 1) return t.data<T>();
    room.assign(static_cast<size_t>(shape_.out_c), t.data<T>()[0]);
    return room.data();
  }

  void convolve(KernelContext& c, Tensor& ordered, const ByteSink& sink) {
    conv_.run(*c.parallel_, c.input(kImage).raw(), int_of(c.input(kImageZero)), packed_.data<int8_t>(),
              ordered.valid() ? ordered.data<uint8_t>() : nullptr, sink);
  }

  const Attrs attrs_;
  const bool rescales_;
  ConvShape shape_;
  ByteConv conv_;
  Tensor packed_;
  std::vector<float> scales_;
  std::vector<int32_t> bias_;
};

}  // namespace

OpDef onnx_conv_integer() {
  return OpDef("OnnxConvInteger")
      .doc(
          "2-D convolution of bytes less their zero points; exact sums. With a window of one pixel a product of "
          "matrices.")
      .traits({.work = Work::kConvolution})
      .shape(integer_conv_shape)
      .cpu(kBytes, make<IntegerConv>);
}

OpDef onnx_qlinear_conv() {
  return OpDef("OnnxQLinearConv")
      .doc("OnnxConvInteger, then bias, scale and the result's zero point: bytes again, rounded to even.")
      .traits({.work = Work::kConvolution})
      .shape(integer_conv_shape)
      .cpu(kBytes, make<IntegerConv>);
}

}  // namespace emplace
