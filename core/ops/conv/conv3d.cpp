// Conv3D and its two gradients.
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/conv/image.h"
#include "core/ops/conv/volume_conv.h"
#include "core/ops/conv/volume_filter_gradient.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status conv3d_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape input, c.with_rank(0, 5));
  ASSIGN_OR_RETURN(const Shape filter, c.with_rank(1, 5));
  ASSIGN_OR_RETURN(const VolumeConvShape s, volume_conv_shape(c.attrs(), input, filter));
  c.set_output(0, volume_shape(volume_layout(c.attrs()), s.batch, s.out(), s.out_c));
  return ok_status();
}

// The output has the sizes that input `kSizes` says.
template <int kSizes>
Status volume_gradient_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape sizes, shape_from_input(c, kSizes));
  ASSIGN_OR_RETURN(sizes, require_rank(sizes, 5));
  RETURN_IF_ERROR(c.with_rank(1 - kSizes, 5).take_status());
  RETURN_IF_ERROR(c.with_rank(2, 5).take_status());
  c.set_output(0, sizes);
  return ok_status();
}

// Of a kernel of this file: where channels stand, and the filter, rearranged once if it never changes.
template <class T>
class VolumeKernel : public Kernel {
 public:
  explicit VolumeKernel(const KernelInit& init)
      : attrs_(init.attrs), at_(volume_layout(init.attrs)), images_(at_.as_images()) {}

 protected:
  // What brings the volumes and, in a type of its own, the filter into the computing type and order.
  int64_t rearranged_bytes() const {
    return nhwc_scratch<T>(shape_.in_size() + shape_.out_size(), images_) +
           nhwc_scratch<T>(shape_.filter_size(), kLast);
  }

  static constexpr ImageLayout kLast{0, 1, 2, 3};
  Attrs attrs_;
  VolumeLayout at_;
  ImageLayout images_;
  VolumeConvShape shape_;
};

// Input 1 is the filter; the volume that is read is input `kRead`.
template <class T, int kRead>
class ConvolvedVolume : public VolumeKernel<T> {
  using C = Compute<T>;

 public:
  using VolumeKernel<T>::VolumeKernel;
  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    Tensor in_scratch, out_scratch;
    ASSIGN_OR_RETURN(const C* in, as_nhwc<T>(c, c.input(kRead), this->images_, in_scratch));
    RETURN_IF_ERROR(pack(c));
    ASSIGN_OR_RETURN(C * out, nhwc_output<T>(c, c.output(0), this->images_, out_scratch));
    conv_.run(*c.parallel_, in, static_cast<const C*>(packed_.raw()), out);
    finish_output<T>(c, c.output(0), this->images_, out_scratch);
    return ok_status();
  }
  Workspace workspace() const override {
    return {this->rearranged_bytes(), conv_.packed_filter_size() * static_cast<int64_t>(sizeof(C))};
  }

 protected:
  void prepare(VolumeConv<C> conv) {
    conv_ = std::move(conv);
    packed_ = {};
  }

 private:
  Status pack(KernelContext& c) {
    const bool fresh = packed_.valid();
    if (fresh && c.input_is_constant(1)) return ok_status();
    if (!fresh) {
      ASSIGN_OR_RETURN(packed_, c.allocate_persistent(dtype_of<C>, Shape{conv_.packed_filter_size()}));
    }
    Tensor scratch;
    ASSIGN_OR_RETURN(const C* filter, as_compute<T>(c, c.input(1), scratch));
    conv_.pack_filter(*c.parallel_, filter, static_cast<C*>(packed_.raw()));
    return ok_status();
  }

  VolumeConv<C> conv_;
  Tensor packed_;
};

template <class T>
class Conv3D final : public ConvolvedVolume<T, 0> {
 public:
  using ConvolvedVolume<T, 0>::ConvolvedVolume;
  Status prepare(KernelContext& c) override {
    ASSIGN_OR_RETURN(this->shape_, volume_conv_shape(this->attrs_, c.input(0).shape(), c.input(1).shape()));
    ConvolvedVolume<T, 0>::prepare(VolumeConv<Compute<T>>::forward(this->shape_));
    return ok_status();
  }
};

template <class T>
class InputGradient3D final : public ConvolvedVolume<T, 2> {
 public:
  using ConvolvedVolume<T, 2>::ConvolvedVolume;
  Status prepare(KernelContext& c) override {
    ASSIGN_OR_RETURN(this->shape_, volume_conv_shape(this->attrs_, c.output(0).shape(), c.input(1).shape()));
    RETURN_IF_ERROR(check_volume_gradient(this->shape_, c.input(2).shape(), this->at_, "Conv3DBackpropInputOp"));
    ConvolvedVolume<T, 2>::prepare(VolumeConv<Compute<T>>::input_gradient(this->shape_));
    return ok_status();
  }
};

template <class T>
class FilterGradient3D final : public VolumeKernel<T> {
  using C = Compute<T>;

 public:
  using VolumeKernel<T>::VolumeKernel;
  Status prepare(KernelContext& c) override {
    if (c.input(0).shape().rank() != 5) return invalid_argument("input must be 5-dimensional");
    ASSIGN_OR_RETURN(this->shape_, volume_conv_shape(this->attrs_, c.input(0).shape(), c.output(0).shape()));
    return check_volume_gradient(this->shape_, c.input(2).shape(), this->at_, "Conv3DBackpropFilterOp");
  }
  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    Tensor in_scratch, gradient_scratch, out_scratch, padded;
    ASSIGN_OR_RETURN(const C* in, as_nhwc<T>(c, c.input(0), this->images_, in_scratch));
    ASSIGN_OR_RETURN(const C* gradient, as_nhwc<T>(c, c.input(2), this->images_, gradient_scratch));
    ASSIGN_OR_RETURN(C * out, nhwc_output<T>(c, c.output(0), this->kLast, out_scratch));
    const VolumeFilterGradient<C> product(this->shape_);
    ASSIGN_OR_RETURN(padded, c.allocate_scratch(dtype_of<C>, Shape{product.scratch_size()}));
    product.run(*c.parallel_, in, gradient, padded.data<C>(), out);
    finish_output<T>(c, c.output(0), this->kLast, out_scratch);
    return ok_status();
  }
  Workspace workspace() const override {
    const int64_t padded = VolumeFilterGradient<C>(this->shape_).scratch_size();
    return {this->rearranged_bytes() + padded * static_cast<int64_t>(sizeof(C)), 0};
  }
};

template <template <class> class K>
OpDef with_kernels(OpDef def) {
  return std::move(def)
      .traits({.work = Work::kConvolution})
      .template cpu<float>(make<K<float>>)
      .template cpu<double>(make<K<double>>)
      .template cpu<half>(make<K<half>>)
      .template cpu<bfloat16>(make<K<bfloat16>>);
}

GradientContext::AttrList window_attrs(const GradientContext& g) {
  return g.copy_attrs({"strides", "padding", "data_format", "dilations"});
}

Status conv3d_gradient(GradientContext& g) {
  const Value shapes = g.add("ShapeN", {g.input(0), g.input(1)});
  g.set(0, g.add("Conv3DBackpropInputV2", {shapes, g.input(1), g.grad(0)}, window_attrs(g)));
  g.set(1, g.add("Conv3DBackpropFilterV2", {g.input(0), shapes.output(1), g.grad(0)}, window_attrs(g)));
  return g.status();
}

Status input_gradient_gradient(GradientContext& g) {
  g.set(1, g.add("Conv3DBackpropFilterV2", {g.grad(0), g.shape_of(g.input(1)), g.input(2)}, window_attrs(g)));
  g.set(2, g.add("Conv3D", {g.grad(0), g.input(1)}, window_attrs(g)));
  return g.status();
}

Status filter_gradient_gradient(GradientContext& g) {
  g.set(0, g.add("Conv3DBackpropInputV2", {g.shape_of(g.input(0)), g.grad(0), g.input(2)}, window_attrs(g)));
  g.set(2, g.add("Conv3D", {g.input(0), g.grad(0)}, window_attrs(g)));
  return g.status();
}

}  // namespace

OpDef conv3d_op() {
  return with_kernels<Conv3D>(
             OpDef("Conv3D")
                 .doc(
                     "3-D convolution of volumes [batch, depth, height, width, channels] with a filter [depth, height, "
                     "width, in, out].")
                 .shape(conv3d_shape))
      .gradient(conv3d_gradient);
}
OpDef conv3d_backprop_input_v2_op() {
  return with_kernels<InputGradient3D>(
             OpDef("Conv3DBackpropInputV2")
                 .doc("Gradient of Conv3D with respect to its input; also the transposed convolution.")
                 .shape(volume_gradient_shape<0>))
      .value_inputs({0})
      .gradient(input_gradient_gradient);
}
OpDef conv3d_backprop_filter_v2_op() {
  return with_kernels<FilterGradient3D>(OpDef("Conv3DBackpropFilterV2")
                                            .doc("Gradient of Conv3D with respect to its filter.")
                                            .shape(volume_gradient_shape<1>))
      .value_inputs({1})
      .gradient(filter_gradient_gradient);
}

}  // namespace emplace
