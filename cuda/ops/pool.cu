// MaxPool, AvgPool and their gradients. A thread makes one element: of a gradient, by going over the windows that an
// image's cell lies in, in their order. Whose gradient a maximum's is, each window says once.
#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/nn/pool_window.h"
#include "cuda/combine_rows.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// PoolAxis for kernels, of a tensor with so many elements.
struct Axis {
  int64_t size, out, window, stride, before;
  IndexDivisor by_size, by_out, by_stride;
  Axis(const PoolAxis& a, int64_t elements)
      : size(a.size),
        out(a.out),
        window(a.window),
        stride(a.stride),
        before(a.before),
        by_size(size, elements),
        by_out(out, elements),
        by_stride(stride, size + before + 1) {}
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
    return at + before < window ? 0 : by_stride.divide(at + before - window) + 1;
  }
  __device__ __forceinline__ int64_t last(int64_t at) const {
    const int64_t beyond = by_stride.divide(at + before) + 1;
    return beyond < out ? beyond : out;
  }
};
struct Windows {
  Axis h, w;
  int64_t channels;
  IndexDivisor by_channels;
  Windows(const PoolWindow& p, int64_t elements)
      : h(p.h, elements), w(p.w, elements), channels(p.channels), by_channels(channels, elements) {}
  __device__ __forceinline__ int64_t cell(int64_t image, int64_t y, int64_t x, int64_t channel) const {
    return ((image * h.size + y) * w.size + x) * channels + channel;
  }
  /// Number of a window's element.
  __device__ __forceinline__ int64_t result(int64_t image, int64_t oh, int64_t ow, int64_t channel) const {
    return ((image * h.out + oh) * w.out + ow) * channels + channel;
  }
};

/// Where element i is, of an image or of what is made of its windows.
struct Spot {
  int64_t image, y, x, channel;
  __device__ __forceinline__ Spot(const Windows& p, int64_t i, const IndexDivisor& height, const IndexDivisor& width) {
    channel = p.by_channels.split(i);
    x = width.split(i);
    y = height.split(i);
    image = i;
  }
  static __device__ __forceinline__ Spot of_cell(const Windows& p, int64_t i) {
    return {p, i, p.h.by_size, p.w.by_size};
  }
  static __device__ __forceinline__ Spot of_result(const Windows& p, int64_t i) {
    return {p, i, p.h.by_out, p.w.by_out};
  }
};

template <class T>
__global__ void max_kernel(const T* x, T* y, Windows p, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const auto [image, oh, ow, channel] = Spot::of_result(p, i);
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
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    Wide<T> best = lowest_finite<T>();
    for (int64_t k = i * window; k < (i + 1) * window; ++k) {
      const Wide<T> value = widen(x[k]);
      best = value > best ? value : best;
    }
    y[i] = narrow<T>(best);
  }
}

/// For each window, where its first largest cell is: counted within the window.
template <class T>
__global__ void winners_kernel(const T* x, uint32_t* winners, Windows p, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const auto [image, oh, ow, channel] = Spot::of_result(p, i);
    uint32_t place = 0, winner = 0;
    bool first = true;
    Wide<T> best = 0;
    for (int64_t r = p.h.begin(oh); r < p.h.end(oh); ++r) {
      for (int64_t c = p.w.begin(ow); c < p.w.end(ow); ++c, ++place) {
        const Wide<T> value = widen(x[p.cell(image, r, c, channel)]);
        if (!first && !(value > best)) continue;
        best = value;
        winner = place;
        first = false;
      }
    }
    winners[i] = winner;
  }
}

template <class T>
__global__ void max_gradient_kernel(const uint32_t* winners, const T* gradient, T* y, Windows p, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const auto [image, row, column, channel] = Spot::of_cell(p, i);
    Wide<T> sum = 0;
    for (int64_t oh = p.h.first(row); oh < p.h.last(row); ++oh) {
      for (int64_t ow = p.w.first(column); ow < p.w.last(column); ++ow) {
        const int64_t width = p.w.end(ow) - p.w.begin(ow), result = p.result(image, oh, ow, channel);
        if (winners[result] != (row - p.h.begin(oh)) * width + column - p.w.begin(ow)) continue;
        sum = rounded<T>(sum + widen(gradient[result]));
      }
    }
    y[i] = narrow<T>(sum);
  }
}

/// What arrived at the first cell of a window that holds the window's result; 0 if none does.
template <class T>
__global__ void max_pick_kernel(const T* x, const T* pooled, const T* gradient, T* y, Windows p, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const auto [image, oh, ow, channel] = Spot::of_result(p, i);
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
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const auto [image, oh, ow, channel] = Spot::of_result(p, i);
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
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const auto [image, row, column, channel] = Spot::of_cell(p, i);
    W sum = 0;
    for (int64_t oh = p.h.first(row); oh < p.h.last(row); ++oh) {
      for (int64_t ow = p.w.first(column); ow < p.w.last(column); ++ow) {
        const W share = W(1) / static_cast<W>(cells(p, oh, ow));
        sum += widen(gradient[p.result(image, oh, ow, channel)]) * share;
      }
    }
    y[i] = narrow<T>(sum);
  }
}

template <class T>
class Pool final : public Kernel {
 public:
  explicit Pool(const KernelInit& init) : attrs_(PoolAttrs::of(init.attrs)), max_(init.op.starts_with("MaxPool")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const PoolWindow p, pool_window(attrs_, c, max_ ? "MaxPool" : "AvgPool"));
    if (!max_ && p.depth_window > 1) return unimplemented("Non-spatial pooling is not yet supported.");
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    const int64_t n = c.output(0).num_elements();
    if (p.depth_window > 1) {
      return launch(Barriers::kNone, max_depth_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                    c.out<T>(0), p.depth_window, n);
    }
    return launch(Barriers::kNone, max_ ? max_kernel<T> : average_kernel<T>, grid_for(n), kThreads, 0, stream_of(c),
                  c.in<T>(0), c.out<T>(0), Windows(p, n), n);
  }

 private:
  PoolAttrs attrs_;
  bool max_;
};

template <class T>
class MaxPoolGrad final : public Kernel {
 public:
  explicit MaxPoolGrad(const KernelInit& init) : attrs_(PoolAttrs::of(init.attrs)) {}
  Status prepare(KernelContext& c) override {
    winners_bytes_ = scratch_bytes(c.input(2).num_elements() * static_cast<int64_t>(sizeof(uint32_t)));
    return ok_status();
  }
  Workspace workspace() const override { return {winners_bytes_}; }
  Status run(KernelContext& c) override {
    const Shape& image = c.input(0).shape();
    ASSIGN_OR_RETURN(const PoolWindow p, pool_window(attrs_, c, "MaxPoolGrad"));
    if (p.depth_window > 1) return unimplemented("MaxPoolingGrad is not yet supported on the depth dimension.");
    constexpr std::string_view kNames[] = {"orig_output", "grad"};
    for (int i : {1, 2}) {
      if (c.input(i).shape() == p.out) continue;
      return invalid_argument(cat("Expected ", kNames[i - 1], " shape to be ", p.out.to_string(), ", but got ",
                                  c.input(i).shape().to_string()));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    const int64_t n = image.num_elements(), windows = p.out.num_elements();
    if (p.h.window * p.w.window >= int64_t{1} << 32) return unimplemented("windows of so many cells on a GPU");
    ASSIGN_OR_RETURN(Tensor winners, c.allocate_scratch(DType::kUInt32, p.out));
    RETURN_IF_ERROR(launch(Barriers::kNone, winners_kernel<T>, grid_for(windows), kThreads, 0, stream_of(c), c.in<T>(0),
                           winners.data<uint32_t>(), Windows(p, windows), windows));
    return launch(Barriers::kNone, max_gradient_kernel<T>, grid_for(n), kThreads, 0, stream_of(c),
                  static_cast<const uint32_t*>(winners.raw()), c.in<T>(2), c.out<T>(0), Windows(p, n), n);
  }

 private:
  PoolAttrs attrs_;
  int64_t winners_bytes_ = 0;
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
                  c.in<T>(2), c.out<T>(0), Windows(p, n), n);
  }

 private:
  PoolAttrs attrs_;
};

/// The largest cell of each window, and which of the image's (or of all images') it is.
template <class T, class Index>
__global__ void argmax_kernel(const T* x, T* y, Index* places, Windows p, int64_t of_image, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const auto [image, oh, ow, channel] = Spot::of_result(p, i);
    int64_t place = -1;
    Wide<T> best = lowest_finite<T>();
    for (int64_t r = p.h.begin(oh); r < p.h.end(oh); ++r) {
      for (int64_t c = p.w.begin(ow); c < p.w.end(ow); ++c) {
        const int64_t at = p.cell(image, r, c, channel);
        const Wide<T> value = widen(x[at]);
        if (place >= 0 && !(value > best)) continue;
        best = value;
        place = at;
      }
    }
    y[i] = narrow<T>(best);
    places[i] = static_cast<Index>(of_image > 0 && place >= 0 ? place - image * of_image : place);
  }
}

template <class T>
class MaxPoolWithArgmax final : public Kernel {
 public:
  explicit MaxPoolWithArgmax(const KernelInit& init)
      : attrs_(PoolAttrs::of(init.attrs)), by_image_(!init.attrs.flag("include_batch_in_index")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const PoolWindow p, argmax_window(attrs_, c.input(0).shape()));
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    RETURN_IF_ERROR(ensure_output(c, 1, p.out));
    return c.output(1).dtype() == DType::kInt32 ? find<int32_t>(c, p) : find<int64_t>(c, p);
  }

 private:
  template <class Index>
  Status find(KernelContext& c, const PoolWindow& p) const {
    const int64_t n = p.out.num_elements();
    return launch(Barriers::kNone, argmax_kernel<T, Index>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                  c.out<T>(0), c.out<Index>(1), Windows(p, n), by_image_ ? p.h.size * p.w.size * p.channels : 0, n);
  }
  PoolAttrs attrs_;
  bool by_image_;
};

/// Where each gradient goes, among all cells; beyond them what is out of range, which counts for nothing.
__global__ void argmax_keys_kernel(const int64_t* places, uint64_t* keys, IndexDivisor windows, int64_t of_image,
                                   int64_t cells, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t at = places[i] + windows.divide(i) * of_image;
    keys[i] = static_cast<uint64_t>(at < 0 || at >= cells ? cells : at);
  }
}

template <class T>
class MaxPoolGradWithArgmax final : public Kernel {
 public:
  explicit MaxPoolGradWithArgmax(const KernelInit& init)
      : attrs_(PoolAttrs::of(init.attrs)), by_image_(!init.attrs.flag("include_batch_in_index")) {}
  Status prepare(KernelContext& c) override {
    const int64_t n = c.input(2).num_elements();
    workspace_ = sort_scratch_bytes(n) + piece_bytes<T>(n, 1, Combine::kAdd);
    return ok_status();
  }
  Workspace workspace() const override { return {workspace_}; }
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(check_argmax_gradient(attrs_, c));
    const Shape& image = c.input(0).shape();
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    const int64_t n = c.input(2).num_elements(), cells = image.num_elements();
    RETURN_IF_ERROR(enqueue_zeros(stream_of(c), c.output(0).dtype(), c.output(0).raw(), cells));
    if (n == 0 || cells == 0) return ok_status();
    Rows rows{{}, n, cells, 1};
    ASSIGN_OR_RETURN(Tensor keys, c.allocate_scratch(DType::kUInt64, Shape{n}));
    const int64_t images = image.dim(0);
    RETURN_IF_ERROR(launch(Barriers::kNone, argmax_keys_kernel, grid_for(n), kThreads, 0, stream_of(c),
                           c.in<int64_t>(2), keys.data<uint64_t>(), IndexDivisor(n / images, n),
                           by_image_ ? cells / images : 0, cells, n));
    ASSIGN_OR_RETURN(rows.sorted, sort_keys(c, std::move(keys), n, bits_below(static_cast<uint64_t>(cells) + 1)));
    return combine_rows(c, rows, c.in<T>(1), c.out<T>(0), Combine::kAdd);
  }

 private:
  PoolAttrs attrs_;
  bool by_image_;
  int64_t workspace_ = 0;
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
                  c.out<T>(0), Windows(p, n), n);
  }

 private:
  PoolAttrs attrs_;
};

}  // namespace

void add_pool(KernelTable& table) {
  for (auto op : {"MaxPool", "MaxPoolV2"}) table.add(op, kFloating, by_input<0, Pool, float, double, half, bfloat16>);
  table.add("AvgPool", kFloating, by_input<0, Pool, float, double, half, bfloat16>);
  for (auto op : {"MaxPoolGrad", "MaxPoolGradV2"})
    table.add(op, kFloating, by_input<0, MaxPoolGrad, float, double, half, bfloat16>);
  for (auto op : {"MaxPoolGradGrad", "MaxPoolGradGradV2"})
    table.add(op, kFloating, by_input<0, MaxPoolGradGrad, float, double, half, bfloat16>);
  table.add("MaxPoolWithArgmax", kFloating, by_input<0, MaxPoolWithArgmax, float, double, half, bfloat16>);
  table.add("MaxPoolGradWithArgmax", kFloating, by_input<0, MaxPoolGradWithArgmax, float, double, half, bfloat16>);
  table.add("AvgPoolGrad", kFloating, by_output<AvgPoolGrad, float, double, half, bfloat16>);
}

}  // namespace emplace::cuda
