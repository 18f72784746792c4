// LRN, LRNGrad: local response normalisation; a thread makes an element.
#include "core/base/cat.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

struct Response {
  int64_t radius;
  float bias, alpha, beta;
  __device__ int64_t first(int64_t channel) const { return channel > radius ? channel - radius : 0; }
  __device__ int64_t end(int64_t channel, int64_t channels) const {
    return channel + radius + 1 < channels ? channel + radius + 1 : channels;
  }
  /// bias + alpha * sum of x^2 over the channels around d.
  template <class T>
  __device__ float norm(const T* x, int64_t d, int64_t channels) const {
    float sum = 0;
    for (int64_t k = first(d); k < end(d, channels); ++k)
      sum += static_cast<float>(widen(x[k])) * static_cast<float>(widen(x[k]));
    return bias + alpha * sum;
  }
};

template <class T>
__global__ void lrn_kernel(const T* x, T* y, Response r, int64_t channels, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t d = i % channels;
    y[i] = narrow<T>(widen(x[i]) * std::pow(r.norm(x + (i - d), d, channels), -r.beta));
  }
}

// With y_j = x_j n_j^-beta: dx_k = dy_k n_k^-beta - 2 alpha beta x_k sum_j dy_j y_j / n_j over the j around k.
template <class T>
__global__ void lrn_gradient_kernel(const T* dy, const T* x, const T* y, T* dx, Response r, int64_t channels,
                                    int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t k = i % channels, at = i - k;
    float around = 0;
    for (int64_t j = r.first(k); j < r.end(k, channels); ++j)
      around += widen(dy[at + j]) * widen(y[at + j]) / r.norm(x + at, j, channels);
    const float own = widen(dy[i]) * std::pow(r.norm(x + at, k, channels), -r.beta);
    dx[i] = narrow<T>(own - 2 * r.alpha * r.beta * widen(x[i]) * around);
  }
}

template <class T>
class Lrn final : public Kernel {
 public:
  explicit Lrn(const KernelInit& init)
      : response_{init.attrs.integer("depth_radius"), init.attrs.number("bias"), init.attrs.number("alpha"),
                  init.attrs.number("beta")},
        gradient_(init.op == "LRNGrad") {}
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(gradient_ ? 1 : 0).shape();
    if (response_.radius < 0 || response_.radius > INT32_MAX) {
      return invalid_argument(cat("depth_radius = ", response_.radius, " larger than int max"));
    }
    if (shape.rank() != 4) return invalid_argument("in must be 4-dimensional");
    for (int i = 1; gradient_ && i < 3; ++i) {
      if (!(c.input(i).shape() == c.input(0).shape()))
        return invalid_argument("input_grads, input_image, and out_image should have the same shape");
    }
    if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, shape));
    const int64_t n = shape.num_elements(), channels = shape.dim(3);
    if (gradient_) {
      return launch(Barriers::kNone, lrn_gradient_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                    c.in<T>(1), c.in<T>(2), c.out<T>(0), response_, channels, n);
    }
    return launch(Barriers::kNone, lrn_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0), c.out<T>(0),
                  response_, channels, n);
  }

 private:
  Response response_;
  bool gradient_;
};

}  // namespace

void add_lrn(KernelTable& table) {
  for (auto op : {"LRN", "LRNGrad"})
    table.add(op, DTypeSet{DType::kFloat, DType::kHalf}, by_input<0, Lrn, float, half>);
}

}  // namespace emplace::cuda
