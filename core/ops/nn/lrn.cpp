// LRN, LRNGrad: local response normalisation over neighbouring channels.
#include <cmath>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status lrn_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape image, c.with_rank(0, 4));
  c.set_output(0, image);
  return ok_status();
}

Status lrn_grad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape image, c.with_rank(0, 4));
  for (int i : {1, 2}) {
    ASSIGN_OR_RETURN(image, ShapeContext::merge(image, c.input(i)));
  }
  c.set_output(0, image);
  return ok_status();
}

struct LrnAttrs {
  explicit LrnAttrs(const KernelInit& init)
      : radius(init.attrs.integer("depth_radius")),
        bias(init.attrs.number("bias")),
        alpha(init.attrs.number("alpha")),
        beta(init.attrs.number("beta")) {}
  Status check() const {
    if (radius >= 0 && radius <= INT_MAX) return ok_status();
    return invalid_argument(cat("depth_radius = ", radius, " larger than int max"));
  }
  int64_t first(int64_t channel) const { return std::max<int64_t>(channel - radius, 0); }
  int64_t end(int64_t channel, int64_t channels) const { return std::min(channel + radius + 1, channels); }

  int64_t radius;
  float bias, alpha, beta;
};

// norms[d] = bias + alpha * sum of x^2 over the channels around d.
template <class T>
void norms_of(const LrnAttrs& a, const T* x, ScratchVector<float>& norms) {
  auto channels = static_cast<int64_t>(norms.size());
  for (int64_t d = 0; d < channels; ++d) {
    float sum = 0;
    for (int64_t k = a.first(d); k < a.end(d, channels); ++k) {
      sum += static_cast<float>(x[k]) * static_cast<float>(x[k]);
    }
    norms[static_cast<size_t>(d)] = a.bias + a.alpha * sum;
  }
}

// Calls row(offset, norms) for every pixel.
template <class T, class F>
Status for_pixels(KernelContext& c, const LrnAttrs& a, const Tensor& image, const F& row) {
  RETURN_IF_ERROR(a.check());
  if (image.shape().rank() != 4) return invalid_argument("in must be 4-dimensional");
  RETURN_IF_ERROR(ensure_output(c, 0, image.shape()));
  if (image.num_elements() == 0) return ok_status();
  int64_t channels = image.shape().dim(3);
  double window = static_cast<double>(std::min(2 * a.radius + 1, channels));
  c.parallel_for(image.num_elements() / channels, static_cast<double>(channels) * (20 + window),
                 [&](int64_t begin, int64_t end) {
                   ScratchVector<float> norms(static_cast<size_t>(channels));
                   for (int64_t i = begin; i < end; ++i) {
                     norms_of(a, image.data<T>() + i * channels, norms);
                     row(i * channels, norms);
                   }
                 });
  return ok_status();
}

template <class T>
class Lrn final : public Kernel {
 public:
  explicit Lrn(const KernelInit& init) : attrs_(init) {}
  Status run(KernelContext& c) override {
    return for_pixels<T>(c, attrs_, c.input(0), [&](int64_t at, const ScratchVector<float>& norms) {
      const T* x = c.in<T>(0) + at;
      T* y = c.out<T>(0) + at;
      for (size_t d = 0; d < norms.size(); ++d) y[d] = T(static_cast<float>(x[d]) * std::pow(norms[d], -attrs_.beta));
    });
  }

 private:
  LrnAttrs attrs_;
};

// With y_j = x_j n_j^-beta: dx_k = dy_k n_k^-beta - 2 alpha beta x_k sum_j dy_j y_j / n_j over the j around k.
template <class T>
class LrnGrad final : public Kernel {
 public:
  explicit LrnGrad(const KernelInit& init) : attrs_(init) {}
  Status run(KernelContext& c) override {
    for (int i : {1, 2}) {
      if (c.input(i).shape() == c.input(0).shape()) continue;
      return invalid_argument("input_grads, input_image, and out_image should have the same shape");
    }
    return for_pixels<T>(c, attrs_, c.input(1), [&](int64_t at, const ScratchVector<float>& norms) {
      const T *dy = c.in<T>(0) + at, *x = c.in<T>(1) + at, *y = c.in<T>(2) + at;
      T* dx = c.out<T>(0) + at;
      auto channels = static_cast<int64_t>(norms.size());
      for (int64_t k = 0; k < channels; ++k) {
        float around = 0;
        for (int64_t j = attrs_.first(k); j < attrs_.end(k, channels); ++j) {
          around += static_cast<float>(dy[j]) * static_cast<float>(y[j]) / norms[static_cast<size_t>(j)];
        }
        float own = static_cast<float>(dy[k]) * std::pow(norms[static_cast<size_t>(k)], -attrs_.beta);
        dx[k] = T(own - 2 * attrs_.alpha * attrs_.beta * static_cast<float>(x[k]) * around);
      }
    });
  }

 private:
  LrnAttrs attrs_;
};

Status lrn_gradient(GradientContext& g) {
  g.set(0, g.add("LRNGrad", {g.grad(0), g.input(0), g.output(0)},
                 g.copy_attrs({"depth_radius", "bias", "alpha", "beta"})));
  return g.status();
}

}  // namespace

OpDef lrn_op() {
  return OpDef("LRN")
      .doc("Each channel divided by (bias + alpha * sum of squares over the channels around it)^beta.")
      .shape(lrn_shape)
      .cpu<float>(make<Lrn<float>>)
      .cpu<half>(make<Lrn<half>>)
      .sample("input=f32[1,2,3,7] uniform(-2,2)")
      .sample("input=f32[0,2,3,7]")
      .gradient(lrn_gradient);
}
OpDef lrn_grad_op() {
  return OpDef("LRNGrad")
      .doc("The gradient of LRN, from its input and its output.")
      .shape(lrn_grad_shape)
      .cpu<float>(make<LrnGrad<float>>)
      .cpu<half>(make<LrnGrad<half>>)
      .sample(
          "input_grads=f32[1,2,3,7] uniform(-2,2); input_image=f32[1,2,3,7] uniform(-2,2); "
          "output_image=f32[1,2,3,7] uniform(-2,2)");
}

}  // namespace emplace
