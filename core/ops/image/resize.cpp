#include "core/ops/image/resize.h"

#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {

ResizeAttrs ResizeAttrs::of(const Attrs& attrs) {
  return {attrs.flag("align_corners"), attrs.flag("half_pixel_centers")};
}

Status ResizeAttrs::check() const {
  if (!align_corners || !half_pixel_centers) return ok_status();
  return invalid_argument("If half_pixel_centers is True, align_corners must be False.");
}

Status resize_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape image, c.with_rank(0, 4));
  ASSIGN_OR_RETURN(Shape size, c.with_rank(1, 1));
  RETURN_IF_ERROR(require_dim(size.dim(0), 2).take_status());
  const Tensor* value = c.input_value(1);
  for (int i : {0, 1}) {
    int64_t known = value != nullptr ? int_at(*value, i) : -1;
    image.dim(i + 1) = known > 0 ? known : -1;  // others are for the kernel to refuse
  }
  c.set_output(0, image);
  return ok_status();
}

Result<Shape> resized_shape(const Shape& image, const Tensor& size) {
  if (image.rank() != 4) return invalid_argument("input must be 4-dimensional" + image.to_string());
  if (size.shape().rank() != 1) return invalid_argument("shape_t must be 1-dimensional" + size.shape().to_string());
  if (size.num_elements() != 2) return invalid_argument("shape_t must have two elements" + size.shape().to_string());
  Shape out{image.dim(0), int_at(size, 0), int_at(size, 1), image.dim(3)};
  if (out.dim(1) <= 0 || out.dim(2) <= 0) return invalid_argument("output dimensions must be positive");
  if (image.dim(3) <= 0) return invalid_argument("image must have at least one channel");
  if (image.dim(1) <= 0 || image.dim(2) <= 0) return invalid_argument("input image must be of non-zero size");
  return out;
}

}  // namespace emplace
