// MaxPool, AvgPool and their gradients. A thread makes one element: of a gradient, by going over the windows that an
// image's cell lies in, in their order.
#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/nn/pool_window.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// PoolAxis for kernels.
struct Axis {
  int64_t size, out, window, stride, before;
  explicit Axis(const PoolAxis& a) : size(a.size), out(a.out), window(a.window), stride(a.stride), before(a.before) {}
  __device__ __forceinline__ int64_t begin(int64_t o) const {
    const int64_t start = o * stride - before;
    return start > 0 ? start : 0;
  }
  __device__ __forceinline__ int64_t end(int64_t o) const {
    const int64_t start = o * stride - before;
    return start > size - window ? size : start + window;
  }
  /// Windows [first, last) hold cell `at`.
  __device__ __forceinline__ int64_t first(int64_t at) const {
    return at + before < window ? 0 : (at + before - window) / stride + 1;
  }
  __device__ __forceinline__ int64_t last(int64_t at) const {
    const int64_t beyond = (at + before) / stride + 1;
    return beyond < out ? beyond : out;
  }
};
struct Windows {
  Axis h, w;
  int64_t channels;
  explicit Windows(const PoolWindow& p) : h(p.h), w(p.w), channels(p.channels) {}
  __device__ __forceinline__ int64_t cell(int64_t image, int64_t y, int64_t x, int64_t channel) const {
    return ((image * h.size + y) * w.size + x) * channels + channel;
  }
};

template <class T>
__global__ void max_kernel(const T* x, T* y, Windows p, int64_t n) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t channel = i % p.channels, ow = i / p.channels % p.w.out, oh = i / p.channels / p.w.out % p.h.out;
    const int64_t image = i / p.channels / p.w.out / p.h.out;
    Wide<T> best = lowest_finite<T>();  // also in place of -infinity, as in TensorFlow
    for (int64_t r = p.h.begin(oh); r < p.h.end(oh); ++r) {
      for (int64_t c = p.w.begin(ow); c < p.w.end(ow); ++c) {
        const Wide<T> value = widen(x[p.cell(image, r, c, channel)]);
        best = value > best ? value : best;
      }
    }
    y[i] = narrow<T>(best);
  }
}

template <class T>
__global__ void max_depth_kernel(const T* x, T* y, int64_t window, int64_t n) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    Wide<T> best = lowest_finite<T>();
    for (int64_t k = i * window; k < (i + 1) * window; ++k) {
      const Wide<T> value = widen(x[k]);
      best = value > best ? value : best;
    }
    y[i] = narrow<T>(best);
  }
}

/// The first of the largest cells of a window; -1 if it has none.
template <class T>
__device__ int64_t largest_cell(const T* x, const Windows& p, int64_t image, int64_t oh, int64_t ow, int64_t channel) {
  int64_t best = -1;
  for (int64_t r = p.h.begin(oh); r < p.h.end(oh); ++r) {
    for (int64_t c = p.w.begin(ow); c < p.w.end(ow); ++c) {
      const int64_t at = p.cell(image, r, c, channel);
      if (best < 0 || widen(x[at]) > widen(x[best])) best = at;
    }
  }
  return best;
}

template <class T>
__global__ void max_gradient_kernel(const T* x, const T* gradient, T* y, Windows p, int64_t n) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t channel = i % p.channels, column = i / p.channels % p.w.size,
                  row = i / p.channels / p.w.size % p.h.size;
    const int64_t image = i / p.channels / p.w.size / p.h.size;
    Wide<T> sum = 0;
    for (int64_t oh = p.h.first(row); oh < p.h.last(row); ++oh) {
      for (int64_t ow = p.w.first(column); ow < p.w.last(column); ++ow) {
        if (largest_cell(x, p, image, oh, ow, channel) != i) continue;
        sum = rounded<T>(sum + widen(gradient[((image * p.h.out + oh) * p.w.out + ow) * p.channels + channel]));
      }
    }
    y[i] = narrow<T>(sum);
  }
}

/// What arrived at the first cell of a window that holds the window's result; 0 if none does.
template <class T>
__global__ void max_pick_kernel(const T* x, const T* pooled, const T* gradient, T* y, Windows p, int64_t n) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t channel = i % p.channels, ow = i / p.channels % p.w.out, oh = i / p.channels / p.w.out % p.h.out;
    const int64_t image = i / p.channels / p.w.out / p.h.out;
    const Wide<T> wanted = widen(pooled[i]);
    int64_t found = -1;
    for (int64_t r = p.h.begin(oh); r < p.h.end(oh) && found < 0; ++r) {
      for (int64_t c = p.w.begin(ow); c < p.w.end(ow) && found < 0; ++c) {
        const int64_t at = p.cell(image, r, c, channel);
        if (widen(x[at]) == wanted) found = at;
      }
    }
    y[i] = found < 0 ? narrow<T>(Wide<T>(0)) : gradient[found];
  }
}

__device__ __forceinline__ int64_t cells(const Windows& p, int64_t oh, int64_t ow) {
  const int64_t height = p.h.end(oh) - p.h.begin(oh), width = p.w.end(ow) - p.w.begin(ow);
  return height > 0 && width > 0 ? height * width : 0;
}

template <class T>
__global__ void average_kernel(const T* x, T* y, Windows p, int64_t n) {
  using W = Wide<T>;
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t channel = i % p.channels, ow = i / p.channels % p.w.out, oh = i / p.channels / p.w.out % p.h.out;
    const int64_t image = i / p.channels / p.w.out / p.h.out;
    W sum = 0;
    for (int64_t r = p.h.begin(oh); r < p.h.end(oh); ++r) {
      for (int64_t c = p.w.begin(ow); c < p.w.end(ow); ++c) sum += widen(x[p.cell(image, r, c, channel)]);
    }
    y[i] = narrow<T>(sum / static_cast<W>(cells(p, oh, ow)));
  }
}

template <class T>
__global__ void average_gradient_kernel(const T* gradient, T* y, Windows p, int64_t n) {
  using W = Wide<T>;
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t channel = i % p.channels, column = i / p.channels % p.w.size,
                  row = i / p.channels / p.w.size % p.h.size;
    const int64_t image = i / p.channels / p.w.size / p.h.size;
    W sum = 0;
    for (int64_t oh = p.h.first(row); oh < p.h.last(row); ++oh) {
      for (int64_t ow = p.w.first(column); ow < p.w.last(column); ++ow) {
        const W share = W(1) / static_cast<W>(cells(p, oh, ow));
        sum += widen(gradient[((image * p.h.out + oh) * p.w.out + ow) * p.channels + channel]) * share;
      }
    }
    y[i] = narrow<T>(sum);
  }
}

template <class T>
class Pool final : public Kernel {
 public:
  explicit Pool(const KernelInit& init) : attrs_(PoolAttrs::of(init.attrs)), max_(init.op == "MaxPool") {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const PoolWindow p, PoolWindow::of(attrs_, c.input(0).shape(), max_ ? "MaxPool" : "AvgPool"));
    if (!max_ && p.depth_window > 1) return unimplemented("Non-spatial pooling is not yet supported.");
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    const int64_t n = c.output(0).num_elements();
    if (p.depth_window > 1) {
      return launch(Barriers::kNone, max_depth_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                    c.out<T>(0), p.depth_window, n);
    }
    return launch(Barriers::kNone, max_ ? max_kernel<T> : average_kernel<T>, grid_for(n), kThreads, 0, stream_of(c),
                  c.in<T>(0), c.out<T>(0), Windows(p), n);
  }

 private:
  PoolAttrs attrs_;
  bool max_;
};

template <class T>
class MaxPoolGrad final : public Kernel {
 public:
  explicit MaxPoolGrad(const KernelInit& init) : attrs_(PoolAttrs::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    const Shape& image = c.input(0).shape();
    ASSIGN_OR_RETURN(const PoolWindow p, PoolWindow::of(attrs_, image, "MaxPoolGrad"));
    if (p.depth_window > 1) return unimplemented("MaxPoolingGrad is not yet supported on the depth dimension.");
    constexpr std::string_view kNames[] = {"orig_output", "grad"};
    for (int i : {1, 2}) {
      if (c.input(i).shape() == p.out) continue;
      return invalid_argument(cat("Expected ", kNames[i - 1], " shape to be ", p.out.to_string(), ", but got ",
                                  c.input(i).shape().to_string()));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    const int64_t n = image.num_elements();
    return launch(Barriers::kNone, max_gradient_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                  c.in<T>(2), c.out<T>(0), Windows(p), n);
  }

 private:
  PoolAttrs attrs_;
};

template <class T>
class MaxPoolGradGrad final : public Kernel {
 public:
  explicit MaxPoolGradGrad(const KernelInit& init) : attrs_(PoolAttrs::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const PoolWindow p, max_pool_grad_grad_window(attrs_, c));
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    const int64_t n = c.output(0).num_elements();
    return launch(Barriers::kNone, max_pick_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0), c.in<T>(1),
                  c.in<T>(2), c.out<T>(0), Windows(p), n);
  }

 private:
  PoolAttrs attrs_;
};

template <class T>
class AvgPoolGrad final : public Kernel {
 public:
  explicit AvgPoolGrad(const KernelInit& init) : attrs_(PoolAttrs::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const Shape image, shape_of_values(c.input(0)));
    ASSIGN_OR_RETURN(const PoolWindow p, PoolWindow::of(attrs_, image, "AvgPoolGrad"));
    if (p.depth_window > 1) return unimplemented("Non-spatial pooling is not yet supported.");
    if (!(c.input(1).shape() == p.out)) {
      return invalid_argument(
          cat("Expected grad shape to be ", p.out.to_string(), ", but got ", c.input(1).shape().to_string()));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    const int64_t n = image.num_elements();
    return launch(Barriers::kNone, average_gradient_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(1),
                  c.out<T>(0), Windows(p), n);
  }

 private:
  PoolAttrs attrs_;
};

}  // namespace

void add_pool(KernelTable& table) {
  table.add("MaxPool", kFloating, by_input<0, Pool, float, double, half, bfloat16>);
  table.add("AvgPool", kFloating, by_input<0, Pool, float, double, half, bfloat16>);
  table.add("MaxPoolGrad", kFloating, by_input<0, MaxPoolGrad, float, double, half, bfloat16>);
  table.add("MaxPoolGradGrad", kFloating, by_input<0, MaxPoolGradGrad, float, double, half, bfloat16>);
  table.add("AvgPoolGrad", kFloating, by_output<AvgPoolGrad, float, double, half, bfloat16>);
}

}  // namespace emplace::cuda
