// MaxPool, MaxPoolGrad, MaxPoolGradGrad: the largest cell of each window, gradients back to the first largest one, and
// theirs.
#include <cstring>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/finite.h"
#include "core/ops/kit/isa.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/nn/row_pool.h"

namespace emplace {
namespace {

Status max_pool_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, pooled_shape(PoolAttrs::of(c.attrs()), c.input(0), "MaxPool"));
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

// The largest of a window's cells; of nothing but -infinity the lowest finite number, as in TensorFlow.
struct LargestOfWindow {
  template <class T>
  static constexpr bool kVectors = std::is_arithmetic_v<T>;

  template <class V, class T>
  EMPLACE_INLINE static void pool(const PoolWindow& p, const T* image, const WindowCells& w, T* out) {
    V best = V{} + Finite<T>::lowest();
    for (int64_t y = w.y; y < w.y_end; ++y) {
      const T* cells = image + y * p.w.size * p.channels;
      for (int64_t x = w.x; x < w.x_end; ++x) {
        V cell;
        std::memcpy(&cell, cells + x * p.channels, sizeof(V));
        best = cell > best ? cell : best;
      }
    }
    std::memcpy(out, &best, sizeof(V));
  }
};

template <class T>
void pool_depth(KernelContext& c, const PoolWindow& p) {
  const T* in = c.in<T>(0);
  T* out = c.out<T>(0);
  c.parallel_for(c.output(0).num_elements(), static_cast<double>(p.depth_window), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T best = Finite<T>::lowest();
      for (int64_t k = i * p.depth_window; k < (i + 1) * p.depth_window; ++k) best = in[k] > best ? in[k] : best;
      out[i] = best;
    }
  });
}

template <class T>
class MaxPool final : public RowPool<T> {
 public:
  explicit MaxPool(const KernelInit& init) : RowPool<T>(init, "MaxPool", row_of_windows<LargestOfWindow, T>()) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(PoolWindow p, PoolWindow::of(this->attrs_, c.input(0).shape(), "MaxPool"));
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    if (c.output(0).num_elements() == 0) return ok_status();
    if (p.depth_window > 1)
      pool_depth<T>(c, p);
    else
      this->run_rows(c, p);
    return ok_status();
  }
};

// What a window found per channel: its largest number and which of its cells, counted by rows, held it first.
template <class T>
struct Largest {
  explicit Largest(int64_t channels) : value(static_cast<size_t>(channels)), cell(static_cast<size_t>(channels)) {}
  ScratchVector<T> value;
  ScratchVector<int32_t> cell;
};

// One image: each window adds its gradient to the first of its largest cells.
template <class T>
EMPLACE_INLINE void route_body(const PoolWindow& p, const T* image, const T* grad, T* out, Largest<T>& largest) {
  T* best = largest.value.data();
  int32_t* chosen = largest.cell.data();
  const int64_t channels = p.channels;
  for (int64_t oh = 0; oh < p.h.out; ++oh) {
    for (int64_t ow = 0; ow < p.w.out; ++ow, grad += channels) {
      const int64_t x_begin = p.w.begin(ow), x_end = p.w.end(ow);
      int32_t n = 0;
      for (int64_t y = p.h.begin(oh); y < p.h.end(oh); ++y) {
        for (int64_t x = x_begin; x < x_end; ++x, ++n) {
          const T* cell = image + (y * p.w.size + x) * channels;
          if (n == 0) {
            std::copy_n(cell, channels, best);
            std::fill_n(chosen, channels, 0);
            continue;
          }
#pragma GCC ivdep
          for (int64_t k = 0; k < channels; ++k) {
            const bool larger = cell[k] > best[k];
            best[k] = larger ? cell[k] : best[k];
            chosen[k] = larger ? n : chosen[k];
          }
        }
      }
      n = 0;
      for (int64_t y = p.h.begin(oh); y < p.h.end(oh); ++y) {
        for (int64_t x = x_begin; x < x_end; ++x, ++n) {
          T* to = out + (y * p.w.size + x) * channels;
#pragma GCC ivdep
          for (int64_t k = 0; k < channels; ++k) {
            const T sum = add(to[k], grad[k]);
            to[k] = chosen[k] == n ? sum : to[k];
          }
        }
      }
    }
  }
}
template <class T>
void route_base(const PoolWindow& p, const T* image, const T* grad, T* out, Largest<T>& largest) {
  route_body(p, image, grad, out, largest);
}
template <class T>
EMPLACE_TARGET_V3 void route_v3(const PoolWindow& p, const T* image, const T* grad, T* out, Largest<T>& largest) {
  route_body(p, image, grad, out, largest);
}
template <class T>
EMPLACE_TARGET_V4 void route_v4(const PoolWindow& p, const T* image, const T* grad, T* out, Largest<T>& largest) {
  route_body(p, image, grad, out, largest);
}
template <class T>
using Route = void (*)(const PoolWindow&, const T*, const T*, T*, Largest<T>&);
template <class T>
Route<T> route_gradients() {
  if constexpr (!std::is_floating_point_v<T>)
    return route_base<T>;
  else
    return for_isa<Route<T>>(route_base<T>, route_v3<T>, route_v4<T>);
}

// Where windows do not overlap, each cell is written once: the gradient, or 0. A cell is one number or a vector of
// them, V; its number in the window is an N. The window's first cell is at `image` and at `out`.
template <class V, class N, class T>
EMPLACE_INLINE void route_window(int64_t rows, int64_t cols, int64_t row_step, int64_t cell_step, const T* image,
                                 const T* grad, T* out) {
  V best, gradient;
  N chosen{}, n{};
  std::memcpy(&best, image, sizeof(V));
  for (int64_t y = 0; y < rows; ++y) {
    for (int64_t x = 0; x < cols; ++x, n += 1) {
      V cell;
      std::memcpy(&cell, image + y * row_step + x * cell_step, sizeof(V));
      const auto larger = cell > best;
      best = larger ? cell : best;
      chosen = larger ? n : chosen;
    }
  }
  std::memcpy(&gradient, grad, sizeof(V));
  gradient = add(V{}, gradient);
  n = N{};
  for (int64_t y = 0; y < rows; ++y) {
    for (int64_t x = 0; x < cols; ++x, n += 1) {
      const V cell = chosen == n ? gradient : V{};
      std::memcpy(out + y * row_step + x * cell_step, &cell, sizeof(V));
    }
  }
}

// All channels of one window.
template <class T, int64_t kBytes>
EMPLACE_INLINE void route_channels(int64_t rows, int64_t cols, int64_t row_step, int64_t channels, const T* image,
                                   const T* grad, T* out) {
  int64_t k = 0;
  if constexpr (std::is_floating_point_v<T>) {
    using Integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    typedef T Vector __attribute__((vector_size(kBytes)));
    typedef Integer Numbers __attribute__((vector_size(kBytes)));
    constexpr int64_t kLanes = kBytes / sizeof(T);
    for (; k + kLanes <= channels; k += kLanes) {
      route_window<Vector, Numbers>(rows, cols, row_step, channels, image + k, grad + k, out + k);
    }
  }
  for (; k < channels; ++k) route_window<T, int64_t>(rows, cols, row_step, channels, image + k, grad + k, out + k);
}

// One row of windows of an image, and the cells between it and the row before that no window covers.
template <class T, int64_t kBytes>
EMPLACE_INLINE void route_row_body(const PoolWindow& p, const T* image, const T* grad, T* out, int64_t oh) {
  auto clear = [&](int64_t y, int64_t first, int64_t last) {
    if (first < last) std::fill_n(out + (y * p.w.size + first) * p.channels, (last - first) * p.channels, T{});
  };
  for (int64_t y = oh > 0 ? p.h.end(oh - 1) : 0; y < p.h.begin(oh); ++y) clear(y, 0, p.w.size);
  for (int64_t y = p.h.end(oh); oh + 1 == p.h.out && y < p.h.size; ++y) clear(y, 0, p.w.size);
  const bool gaps = p.w.stride > p.w.window;
  for (int64_t y = p.h.begin(oh); y < p.h.end(oh); ++y) {
    for (int64_t ow = 1; gaps && ow < p.w.out; ++ow) clear(y, p.w.end(ow - 1), p.w.begin(ow));
    clear(y, 0, p.w.begin(0));
    clear(y, p.w.end(p.w.out - 1), p.w.size);
  }
  for (int64_t ow = 0; ow < p.w.out; ++ow, grad += p.channels) {
    const int64_t rows = p.h.end(oh) - p.h.begin(oh), cols = p.w.end(ow) - p.w.begin(ow),
                  row_step = p.w.size * p.channels;
    const int64_t at = p.h.begin(oh) * row_step + p.w.begin(ow) * p.channels;
    route_channels<T, kBytes>(rows, cols, row_step, p.channels, image + at, grad, out + at);
  }
}
template <class T>
void route_row_base(const PoolWindow& p, const T* image, const T* grad, T* out, int64_t oh) {
  route_row_body<T, 16>(p, image, grad, out, oh);
}
template <class T>
EMPLACE_TARGET_V3 void route_row_v3(const PoolWindow& p, const T* image, const T* grad, T* out, int64_t oh) {
  route_row_body<T, 32>(p, image, grad, out, oh);
}
template <class T>
EMPLACE_TARGET_V4 void route_row_v4(const PoolWindow& p, const T* image, const T* grad, T* out, int64_t oh) {
  route_row_body<T, 64>(p, image, grad, out, oh);
}
template <class T>
using RouteRow = void (*)(const PoolWindow&, const T*, const T*, T*, int64_t);
// Null: such types are pooled too seldom to be worth a second way.
template <class T>
RouteRow<T> route_row() {
  if constexpr (!std::is_floating_point_v<T>)
    return nullptr;
  else
    return for_isa<RouteRow<T>>(route_row_base<T>, route_row_v3<T>, route_row_v4<T>);
}

template <class T>
class MaxPoolGrad final : public Kernel {
 public:
  explicit MaxPoolGrad(const KernelInit& init) : attrs_(PoolAttrs::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    const Shape& image = c.input(0).shape();
    ASSIGN_OR_RETURN(PoolWindow p, PoolWindow::of(attrs_, image, "MaxPoolGrad"));
    if (p.depth_window > 1) return unimplemented("MaxPoolingGrad is not yet supported on the depth dimension.");
    constexpr std::string_view kNames[] = {"orig_output", "grad"};
    for (int i : {1, 2}) {
      if (c.input(i).shape() == p.out) continue;
      return invalid_argument(cat("Expected ", kNames[i - 1], " shape to be ", p.out.to_string(), ", but got ",
                                  c.input(i).shape().to_string()));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    if (c.output(0).num_elements() == 0) return ok_status();
    const T* in = c.in<T>(0);
    const T* grad = c.in<T>(2);
    T* out = c.out<T>(0);
    int64_t cells = p.h.size * p.w.size * p.channels, row = p.w.out * p.channels, windows = p.h.out * row;
    if (route_row_ && windows > 0 && p.h.stride >= p.h.window && p.w.stride >= p.w.window) {
      double cost = 0.5 * static_cast<double>(cells) / static_cast<double>(p.h.out);
      c.parallel_for(p.batch * p.h.out, cost, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          int64_t b = r / p.h.out;
          route_row_(p, in + b * cells, grad + r * row, out + b * cells, r % p.h.out);
        }
      });
      return ok_status();
    }
    c.parallel_for(p.batch, 1.0 * static_cast<double>(cells), [&](int64_t begin, int64_t end) {
      Largest<T> largest(p.channels);
      for (int64_t b = begin; b < end; ++b) {
        std::fill_n(out + b * cells, cells, T{});
        route_(p, in + b * cells, grad + b * windows, out + b * cells, largest);
      }
    });
    return ok_status();
  }

 private:
  PoolAttrs attrs_;
  Route<T> route_ = route_gradients<T>();
  RouteRow<T> route_row_ = route_row<T>();
};

// What arrived at the first cell of each window that holds the window's result; 0 if none does.
template <class T>
void pick_gradients(const PoolWindow& p, const T* image, const T* pooled, const T* grad, T* out, int64_t oh) {
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

template <class T>
class MaxPoolGradGrad final : public Kernel {
 public:
  explicit MaxPoolGradGrad(const KernelInit& init) : attrs_(PoolAttrs::of(init.attrs)) {}
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
        pick_gradients(p, c.in<T>(0) + b, c.in<T>(1) + r * row, c.in<T>(2) + b, c.out<T>(0) + r * row, r % p.h.out);
      }
    });
    return ok_status();
  }

 private:
  PoolAttrs attrs_;
};

template <template <class> class K>
OpDef with_kernels(OpDef def) {
  return std::move(def)
      .template cpu<float>(make<K<float>>)
      .template cpu<double>(make<K<double>>)
      .template cpu<half>(make<K<half>>)
      .template cpu<bfloat16>(make<K<bfloat16>>)
      .template cpu<int8_t>(make<K<int8_t>>)
      .template cpu<int16_t>(make<K<int16_t>>)
      .template cpu<int32_t>(make<K<int32_t>>)
      .template cpu<int64_t>(make<K<int64_t>>)
      .template cpu<uint8_t>(make<K<uint8_t>>)
      .template cpu<uint16_t>(make<K<uint16_t>>)
      .template cpu<uint32_t>(make<K<uint32_t>>)
      .template cpu<uint64_t>(make<K<uint64_t>>);
}

Status max_pool_gradient(GradientContext& g) {
  g.set(0, g.add("MaxPoolGrad", {g.input(0), g.output(0), g.grad(0)},
                 g.copy_attrs({"ksize", "strides", "padding", "explicit_paddings", "data_format"})));
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

}  // namespace

OpDef max_pool_op() {
  return with_kernels<MaxPool>(OpDef("MaxPool").doc("The largest cell of each window.").shape(max_pool_shape))
      .gradient(max_pool_gradient);
}
OpDef max_pool_grad_op() {
  return with_kernels<MaxPoolGrad>(OpDef("MaxPoolGrad")
                                       .doc("The gradient of each window, added to the first of its largest cells.")
                                       .shape(max_pool_grad_shape))
      .gradient(max_pool_grad_gradient);
}
OpDef max_pool_grad_grad_op() {
  return with_kernels<MaxPoolGradGrad>(
             OpDef("MaxPoolGradGrad")
                 .doc("Of an image's gradient, the cell that MaxPoolGrad sends each window's gradient to.")
                 .shape(max_pool_grad_grad_shape))
      .gradient(max_pool_grad_grad_gradient);
}

}  // namespace emplace
