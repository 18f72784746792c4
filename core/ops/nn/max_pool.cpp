// MaxPool, MaxPoolGrad, MaxPoolGradGrad: the largest cell of each window, gradients back to the first largest one,
// whose kernel is in core/ops/nn/max_pool_grad.cpp, and theirs. The V2 of each has ksize and strides as its last
// inputs.
#include <cstring>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/finite.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/with_real.h"
#include "core/ops/nn/max_pool_grad.h"
#include "core/ops/nn/row_pool.h"

namespace emplace {
namespace {

Status max_pool_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, pooled_shape(PoolAttrs::of(c.attrs()), c.input(0), "MaxPool"));
  c.set_output(0, out);
  return ok_status();
}

/// The windows that the last two inputs say; nothing while a value is not known.
Result<std::optional<PoolAttrs>> windows_of_inputs(const ShapeContext& c) {
  const int n = c.num_inputs();
  for (const int i : {n - 2, n - 1}) {
    ASSIGN_OR_RETURN(const Shape sizes, c.with_rank(i, 1));
    RETURN_IF_ERROR(require_dim(dim_or_unknown(sizes, 0), 4).status());
  }
  const Tensor *ksize = c.input_value(n - 2), *strides = c.input_value(n - 1);
  if (!ksize || !strides) return std::optional<PoolAttrs>{};
  return std::optional(with_windows(PoolAttrs::of(c.attrs()), *ksize, *strides));
}

Status max_pool_v2_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape image, c.with_rank(0, 4));
  ASSIGN_OR_RETURN(const auto windows, windows_of_inputs(c));
  if (!windows) return ok_status();
  ASSIGN_OR_RETURN(Shape out, pooled_shape(*windows, image, "MaxPool"));
  c.set_output(0, out);
  return ok_status();
}

Status max_pool_grad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape image, c.with_rank(0, 4));
  c.set_output(0, image);
  return ok_status();
}

Status max_pool_grad_grad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape pooled, pooled_shape(PoolAttrs::of(c.attrs()), c.input(0), "MaxPoolGradGrad"));
  c.set_output(0, pooled);
  RETURN_IF_ERROR(ShapeContext::merge(c.input(0), c.input(2)).status());
  RETURN_IF_ERROR(ShapeContext::merge(c.input(1), pooled).status());
  return ok_status();
}

Status max_pool_grad_grad_v2_shape(ShapeContext& c) {
  RETURN_IF_ERROR(max_pool_v2_shape(c));
  RETURN_IF_ERROR(ShapeContext::merge(c.input(0), c.input(2)).status());
  ASSIGN_OR_RETURN(const auto windows, windows_of_inputs(c));
  if (!windows) return ok_status();
  ASSIGN_OR_RETURN(const Shape pooled, pooled_shape(*windows, c.input(0), "MaxPoolGradGrad"));
  return ShapeContext::merge(c.input(1), pooled).status();
}

// The largest of a window's cells; of nothing but -infinity the lowest finite number, as in TensorFlow.
struct LargestOfWindow {
  template <class T>
  static constexpr bool kVectors = std::is_arithmetic_v<T>;

  template <class V, int kCount, class T>
  EMPLACE_INLINE static void pool(const PoolWindow& p, const T* image, const WindowCells& w, T* out) {
    constexpr int64_t kLanes = sizeof(V) / sizeof(T);
    V best[kCount];
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) best[i] = V{} + Finite<T>::lowest();
    for (int64_t y = w.y; y < w.y_end; ++y) {
      const T* cells = image + (y * p.w.size + w.x) * p.channels;
      for (int64_t x = w.x; x < w.x_end; ++x, cells += p.channels) {
#pragma GCC unroll 4
        for (int i = 0; i < kCount; ++i) {
          V cell;
          std::memcpy(&cell, cells + i * kLanes, sizeof(V));
          best[i] = cell > best[i] ? cell : best[i];
        }
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) {
      const V one = best[i];
      std::memcpy(out + i * kLanes, &one, sizeof(V));
    }
  }
};

// Windows over channels: window i of those in [begin, end) is `window` cells from i * window on.
template <class T>
void depth_windows(const void* cells, void* largest, int64_t window, int64_t begin, int64_t end) {
  const T* in = static_cast<const T*>(cells);
  T* out = static_cast<T*>(largest);
  for (int64_t i = begin; i < end; ++i) {
    T best = Finite<T>::lowest();
    for (int64_t k = i * window; k < (i + 1) * window; ++k) best = in[k] > best ? in[k] : best;
    out[i] = best;
  }
}

struct PoolCode {
  PoolRow row;
  void (*depth)(const void* cells, void* largest, int64_t window, int64_t begin, int64_t end);
};

class MaxPool final : public RowPool {
 public:
  MaxPool(const KernelInit& init, PoolCode code) : RowPool(init, "MaxPool", code.row), depth_(code.depth) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(PoolWindow p, pool_window(attrs_, c, "MaxPool"));
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    if (c.output(0).num_elements() == 0) return ok_status();
    if (p.depth_window == 1) {
      run_rows(c, p);
      return ok_status();
    }
    const double cost = static_cast<double>(p.depth_window);
    c.parallel_for(c.output(0).num_elements(), cost, [&](int64_t begin, int64_t end) {
      depth_(c.input(0).raw(), c.output(0).raw(), p.depth_window, begin, end);
    });
    return ok_status();
  }

 private:
  decltype(PoolCode::depth) const depth_;
};

Result<std::unique_ptr<Kernel>> make_max_pool(const KernelInit& init) {
  const PoolCode code = with_real(init.input_types[0], [](auto zero) {
    using T = decltype(zero);
    return PoolCode{row_of_windows<LargestOfWindow, T>(), depth_windows<T>};
  });
  return std::unique_ptr<Kernel>(new MaxPool(init, code));
}

// Of one image, or of one row of its windows: the cells and what MaxPool made of them, what arrives, what leaves.
struct PoolGradients {
  const void* image;
  const void* pooled;
  const void* grad;
  void* out;
};

// What arrived at the first cell of each window that holds the window's result; 0 if none does.
template <class T>
void pick_gradients(const PoolWindow& p, const PoolGradients& g, int64_t oh) {
  const T* image = static_cast<const T*>(g.image);
  const T* pooled = static_cast<const T*>(g.pooled);
  const T* grad = static_cast<const T*>(g.grad);
  T* out = static_cast<T*>(g.out);
  for (int64_t ow = 0; ow < p.w.out; ++ow) {
    for (int64_t k = 0; k < p.channels; ++k, ++pooled, ++out) {
      *out = T{};
      bool found = false;
      for (int64_t y = p.h.begin(oh); y < p.h.end(oh) && !found; ++y) {
        for (int64_t x = p.w.begin(ow); x < p.w.end(ow) && !found; ++x) {
          const int64_t at = (y * p.w.size + x) * p.channels + k;
          found = image[at] == *pooled;
          if (found) *out = grad[at];
        }
      }
    }
  }
}

class MaxPoolGradGrad final : public Kernel {
 public:
  using Code = void (*)(const PoolWindow& p, const PoolGradients& g, int64_t oh);
  MaxPoolGradGrad(const KernelInit& init, Code code) : attrs_(PoolAttrs::of(init.attrs)), code_(code) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(PoolWindow p, max_pool_grad_grad_window(attrs_, c));
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    if (c.output(0).num_elements() == 0) return ok_status();
    const int64_t image = p.h.size * p.w.size * p.channels, row = p.w.out * p.channels;
    const double cells =
        static_cast<double>(std::min(p.h.window, p.h.size)) * static_cast<double>(std::min(p.w.window, p.w.size));
    c.parallel_for(p.batch * p.h.out, cells * static_cast<double>(row), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t b = r / p.h.out * image;
        const PoolGradients g{element_at(c.input(0), b), element_at(c.input(1), r * row), element_at(c.input(2), b),
                              element_at(c.output(0), r * row)};
        code_(p, g, r % p.h.out);
      }
    });
    return ok_status();
  }

 private:
  const PoolAttrs attrs_;
  const Code code_;
};

Result<std::unique_ptr<Kernel>> make_max_pool_grad_grad(const KernelInit& init) {
  const MaxPoolGradGrad::Code code =
      with_real(init.input_types[0], [](auto zero) -> MaxPoolGradGrad::Code { return pick_gradients<decltype(zero)>; });
  return std::unique_ptr<Kernel>(new MaxPoolGradGrad(init, code));
}

Status max_pool_gradient(GradientContext& g) {
  g.set(0, g.add("MaxPoolGrad", {g.input(0), g.output(0), g.grad(0)},
                 g.copy_attrs({"ksize", "strides", "padding", "explicit_paddings", "data_format"})));
  return g.status();
}

Status max_pool_v2_gradient(GradientContext& g) {
  g.set(0, g.add("MaxPoolGradV2", {g.input(0), g.output(0), g.grad(0), g.input(1), g.input(2)},
                 g.copy_attrs({"padding", "data_format"})));
  return g.status();
}

// Gradients of one pooling for those of the other: neither depends on the images but in what it picks.
Status pooled_gradient(GradientContext& g, std::string_view op) {
  g.set(0, g.zeros_like(g.input(0)));
  g.set(1, g.zeros_like(g.input(1)));
  g.set(2,
        g.add(op, {g.input(0), g.input(1), g.grad(0)}, g.copy_attrs({"ksize", "strides", "padding", "data_format"})));
  return g.status();
}
Status max_pool_grad_gradient(GradientContext& g) { return pooled_gradient(g, "MaxPoolGradGrad"); }
Status max_pool_grad_grad_gradient(GradientContext& g) { return pooled_gradient(g, "MaxPoolGrad"); }
Status max_pool_grad_v2_gradient(GradientContext& g) {
  g.set(0, g.zeros_like(g.input(0)));
  g.set(1, g.zeros_like(g.input(1)));
  g.set(2, g.add("MaxPoolGradGradV2", {g.input(0), g.input(1), g.grad(0), g.input(3), g.input(4)},
                 g.copy_attrs({"padding", "data_format"})));
  return g.status();
}

}  // namespace

OpDef max_pool_op() {
  return OpDef("MaxPool")
      .doc("The largest cell of each window.")
      .shape(max_pool_shape)
      .cpu(kRealNumbers, make_max_pool)
      .gradient(max_pool_gradient);
}
OpDef max_pool_v2_op() {
  return OpDef("MaxPoolV2")
      .doc("The largest cell of each window, whose sizes and strides are inputs.")
      .shape(max_pool_v2_shape)
      .value_inputs({1, 2})
      .cpu(kRealNumbers, make_max_pool)
      .gradient(max_pool_v2_gradient);
}
OpDef max_pool_grad_op() {
  return OpDef("MaxPoolGrad")
      .doc("The gradient of each window, added to the first of its largest cells.")
      .shape(max_pool_grad_shape)
      .cpu(kRealNumbers, make_max_pool_grad)
      .gradient(max_pool_grad_gradient);
}
OpDef max_pool_grad_v2_op() {
  return OpDef("MaxPoolGradV2")
      .doc("The gradient of each window, added to the first of its largest cells; sizes and strides are inputs.")
      .shape(max_pool_grad_shape)
      .cpu(kRealNumbers, make_max_pool_grad)
      .gradient(max_pool_grad_v2_gradient);
}
OpDef max_pool_grad_grad_op() {
  return OpDef("MaxPoolGradGrad")
      .doc("Of an image's gradient, the cell that MaxPoolGrad sends each window's gradient to.")
      .shape(max_pool_grad_grad_shape)
      .cpu(kRealNumbers, make_max_pool_grad_grad)
      .gradient(max_pool_grad_grad_gradient);
}
OpDef max_pool_grad_grad_v2_op() {
  return OpDef("MaxPoolGradGradV2")
      .doc("Of an image's gradient, the cell that MaxPoolGradV2 sends each window's gradient to.")
      .shape(max_pool_grad_grad_v2_shape)
      .value_inputs({3, 4})
      .cpu(kRealNumbers, make_max_pool_grad_grad);
}

}  // namespace emplace
