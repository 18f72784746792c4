#include "core/ops/image/resize.h"

#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/with_real.h"

namespace emplace {
namespace {

template <class T>
void widen_pixels(const Tensor& t, float* out, int64_t begin, int64_t end) {
  const T* in = t.data<T>();
  for (int64_t i = begin; i < end; ++i) out[i] = static_cast<float>(in[i]);
}
using WidenPixels = void (*)(const Tensor&, float*, int64_t, int64_t);

WidenPixels widen_pixels_of(DType type) {
  return with_real(type, [](auto zero) -> WidenPixels { return widen_pixels<decltype(zero)>; });
}

}  // namespace

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

Status check_resized_gradient(const Shape& grads, const Shape& image) {
  if (grads.rank() == 4 && image.rank() == 4 && grads.dim(0) == image.dim(0) && grads.dim(3) == image.dim(3)) {
    if (grads.dim(1) == 0 || grads.dim(2) == 0) return invalid_argument("resized dimensions must be positive");
    if (image.dim(1) == 0 || image.dim(2) == 0) return invalid_argument("original dimensions must be positive");
    return ok_status();
  }
  return invalid_argument(cat("grads ", grads.to_string(), " and original_image ", image.to_string(),
                              " must be images with the same batch and channels"));
}

Result<const float*> float_pixels(KernelContext& c, int input, Tensor& scratch) {
  const Tensor& image = c.input(input);
  if (image.dtype() == DType::kFloat) return image.data<float>();
  ASSIGN_OR_RETURN(scratch, c.allocate_scratch(DType::kFloat, image.shape()));
  float* out = scratch.data<float>();
  const WidenPixels widen = widen_pixels_of(image.dtype());
  c.parallel_for(image.num_elements(), 0.5, [&](int64_t begin, int64_t end) { widen(image, out, begin, end); });
  return const_cast<const float*>(out);
}

}  // namespace emplace
