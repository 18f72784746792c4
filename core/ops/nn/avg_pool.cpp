// AvgPool, AvgPoolGrad: the mean of each window's real cells.

#include <cstring>
#include <type_traits>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/isa.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/nn/row_pool.h"

namespace emplace {
namespace {

Status avg_pool_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, pooled_shape(PoolAttrs::of(c.attrs()), c.input(0), "AvgPool"));
  c.set_output(0, out);
  return ok_status();
}

Status avg_pool_grad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape image, shape_from_input(c, 0));
  ASSIGN_OR_RETURN(image, require_rank(image, 4));
  c.set_output(0, image);
  return ok_status();
}

// Halves are summed in float.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class F>
void for_cells(const PoolWindow& p, int64_t oh, int64_t ow, const F& f) {
  for (int64_t y = p.h.begin(oh); y < p.h.end(oh); ++y) {
    for (int64_t x = p.w.begin(ow); x < p.w.end(ow); ++x) f((y * p.w.size + x) * p.channels);
  }
}

int64_t cells(const PoolWindow& p, int64_t oh, int64_t ow) {
  return std::max<int64_t>(p.h.end(oh) - p.h.begin(oh), 0) * std::max<int64_t>(p.w.end(ow) - p.w.begin(ow), 0);
}

// The mean of a window's cells, added in their order.
struct MeanOfWindow {
  template <class T>
  static constexpr bool kVectors = std::is_floating_point_v<T>;

  template <class V, int kCount, class T>
  EMPLACE_INLINE static void pool(const PoolWindow& p, const T* image, const WindowCells& w, T* out) {
    constexpr int64_t kLanes = sizeof(V) / sizeof(T);
    std::conditional_t<std::is_same_v<V, T>, Sum<T>, V> sums[kCount] = {};
    for (int64_t y = w.y; y < w.y_end; ++y) {
      const T* cells = image + (y * p.w.size + w.x) * p.channels;
      for (int64_t x = w.x; x < w.x_end; ++x, cells += p.channels) {
#pragma GCC unroll 4
        for (int i = 0; i < kCount; ++i) {
          V cell;
          std::memcpy(&cell, cells + i * kLanes, sizeof(V));
          if constexpr (std::is_same_v<V, T>)
            sums[i] += static_cast<Sum<T>>(cell);
          else
            sums[i] += cell;
        }
      }
    }
    const Sum<T> count = static_cast<Sum<T>>(w.count());
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) {
      const V mean = V(sums[i] / count);
      std::memcpy(out + i * kLanes, &mean, sizeof(V));
    }
  }
};

template <class T>
class AvgPool final : public RowPool {
 public:
  explicit AvgPool(const KernelInit& init) : RowPool(init, "AvgPool", row_of_windows<MeanOfWindow, T>()) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(PoolWindow p, PoolWindow::of(attrs_, c.input(0).shape(), "AvgPool"));
    if (p.depth_window > 1) return unimplemented("Non-spatial pooling is not yet supported.");
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    if (c.output(0).num_elements() > 0) run_rows(c, p);
    return ok_status();
  }
};

template <class T>
class AvgPoolGrad final : public Kernel {
 public:
  explicit AvgPoolGrad(const KernelInit& init) : attrs_(PoolAttrs::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(Shape image, shape_of_values(c.input(0)));
    ASSIGN_OR_RETURN(PoolWindow p, PoolWindow::of(attrs_, image, "AvgPoolGrad"));
    if (p.depth_window > 1) return unimplemented("Non-spatial pooling is not yet supported.");
    if (!(c.input(1).shape() == p.out)) {
      return invalid_argument(
          cat("Expected grad shape to be ", p.out.to_string(), ", but got ", c.input(1).shape().to_string()));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    if (c.output(0).num_elements() == 0) return ok_status();
    int64_t size = p.h.size * p.w.size * p.channels, windows = p.h.out * p.w.out * p.channels;
    c.parallel_for(p.batch, 3.0 * static_cast<double>(size), [&](int64_t begin, int64_t end) {
      ScratchVector<Sum<T>> sums(static_cast<size_t>(size));
      for (int64_t b = begin; b < end; ++b) {
        spread(p, c.in<T>(1) + b * windows, sums);
        T* out = c.out<T>(0) + b * size;
        for (size_t i = 0; i < sums.size(); ++i) out[i] = T(sums[i]);
      }
    });
    return ok_status();
  }

 private:
  // One image: each window's gradient in equal shares to its cells.
  static void spread(const PoolWindow& p, const T* grad, ScratchVector<Sum<T>>& sums) {
    std::fill(sums.begin(), sums.end(), Sum<T>(0));
    for (int64_t oh = 0; oh < p.h.out; ++oh) {
      for (int64_t ow = 0; ow < p.w.out; ++ow, grad += p.channels) {
        Sum<T> share = Sum<T>(1) / static_cast<Sum<T>>(cells(p, oh, ow));
        for_cells(p, oh, ow, [&](int64_t cell) {
          for (int64_t k = 0; k < p.channels; ++k)
            sums[static_cast<size_t>(cell + k)] += static_cast<Sum<T>>(grad[k]) * share;
        });
      }
    }
  }

  PoolAttrs attrs_;
};

template <template <class> class K>
OpDef with_kernels(OpDef def) {
  return std::move(def)
      .template cpu<float>(make<K<float>>)
      .template cpu<double>(make<K<double>>)
      .template cpu<half>(make<K<half>>)
      .template cpu<bfloat16>(make<K<bfloat16>>);
}

Status avg_pool_gradient(GradientContext& g) {
  g.set(0, g.add("AvgPoolGrad", {g.shape_of(g.input(0)), g.grad(0)},
                 g.copy_attrs({"ksize", "strides", "padding", "data_format"})));
  return g.status();
}

// Spreading is linear, and its transpose is the mean again.
Status avg_pool_grad_gradient(GradientContext& g) {
  g.set(1, g.add("AvgPool", {g.grad(0)}, g.copy_attrs({"ksize", "strides", "padding", "data_format"})));
  return g.status();
}

}  // namespace

OpDef avg_pool_op() {
  return with_kernels<AvgPool>(
             OpDef("AvgPool").doc("The mean of each window; cells of the padding do not count.").shape(avg_pool_shape))
      .gradient(avg_pool_gradient);
}
OpDef avg_pool_grad_op() {
  return with_kernels<AvgPoolGrad>(OpDef("AvgPoolGrad")
                                       .doc("The gradient of each window in equal shares to its cells.")
                                       .shape(avg_pool_grad_shape)
                                       .value_inputs({0})
                                       .gradient(avg_pool_grad_gradient));
}

}  // namespace emplace
