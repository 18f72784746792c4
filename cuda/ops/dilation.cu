// Dilation2D and its gradients: a thread finds the largest sum of a window's cell and its tap of the filter. Gradients
// are sorted by the cell, or the tap, that they go to, and added in their order.
#include "core/ops/nn/dilation_window.h"
#include "cuda/combine_rows.h"

namespace emplace::cuda {
namespace {

struct DilationPlan {
  DilationAxis h, w;
  int64_t depth;
  IndexDivisor by_depth, by_out_w, by_out_h;
  DilationPlan(const DilationWindow& p, int64_t n)
      : h(p.h), w(p.w), depth(p.depth), by_depth(depth, n), by_out_w(w.out, n), by_out_h(h.out, n) {}
};

/// Of one element of the result: where its window is, and what is found there.
template <class T>
struct LargestSum {
  int64_t image, oh, ow, channel;
  int64_t tap = -1;  // none is more than the lowest number
  Wide<T> best = lowest_finite<T>();

  __device__ __forceinline__ LargestSum(const DilationPlan& p, const T* x, const T* filter, int64_t i) {
    channel = p.by_depth.split(i);
    ow = p.by_out_w.split(i);
    oh = p.by_out_h.split(i);
    image = i;
    EMPLACE_ROLLED for (int64_t a = 0; a < p.h.taps; ++a) {
      const int64_t row = p.h.begin(oh) + a * p.h.rate;
      if (row < 0 || row >= p.h.in) continue;
      EMPLACE_ROLLED for (int64_t b = 0; b < p.w.taps; ++b) {
        const int64_t column = p.w.begin(ow) + b * p.w.rate;
        if (column < 0 || column >= p.w.in) continue;
        const int64_t at = a * p.w.taps + b;
        const Wide<T> sum = rounded<T>(widen(x[((image * p.h.in + row) * p.w.in + column) * p.depth + channel]) +
                                       widen(filter[at * p.depth + channel]));
        if (!(sum > best)) continue;
        best = sum;
        tap = at;
      }
    }
  }
};

template <class T>
__global__ void dilation_kernel(const T* x, const T* filter, T* y, DilationPlan p, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) y[i] =
      narrow<T>(LargestSum<T>(p, x, filter, i).best);
}

/// Where each gradient goes: to which element of the image or of the filter. `none`: nowhere.
template <class T>
__global__ void dilation_keys_kernel(const T* x, const T* filter, uint64_t* keys, DilationPlan p, bool to_taps,
                                     uint64_t none, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const LargestSum<T> found(p, x, filter, i);
    if (to_taps) {
      keys[i] = static_cast<uint64_t>((found.tap < 0 ? 0 : found.tap) * p.depth + found.channel);
      continue;
    }
    int64_t row = p.h.begin(found.oh), column = p.w.begin(found.ow);
    if (found.tap >= 0) {
      row += found.tap / p.w.taps * p.h.rate;
      column += found.tap % p.w.taps * p.w.rate;
    }
    row = row < 0 ? 0 : row;
    column = column < 0 ? 0 : column;
    keys[i] = row < p.h.in && column < p.w.in
                  ? static_cast<uint64_t>(((found.image * p.h.in + row) * p.w.in + column) * p.depth + found.channel)
                  : none;
  }
}

template <class T>
class Dilation final : public Kernel {
 public:
  explicit Dilation(const KernelInit& init) : attrs_(init.attrs) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const DilationWindow p, DilationWindow::of_run(attrs_, c));
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    const int64_t n = p.out.num_elements();
    return launch(Barriers::kNone, dilation_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0), c.in<T>(1),
                  c.out<T>(0), DilationPlan(p, n), n);
  }

 private:
  const Attrs attrs_;
};

template <class T>
class DilationGradient final : public Kernel {
 public:
  explicit DilationGradient(const KernelInit& init)
      : attrs_(init.attrs), to_taps_(init.op == "Dilation2DBackpropFilter") {}
  Status prepare(KernelContext& c) override {
    const int64_t n = c.input(2).num_elements();
    workspace_ = sort_scratch_bytes(n) + piece_bytes<T>(n, 1, Combine::kAdd);
    return ok_status();
  }
  Workspace workspace() const override { return {workspace_}; }
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const DilationWindow p, DilationWindow::of_run(attrs_, c));
    const Shape& shape = c.input(to_taps_ ? 1 : 0).shape();
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    const int64_t n = p.out.num_elements(), places = shape.num_elements();
    RETURN_IF_ERROR(enqueue_zeros(stream_of(c), c.output(0).dtype(), c.output(0).raw(), places));
    if (n == 0 || places == 0) return ok_status();
    Rows rows{{}, n, places, 1};
    ASSIGN_OR_RETURN(Tensor keys, c.allocate_scratch(DType::kUInt64, Shape{n}));
    RETURN_IF_ERROR(launch(Barriers::kNone, dilation_keys_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                           c.in<T>(1), keys.data<uint64_t>(), DilationPlan(p, n), to_taps_,
                           static_cast<uint64_t>(places), n));
    ASSIGN_OR_RETURN(rows.sorted, sort_keys(c, std::move(keys), n, bits_below(static_cast<uint64_t>(places) + 1)));
    return combine_rows(c, rows, c.in<T>(2), c.out<T>(0), Combine::kAdd);
  }

 private:
  const Attrs attrs_;
  const bool to_taps_;
  int64_t workspace_ = 0;
};

}  // namespace

void add_dilation(KernelTable& table) {
  table.add("Dilation2D", kFloating, by_input<0, Dilation, float, double, half, bfloat16>);
  for (auto op : {"Dilation2DBackpropInput", "Dilation2DBackpropFilter"})
    table.add(op, kFloating, by_input<0, DilationGradient, float, double, half, bfloat16>);
}

}  // namespace emplace::cuda
