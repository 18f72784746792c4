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

/// A pixel of the result between four of the image, whose first elements' numbers are `corners`: the upper two, the
/// lower two; `across` and `down` are how far it lies from the first.
struct Between {
  int64_t corners[4];
  float across, down;
};

/// What is done with elements of the image's type.
struct PixelCode {
  void (*copy)(const void* image, int64_t at, int64_t depth, float* to);
  void (*mix)(const void* image, const Between& between, int64_t depth, float* to);
};

template <class T>
void copy_pixel(const void* image, int64_t at, int64_t depth, float* to) {
  const T* from = static_cast<const T*>(image) + at;
  for (int64_t d = 0; d < depth; ++d) to[d] = static_cast<float>(from[d]);
}

template <class T>
void mix_pixels(const void* image, const Between& between, int64_t depth, float* to) {
  for (int64_t d = 0; d < depth; ++d) {
    const auto value = [&](int corner) {
      return static_cast<float>(static_cast<const T*>(image)[between.corners[corner] + d]);
    };
    const float upper = value(0) + (value(1) - value(0)) * between.across;
    const float lower = value(2) + (value(3) - value(2)) * between.across;
    to[d] = upper + (lower - upper) * between.down;
  }
}

class CropAndResize final : public Kernel {
 public:
  CropAndResize(const KernelInit& init, const PixelCode& code)
      : nearest_(init.attrs.text("method") == "nearest"),
        outside_(init.attrs.number("extrapolation_value")),
        code_(code) {}

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
    const int64_t depth = image.dim(3), first = int_at(c.input(2), box) * image.dim(1);
    const auto pixel = [&](float row, float column) {
      return ((first + static_cast<int64_t>(row)) * image.dim(2) + static_cast<int64_t>(column)) * depth;
    };
    float* to = c.out<float>(0) + (box * out.dim(1) + y) * out.dim(2) * depth;
    const bool row_inside = in_y >= 0 && in_y <= static_cast<float>(image.dim(1) - 1);
    for (int64_t x = 0; x < out.dim(2); ++x, to += depth) {
      const float in_x = columns.at(x);
      if (!row_inside || !(in_x >= 0 && in_x <= static_cast<float>(image.dim(2) - 1))) {
        std::fill_n(to, depth, outside_);
      } else if (nearest_) {
        code_.copy(c.input(0).raw(), pixel(std::round(in_y), std::round(in_x)), depth, to);
      } else {
        const float top = std::floor(in_y), left = std::floor(in_x), low = std::ceil(in_y), right = std::ceil(in_x);
        const Between between{
            {pixel(top, left), pixel(top, right), pixel(low, left), pixel(low, right)}, in_x - left, in_y - top};
        code_.mix(c.input(0).raw(), between, depth, to);
      }
    }
  }

  const bool nearest_;
  const float outside_;
  const PixelCode code_;
};

template <class T>
Result<std::unique_ptr<Kernel>> make_crop(const KernelInit& init) {
  return owned_kernel(new CropAndResize(init, {copy_pixel<T>, mix_pixels<T>}));
}

template <class... T>
OpDef with_images(OpDef op) {
  (static_cast<void>(std::move(op).template cpu<T>(make_crop<T>)), ...);
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
