// CropAndResize: boxes of images, all brought to one size.
#include <algorithm>
#include <cmath>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status crop_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape image, c.with_rank(0, 4));
  ASSIGN_OR_RETURN(const Shape boxes, c.with_rank(1, 2));
  ASSIGN_OR_RETURN(const Shape numbers, c.with_rank(2, 1));
  ASSIGN_OR_RETURN(const Shape size, c.with_rank(3, 1));
  RETURN_IF_ERROR(require_dim(dim_or_unknown(boxes, 1), 4).take_status());
  RETURN_IF_ERROR(require_dim(dim_or_unknown(size, 0), 2).take_status());
  ASSIGN_OR_RETURN(const int64_t count, ShapeContext::merge_dim(dim_or_unknown(boxes, 0), dim_or_unknown(numbers, 0)));
  const Tensor* crop = c.input_value(3);
  const int64_t height = crop ? int_at(*crop, 0) : -1, width = crop ? int_at(*crop, 1) : -1;
  if (crop && (height <= 0 || width <= 0)) return invalid_argument("crop dimensions must be positive");
  c.set_output(0, Shape{count, height, width, dim_or_unknown(image, 3)});
  return ok_status();
}

/// Where `n` samples between two ends of a line of `size` pixels lie.
struct Samples {
  float first, step;

  Samples(float begin, float end, int64_t size, int64_t n) {
    const auto last = static_cast<float>(size - 1);
    step = n > 1 ? (end - begin) * last / static_cast<float>(n - 1) : 0;
    first = n > 1 ? begin * last : 0.5f * (begin + end) * last;
  }
  float at(int64_t i) const { return first + static_cast<float>(i) * step; }
};

template <class T>
class CropAndResize final : public Kernel {
 public:
  explicit CropAndResize(const KernelInit& init)
      : nearest_(init.attrs.text("method") == "nearest"), outside_(init.attrs.number("extrapolation_value")) {}

  Status run(KernelContext& c) override {
    const Shape &image = c.input(0).shape(), &out = c.output(0).shape();
    for (int64_t b = 0; b < out.dim(0); ++b) {
      const int64_t number = int_at(c.input(2), b);
      if (number < 0 || number >= image.dim(0))
        return out_of_range(cat("box_index has values outside [0, batch_size): ", number, " of ", image.dim(0)));
    }
    if (image.dim(1) <= 0 || image.dim(2) <= 0) return invalid_argument("image dimensions must be positive");
    const double cost = 4.0 * static_cast<double>(out.dim(2) * out.dim(3)) + 10;
    c.parallel_for(out.dim(0) * out.dim(1), cost, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) crop_row(c, row / out.dim(1), row % out.dim(1));
    });
    return ok_status();
  }

 private:
  void crop_row(KernelContext& c, int64_t box, int64_t y) const {
    const Shape &image = c.input(0).shape(), &out = c.output(0).shape();
    const float* corners = c.in<float>(1) + 4 * box;
    const float in_y = Samples(corners[0], corners[2], image.dim(1), out.dim(1)).at(y);
    const Samples columns(corners[1], corners[3], image.dim(2), out.dim(2));
    const int64_t depth = image.dim(3);
    const T* pixels = c.in<T>(0) + int_at(c.input(2), box) * image.dim(1) * image.dim(2) * depth;
    float* to = c.out<float>(0) + (box * out.dim(1) + y) * out.dim(2) * depth;
    const bool row_inside = in_y >= 0 && in_y <= static_cast<float>(image.dim(1) - 1);
    for (int64_t x = 0; x < out.dim(2); ++x, to += depth) {
      const float in_x = columns.at(x);
      if (!row_inside || !(in_x >= 0 && in_x <= static_cast<float>(image.dim(2) - 1)))
        std::fill_n(to, depth, outside_);
      else if (nearest_)
        copy_pixel(pixels + (index_of(std::round(in_y)) * image.dim(2) + index_of(std::round(in_x))) * depth, to,
                   depth);
      else
        mix_pixels(pixels, image.dim(2), depth, in_y, in_x, to);
    }
  }

  static int64_t index_of(float x) { return static_cast<int64_t>(x); }
  static void copy_pixel(const T* from, float* to, int64_t depth) {
    for (int64_t d = 0; d < depth; ++d) to[d] = static_cast<float>(from[d]);
  }
  static void mix_pixels(const T* pixels, int64_t width, int64_t depth, float y, float x, float* to) {
    const float top = std::floor(y), left = std::floor(x), down = y - top, across = x - left;
    const auto pixel = [&](float row, float column) {
      return pixels + (index_of(row) * width + index_of(column)) * depth;
    };
    const T *a = pixel(top, left), *b = pixel(top, std::ceil(x)), *p = pixel(std::ceil(y), left),
            *q = pixel(std::ceil(y), std::ceil(x));
    for (int64_t d = 0; d < depth; ++d) {
      const auto value = [&](const T* at) { return static_cast<float>(at[d]); };
      const float upper = value(a) + (value(b) - value(a)) * across, lower = value(p) + (value(q) - value(p)) * across;
      to[d] = upper + (lower - upper) * down;
    }
  }

  const bool nearest_;
  const float outside_;
};

template <class... T>
OpDef with_images(OpDef op) {
  (static_cast<void>(std::move(op).template cpu<T>(make<CropAndResize<T>>)), ...);
  return op;
}

}  // namespace

OpDef crop_and_resize_op() {
  return with_images<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                     uint64_t>(OpDef("CropAndResize")
                                   .doc("Boxes of images, each of one of them, brought to one size.")
                                   .shape(crop_shape)
                                   .kernel_attr("T")
                                   .value_inputs({3}));
}

}  // namespace emplace
