// ResizeBilinear, ResizeBilinearGrad: each output pixel from the four input pixels around it.
#include <algorithm>

#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/image/resize.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

// Between which two pixels of the input an output pixel lies, and how far from the lower one.
struct Between {
  int64_t lower, upper;
  float part;
};

ScratchVector<Between> placements(const ResizeAttrs& attrs, int64_t in, int64_t out) {
  float scale = attrs.scale(in, out);
  ScratchVector<Between> places;
  places.reserve(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    float at = attrs.half_pixel_centers ? (static_cast<float>(i) + 0.5f) * scale - 0.5f : static_cast<float>(i) * scale;
    float floor = std::floor(at);
    places.push_back({std::clamp<int64_t>(static_cast<int64_t>(floor), 0, in - 1),
                      std::min(static_cast<int64_t>(std::ceil(at)), in - 1), at - floor});
  }
  return places;
}

template <class T>
void resize_row(const T* image, float* out, const Shape& in, const Between& y, const ScratchVector<Between>& columns) {
  int64_t width = in.dim(2), channels = in.dim(3);
  const T* top = image + y.lower * width * channels;
  const T* bottom = image + y.upper * width * channels;
  for (const Between& x : columns) {
    for (int64_t k = 0; k < channels; ++k) {
      auto pixel = [&](const T* row, int64_t column) { return static_cast<float>(row[column * channels + k]); };
      float upper = pixel(top, x.lower) + (pixel(top, x.upper) - pixel(top, x.lower)) * x.part;
      float lower = pixel(bottom, x.lower) + (pixel(bottom, x.upper) - pixel(bottom, x.lower)) * x.part;
      *out++ = upper + (lower - upper) * y.part;
    }
  }
}

template <class T>
class ResizeBilinear final : public Kernel {
 public:
  explicit ResizeBilinear(const KernelInit& init) : attrs_(ResizeAttrs::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(attrs_.check());
    const Shape& in = c.input(0).shape();
    ASSIGN_OR_RETURN(Shape out, resized_shape(in, c.input(1)));
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    if (c.output(0).num_elements() == 0) return ok_status();
    auto rows = placements(attrs_, in.dim(1), out.dim(1)), columns = placements(attrs_, in.dim(2), out.dim(2));
    int64_t image = in.dim(1) * in.dim(2) * in.dim(3), row = out.dim(2) * out.dim(3), height = out.dim(1);
    c.parallel_for(out.dim(0) * height, 2.0 * static_cast<double>(row), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        resize_row(c.in<T>(0) + r / height * image, c.out<float>(0) + r * row, in,
                   rows[static_cast<size_t>(r % height)], columns);
      }
    });
    return ok_status();
  }

 private:
  ResizeAttrs attrs_;
};

Status resize_bilinear_grad_shape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return ok_status();
}

// Sums are kept in float, or in double for a double image.
template <class T>
class ResizeBilinearGrad final : public Kernel {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

 public:
  explicit ResizeBilinearGrad(const KernelInit& init) : attrs_(ResizeAttrs::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(attrs_.check());
    const Shape &grads = c.input(0).shape(), &image = c.input(1).shape();
    RETURN_IF_ERROR(check_resized_gradient(grads, image));
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    if (c.output(0).num_elements() == 0) return ok_status();
    auto rows = placements(attrs_, image.dim(1), grads.dim(1)),
         columns = placements(attrs_, image.dim(2), grads.dim(2));
    int64_t size = c.output(0).num_elements() / image.dim(0), pieces = c.input(0).num_elements() / image.dim(0);
    c.parallel_for(image.dim(0), 5.0 * static_cast<double>(pieces), [&](int64_t begin, int64_t end) {
      ScratchVector<Sum> sums(static_cast<size_t>(size));
      for (int64_t b = begin; b < end; ++b) {
        std::fill(sums.begin(), sums.end(), Sum(0));
        spread(c.in<float>(0) + b * pieces, sums.data(), image, rows, columns);
        std::transform(sums.begin(), sums.end(), c.out<T>(0) + b * size, [](Sum v) { return T(v); });
      }
    });
    return ok_status();
  }

 private:
  static void spread(const float* grad, Sum* sums, const Shape& image, const ScratchVector<Between>& rows,
                     const ScratchVector<Between>& columns) {
    int64_t width = image.dim(2), channels = image.dim(3);
    for (const Between& y : rows) {
      for (const Between& x : columns) {
        for (int64_t k = 0; k < channels; ++k, ++grad) {
          auto give = [&](int64_t row, int64_t column, float share) {
            sums[(row * width + column) * channels + k] += static_cast<Sum>(*grad * share);
          };
          give(y.lower, x.lower, (1 - y.part) * (1 - x.part));
          give(y.lower, x.upper, (1 - y.part) * x.part);
          give(y.upper, x.lower, y.part * (1 - x.part));
          give(y.upper, x.upper, y.part * x.part);
        }
      }
    }
  }

  ResizeAttrs attrs_;
};

Status resize_bilinear_gradient(GradientContext& g) {
  g.set(0, g.add("ResizeBilinearGrad", {g.grad(0), g.input(0)}, g.copy_attrs({"align_corners", "half_pixel_centers"})));
  return g.status();
}

}  // namespace

OpDef resize_bilinear_op() {
  return OpDef("ResizeBilinear")
      .doc("Images scaled to a height and width, each pixel from the four around it; the result is float.")
      .shape(resize_shape)
      .cpu<float>(make<ResizeBilinear<float>>)
      .cpu<double>(make<ResizeBilinear<double>>)
      .cpu<half>(make<ResizeBilinear<half>>)
      .cpu<bfloat16>(make<ResizeBilinear<bfloat16>>)
      .cpu<int8_t>(make<ResizeBilinear<int8_t>>)
      .cpu<int16_t>(make<ResizeBilinear<int16_t>>)
      .cpu<int32_t>(make<ResizeBilinear<int32_t>>)
      .cpu<int64_t>(make<ResizeBilinear<int64_t>>)
      .cpu<uint8_t>(make<ResizeBilinear<uint8_t>>)
      .cpu<uint16_t>(make<ResizeBilinear<uint16_t>>)
      .cpu<uint32_t>(make<ResizeBilinear<uint32_t>>)
      .cpu<uint64_t>(make<ResizeBilinear<uint64_t>>)
      .value_inputs({1})
      .gradient(resize_bilinear_gradient);
}
OpDef resize_bilinear_grad_op() {
  return OpDef("ResizeBilinearGrad")
      .doc("The gradient of ResizeBilinear: each pixel's gradient to the four it was made from.")
      .shape(resize_bilinear_grad_shape)
      .cpu<float>(make<ResizeBilinearGrad<float>>)
      .cpu<double>(make<ResizeBilinearGrad<double>>)
      .cpu<half>(make<ResizeBilinearGrad<half>>)
      .cpu<bfloat16>(make<ResizeBilinearGrad<bfloat16>>)
      .not_differentiable();
}

}  // namespace emplace
