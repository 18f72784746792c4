// ResizeBilinear, ResizeNearestNeighbor and their gradients. A thread makes an element; of a gradient, by going over
// all output pixels that an input pixel can have gone into, in their order.
#include "core/base/cat.h"
#include "core/ops/image/resize.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// One axis of a resized image: where pixel `i` of the output lies in the input.
struct Scale {
  int64_t in, out;
  float factor;
  bool half_pixel, align;

  static Scale of(const ResizeAttrs& attrs, int64_t in, int64_t out) {
    return {in, out, attrs.scale(in, out), attrs.half_pixel_centers, attrs.align_corners};
  }
  __device__ int64_t nearest(int64_t i) const {
    const float at = (static_cast<float>(i) + (half_pixel ? 0.5f : 0.0f)) * factor;
    const auto pixel = static_cast<int64_t>(align ? std::round(at) : std::floor(at));
    return pixel < in ? pixel : in - 1;
  }
  /// Between which two pixels, and how far from the lower one.
  struct Between {
    int64_t lower, upper;
    float part;
  };
  __device__ Between between(int64_t i) const {
    const float at = half_pixel ? (static_cast<float>(i) + 0.5f) * factor - 0.5f : static_cast<float>(i) * factor;
    const float floor = std::floor(at);
    auto lower = static_cast<int64_t>(floor), upper = static_cast<int64_t>(std::ceil(at));
    lower = lower < 0 ? 0 : lower < in ? lower : in - 1;
    return {lower, upper < in ? upper : in - 1, at - floor};
  }
  /// Output pixels [first, last) hold all that can have been made from input pixel `at` or its neighbours: all of them
  /// at the edges, and where one input pixel makes the whole axis (`factor` is 0 then).
  __device__ int64_t first(int64_t at) const {
    return at <= 1 ? 0 : output_pixel((static_cast<float>(at) - 2.0f) / factor - 1.0f);
  }
  __device__ int64_t last(int64_t at) const {
    return at + 2 >= in ? out : output_pixel((static_cast<float>(at) + 2.0f) / factor + 2.0f);
  }

  __device__ int64_t output_pixel(float i) const {
    return i <= 0.0f ? 0 : i < static_cast<float>(out) ? static_cast<int64_t>(i) : out;
  }
};

struct Resizing {
  Scale y, x;
  int64_t channels;
};

template <class T>
__global__ void bilinear_kernel(const T* image, float* out, Resizing r, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t k = i % r.channels, column = i / r.channels % r.x.out, row = i / r.channels / r.x.out % r.y.out;
    const T* from = image + i / r.channels / r.x.out / r.y.out * r.y.in * r.x.in * r.channels + k;
    const auto y = r.y.between(row), x = r.x.between(column);
    auto pixel = [&](int64_t at_y, int64_t at_x) {
      return static_cast<float>(widen(from[(at_y * r.x.in + at_x) * r.channels]));
    };
    const float top = pixel(y.lower, x.lower), bottom = pixel(y.upper, x.lower);
    const float upper = top + (pixel(y.lower, x.upper) - top) * x.part,
                lower = bottom + (pixel(y.upper, x.upper) - bottom) * x.part;
    out[i] = upper + (lower - upper) * y.part;
  }
}

template <class T>
__global__ void bilinear_gradient_kernel(const float* gradient, T* image, Resizing r, int64_t n) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t k = i % r.channels, column = i / r.channels % r.x.in, row = i / r.channels / r.x.in % r.y.in;
    const float* from = gradient + i / r.channels / r.x.in / r.y.in * r.y.out * r.x.out * r.channels + k;
    Sum sum = 0;
    for (int64_t oy = r.y.first(row); oy < r.y.last(row); ++oy) {
      const auto y = r.y.between(oy);
      if (y.lower != row && y.upper != row) continue;
      for (int64_t ox = r.x.first(column); ox < r.x.last(column); ++ox) {
        const auto x = r.x.between(ox);
        const float g = from[(oy * r.x.out + ox) * r.channels];
        if (y.lower == row && x.lower == column) sum += static_cast<Sum>(g * ((1 - y.part) * (1 - x.part)));
        if (y.lower == row && x.upper == column) sum += static_cast<Sum>(g * ((1 - y.part) * x.part));
        if (y.upper == row && x.lower == column) sum += static_cast<Sum>(g * (y.part * (1 - x.part)));
        if (y.upper == row && x.upper == column) sum += static_cast<Sum>(g * (y.part * x.part));
      }
    }
    image[i] = narrow<T>(static_cast<Wide<T>>(sum));
  }
}

template <class T>
__global__ void nearest_kernel(const T* image, T* out, Resizing r, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t k = i % r.channels, column = i / r.channels % r.x.out, row = i / r.channels / r.x.out % r.y.out;
    const int64_t batch = i / r.channels / r.x.out / r.y.out;
    out[i] = image[((batch * r.y.in + r.y.nearest(row)) * r.x.in + r.x.nearest(column)) * r.channels + k];
  }
}

template <class T>
__global__ void nearest_gradient_kernel(const T* gradient, T* image, Resizing r, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t k = i % r.channels, column = i / r.channels % r.x.in, row = i / r.channels / r.x.in % r.y.in;
    const T* from = gradient + i / r.channels / r.x.in / r.y.in * r.y.out * r.x.out * r.channels + k;
    Wide<T> sum = 0;
    for (int64_t oy = r.y.first(row); oy < r.y.last(row); ++oy) {
      if (r.y.nearest(oy) != row) continue;
      for (int64_t ox = r.x.first(column); ox < r.x.last(column); ++ox) {
        if (r.x.nearest(ox) == column) sum = rounded<T>(sum + widen(from[(oy * r.x.out + ox) * r.channels]));
      }
    }
    image[i] = narrow<T>(sum);
  }
}

template <class T>
class Resize final : public Kernel {
 public:
  explicit Resize(const KernelInit& init)
      : attrs_(ResizeAttrs::of(init.attrs)), bilinear_(init.op == "ResizeBilinear") {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(attrs_.check());
    const Shape& in = c.input(0).shape();
    ASSIGN_OR_RETURN(const Shape out, resized_shape(in, c.input(1)));
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    const int64_t n = out.num_elements();
    const Resizing r{Scale::of(attrs_, in.dim(1), out.dim(1)), Scale::of(attrs_, in.dim(2), out.dim(2)), in.dim(3)};
    if (bilinear_)
      return launch(Barriers::kNone, bilinear_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                    c.out<float>(0), r, n);
    return launch(Barriers::kNone, nearest_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0), c.out<T>(0),
                  r, n);
  }

 private:
  ResizeAttrs attrs_;
  bool bilinear_;
};

template <class T>
class ResizeGrad final : public Kernel {
 public:
  explicit ResizeGrad(const KernelInit& init)
      : attrs_(ResizeAttrs::of(init.attrs)), bilinear_(init.op == "ResizeBilinearGrad") {}
  Status run(KernelContext& c) override {
    if (bilinear_) RETURN_IF_ERROR(attrs_.check());  // the other takes both flags, as TensorFlow's does
    const Shape& from = c.input(0).shape();
    ASSIGN_OR_RETURN(const Shape image,
                     bilinear_ ? original_shape(from, c.input(1).shape()) : resized_shape(from, c.input(1)));
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    const int64_t n = image.num_elements();
    const Resizing r{Scale::of(attrs_, image.dim(1), from.dim(1)), Scale::of(attrs_, image.dim(2), from.dim(2)),
                     image.dim(3)};
    if (bilinear_)
      return launch(Barriers::kNone, bilinear_gradient_kernel<T>, grid_for(n), kThreads, 0, stream_of(c),
                    c.in<float>(0), c.out<T>(0), r, n);
    return launch(Barriers::kNone, nearest_gradient_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                  c.out<T>(0), r, n);
  }

 private:
  static Result<Shape> original_shape(const Shape& grads, const Shape& image) {
    const bool fits =
        grads.rank() == 4 && image.rank() == 4 && grads.dim(0) == image.dim(0) && grads.dim(3) == image.dim(3);
    if (fits) return image;
    return invalid_argument(cat("grads ", grads.to_string(), " and original_image ", image.to_string(),
                                " must be images with the same batch and channels"));
  }
  ResizeAttrs attrs_;
  bool bilinear_;
};

}  // namespace

void add_resize(KernelTable& table) {
  table.add("ResizeBilinear", kFloating, by_input<0, Resize, float, double, half, bfloat16>);
  table.add("ResizeNearestNeighbor", kFloating, by_input<0, Resize, float, double, half, bfloat16>);
  table.add("ResizeBilinearGrad", kFloating, by_output<ResizeGrad, float, double, half, bfloat16>);
  table.add("ResizeNearestNeighborGrad", kFloating, by_output<ResizeGrad, float, double, half, bfloat16>);
}

}  // namespace emplace::cuda
