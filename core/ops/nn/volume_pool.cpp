// MaxPool3D and AvgPool3D with their gradients: windows of volumes.
#include <algorithm>
#include <cmath>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/nn/volume_window.h"

namespace emplace {
namespace {

// A cell that is so near to its window's largest gets the window's gradient, as in TensorFlow.
constexpr float kAsLarge = 1e-5f;

Status pooled_volumes_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, pooled_volume_shape(VolumePoolAttrs::of(c.attrs()), c.input(0), "Pool3D"));
  c.set_output(0, std::move(out));
  return ok_status();
}

Status max_pool_3d_grad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape volume, c.with_rank(0, 5));
  c.set_output(0, std::move(volume));
  return ok_status();
}

Status avg_pool_3d_grad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape volume, shape_from_input(c, 0));
  ASSIGN_OR_RETURN(volume, require_rank(volume, 5));
  c.set_output(0, std::move(volume));
  return ok_status();
}

Status expect_shape(std::string_view what, const Shape& got, const Shape& want) {
  if (got == want) return ok_status();
  return invalid_argument(cat("Expected ", what, " shape to be ", want.to_string(), ", but got ", got.to_string()));
}

// What all kernels have: the windows; each writes a volume, or a row of windows, of its own.
class VolumePoolKernel : public Kernel {
 public:
  explicit VolumePoolKernel(const KernelInit& init) : attrs_(VolumePoolAttrs::of(init.attrs)) {}

 protected:
  // Calls f(volume, window, its first element) for every window.
  template <class F>
  static void each_window(KernelContext& c, const VolumeWindow& w, const F& f) {
    const int64_t windows = w.windows();
    const double cost = 0.3 * static_cast<double>(w.window_cells() * w.channels);
    c.parallel_for(w.batch * windows, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i / windows, w.box(i % windows), i * w.channels);
    });
  }
  // Calls f(volume, its first window's first element) for every volume; windows that overlap write the same cells.
  template <class F>
  static void each_volume(KernelContext& c, const VolumeWindow& w, const F& f) {
    const double cost = static_cast<double>(w.windows() * w.window_cells() * w.channels);
    c.parallel_for(w.batch, cost, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) f(b, b * w.windows() * w.channels);
    });
  }
  VolumePoolAttrs attrs_;
};

template <class T>
class MaxPool3D final : public VolumePoolKernel {
 public:
  using VolumePoolKernel::VolumePoolKernel;
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const VolumeWindow w, VolumeWindow::of(attrs_, c.input(0).shape(), "MaxPool3D"));
    RETURN_IF_ERROR(ensure_output(c, 0, w.out));
    if (c.output(0).num_elements() == 0) return ok_status();
    const int64_t size = w.cells() * w.channels;
    each_window(c, w, [&](int64_t b, const VolumeWindow::Box& box, int64_t first) {
      T* out = c.out<T>(0) + first;
      std::fill_n(out, w.channels, T(-INFINITY));
      w.for_cells(box, [&](int64_t cell) {
        const T* in = c.in<T>(0) + b * size + cell;
        for (int64_t k = 0; k < w.channels; ++k) out[k] = in[k] > out[k] ? in[k] : out[k];
      });
    });
    return ok_status();
  }
};

template <class T>
class MaxPool3DGrad final : public VolumePoolKernel {
 public:
  using VolumePoolKernel::VolumePoolKernel;
  Status run(KernelContext& c) override {
    const Shape& volume = c.input(0).shape();
    ASSIGN_OR_RETURN(const VolumeWindow w, VolumeWindow::of(attrs_, volume, "MaxPool3DGrad"));
    RETURN_IF_ERROR(expect_shape("orig_output", c.input(1).shape(), w.out));
    RETURN_IF_ERROR(expect_shape("grad", c.input(2).shape(), w.out));
    RETURN_IF_ERROR(ensure_output(c, 0, volume));
    const int64_t size = w.cells() * w.channels;
    if (size == 0) return ok_status();
    each_volume(c, w, [&](int64_t b, int64_t first) {
      const T *in = c.in<T>(0) + b * size, *pooled = c.in<T>(1) + first, *grad = c.in<T>(2) + first;
      T* out = c.out<T>(0) + b * size;
      std::fill_n(out, size, T{});
      for (int64_t i = 0; i < w.windows(); ++i, pooled += w.channels, grad += w.channels) {
        w.for_cells(w.box(i), [&](int64_t cell) {
          for (int64_t k = 0; k < w.channels; ++k) {
            const auto apart = static_cast<float>(in[cell + k] - pooled[k]);
            if (std::fabs(apart) < kAsLarge) out[cell + k] = add(out[cell + k], grad[k]);
          }
        });
      }
    });
    return ok_status();
  }
};

// What arrived at the first cell of each window that holds the window's result; 0 if none does.
template <class T>
class MaxPool3DGradGrad final : public VolumePoolKernel {
 public:
  using VolumePoolKernel::VolumePoolKernel;
  Status run(KernelContext& c) override {
    const Shape& volume = c.input(0).shape();
    ASSIGN_OR_RETURN(const VolumeWindow w, VolumeWindow::of(attrs_, volume, "MaxPool3DGradGrad"));
    RETURN_IF_ERROR(expect_shape("orig_output", c.input(1).shape(), w.out));
    RETURN_IF_ERROR(expect_shape("grad", c.input(2).shape(), volume));
    RETURN_IF_ERROR(ensure_output(c, 0, w.out));
    if (c.output(0).num_elements() == 0) return ok_status();
    const int64_t size = w.cells() * w.channels;
    each_window(c, w, [&](int64_t b, const VolumeWindow::Box& box, int64_t first) {
      const T *in = c.in<T>(0) + b * size, *pooled = c.in<T>(1) + first, *grad = c.in<T>(2) + b * size;
      for (int64_t k = 0; k < w.channels; ++k) {
        bool found = false;
        T& out = c.out<T>(0)[first + k];
        out = T{};
        w.for_cells(box, [&](int64_t cell) {
          if (found || !(in[cell + k] == pooled[k])) return;
          found = true;
          out = grad[cell + k];
        });
      }
    });
    return ok_status();
  }
};

template <class T>
class AvgPool3D final : public VolumePoolKernel {
  using Sum = std::conditional_t<kIsHalf<T>, float, T>;

 public:
  using VolumePoolKernel::VolumePoolKernel;
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const VolumeWindow w, VolumeWindow::of(attrs_, c.input(0).shape(), "AvgPool3D"));
    RETURN_IF_ERROR(ensure_output(c, 0, w.out));
    if (c.output(0).num_elements() == 0) return ok_status();
    const int64_t size = w.cells() * w.channels;
    each_window(c, w, [&](int64_t b, const VolumeWindow::Box& box, int64_t first) {
      ScratchVector<Sum> sums(static_cast<size_t>(w.channels));
      w.for_cells(box, [&](int64_t cell) {
        const T* in = c.in<T>(0) + b * size + cell;
        for (size_t k = 0; k < sums.size(); ++k) sums[k] += static_cast<Sum>(in[k]);
      });
      const auto count = static_cast<Sum>(box.cells());
      std::transform(sums.begin(), sums.end(), c.out<T>(0) + first, [&](Sum sum) { return T(sum / count); });
    });
    return ok_status();
  }
};

template <class T>
class AvgPool3DGrad final : public VolumePoolKernel {
  using Sum = std::conditional_t<kIsHalf<T>, float, T>;

 public:
  using VolumePoolKernel::VolumePoolKernel;
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const Shape volume, shape_of_values(c.input(0)));
    ASSIGN_OR_RETURN(const VolumeWindow w, VolumeWindow::of(attrs_, volume, "AvgPool3DGrad"));
    RETURN_IF_ERROR(expect_shape("grad", c.input(1).shape(), w.out));
    RETURN_IF_ERROR(ensure_output(c, 0, volume));
    const int64_t size = w.cells() * w.channels;
    if (size == 0) return ok_status();
    each_volume(c, w, [&](int64_t b, int64_t first) {
      ScratchVector<Sum> sums(static_cast<size_t>(size));
      const T* grad = c.in<T>(1) + first;
      for (int64_t i = 0; i < w.windows(); ++i, grad += w.channels) {
        const VolumeWindow::Box box = w.box(i);
        const Sum share = Sum(1) / static_cast<Sum>(box.cells());
        w.for_cells(box, [&](int64_t cell) {
          for (int64_t k = 0; k < w.channels; ++k)
            sums[static_cast<size_t>(cell + k)] += static_cast<Sum>(grad[k]) * share;
        });
      }
      std::transform(sums.begin(), sums.end(), c.out<T>(0) + b * size, [](Sum sum) { return T(sum); });
    });
    return ok_status();
  }
};

template <template <class> class K>
OpDef of_volumes(OpDef def) {
  return std::move(def).template cpu<float>(make<K<float>>).template cpu<bfloat16>(make<K<bfloat16>>);
}

GradientContext::AttrList pool_3d_attrs(const GradientContext& g) {
  return g.copy_attrs({"ksize", "strides", "padding", "data_format"});
}

Status max_pool_3d_gradient(GradientContext& g) {
  g.set(0, g.add("MaxPool3DGrad", {g.input(0), g.output(0), g.grad(0)}, pool_3d_attrs(g)));
  return g.status();
}
// Gradients of one pooling for those of the other: neither depends on the volumes but in what it picks.
Status picked_gradient(GradientContext& g, std::string_view op) {
  g.set(0, g.zeros_like(g.input(0)));
  g.set(1, g.zeros_like(g.input(1)));
  g.set(2, g.add(op, {g.input(0), g.input(1), g.grad(0)}, pool_3d_attrs(g)));
  return g.status();
}
Status max_pool_3d_grad_gradient(GradientContext& g) { return picked_gradient(g, "MaxPool3DGradGrad"); }
Status max_pool_3d_grad_grad_gradient(GradientContext& g) { return picked_gradient(g, "MaxPool3DGrad"); }

Status avg_pool_3d_gradient(GradientContext& g) {
  g.set(0, g.add("AvgPool3DGrad", {g.shape_of(g.input(0)), g.grad(0)}, pool_3d_attrs(g)));
  return g.status();
}
// Spreading is linear, and its transpose is the mean again.
Status avg_pool_3d_grad_gradient(GradientContext& g) {
  g.set(1, g.add("AvgPool3D", {g.grad(0)}, pool_3d_attrs(g)));
  return g.status();
}

}  // namespace

OpDef max_pool_3d_op() {
  return of_volumes<MaxPool3D>(
             OpDef("MaxPool3D").doc("The largest cell of each window of volumes.").shape(pooled_volumes_shape))
      .gradient(max_pool_3d_gradient);
}
OpDef max_pool_3d_grad_op() {
  return of_volumes<MaxPool3DGrad>(OpDef("MaxPool3DGrad")
                                       .doc("The gradient of each window, added to all of its largest cells.")
                                       .shape(max_pool_3d_grad_shape))
      .gradient(max_pool_3d_grad_gradient);
}
OpDef max_pool_3d_grad_grad_op() {
  return of_volumes<MaxPool3DGradGrad>(
             OpDef("MaxPool3DGradGrad")
                 .doc("Of a volume's gradient, the first cell of each window that holds the window's largest number.")
                 .shape(pooled_volumes_shape))
      .gradient(max_pool_3d_grad_grad_gradient);
}
OpDef avg_pool_3d_op() {
  return of_volumes<AvgPool3D>(OpDef("AvgPool3D")
                                   .doc("The mean of each window of volumes; cells of the padding do not count.")
                                   .shape(pooled_volumes_shape))
      .gradient(avg_pool_3d_gradient);
}
OpDef avg_pool_3d_grad_op() {
  return of_volumes<AvgPool3DGrad>(OpDef("AvgPool3DGrad")
                                       .doc("The gradient of each window in equal shares to its cells.")
                                       .shape(avg_pool_3d_grad_shape))
      .value_inputs({0})
      .gradient(avg_pool_3d_grad_gradient);
}

}  // namespace emplace
