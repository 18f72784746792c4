#include "core/ops/nn/dilation_window.h"

#include "core/base/cat.h"
#include "core/ops/conv/conv_shape.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status find_axis(const Attrs& attrs, size_t i, int64_t in, int64_t taps, DilationAxis& axis) {
  axis = {in, taps, -1, attrs.integers("strides")[i], attrs.integers("rates")[i], 0};
  int64_t reach = -1;
  if (taps >= 0) {
    int64_t gaps = 0;
    if (__builtin_mul_overflow(taps - 1, axis.rate - 1, &gaps) || __builtin_add_overflow(taps, gaps, &reach) ||
        reach > INT32_MAX) {
      return invalid_argument(cat("a filter of ", taps, " at a rate of ", axis.rate, " is too large"));
    }
  }
  // A window that is somewhat larger than the image has no place: (in - reach + stride) / stride, which rounds towards
  // 0.
  if (attrs.text("padding") == "VALID" && in >= 0 && reach > in && reach - in < 2 * axis.stride) {
    axis.out = 0;
    return ok_status();
  }
  ASSIGN_OR_RETURN(const WindowAxis sizes, window_axis(in, reach, 1, axis.stride, attrs.text("padding")));
  axis.out = sizes.out;
  axis.before = sizes.pad_before;
  return ok_status();
}

}  // namespace

Result<DilationWindow> DilationWindow::of(const Attrs& attrs, const Shape& image_in, const Shape& filter_in) {
  ASSIGN_OR_RETURN(const Shape image, require_rank(image_in, 4));
  ASSIGN_OR_RETURN(const Shape filter, require_rank(filter_in, 3));
  for (const std::string_view name : {"strides", "rates"}) {
    const std::vector<int64_t>& given = attrs.integers(name);
    if (given.size() != 4)
      return invalid_argument(cat("Dilation2D requires the ", name == "strides" ? "stride" : "rates",
                                  " attribute to contain 4 values, but got: ", given.size()));
    for (const int64_t v : {given[1], given[2]}) {
      if (v <= 0 || v > INT32_MAX) return invalid_argument(cat(name, " must be positive, got ", v));
    }
  }
  DilationWindow p;
  p.batch = image.dim(0);
  ASSIGN_OR_RETURN(p.depth, ShapeContext::merge_dim(image.dim(3), filter.dim(2)));
  RETURN_IF_ERROR(find_axis(attrs, 1, image.dim(1), filter.dim(0), p.h));
  RETURN_IF_ERROR(find_axis(attrs, 2, image.dim(2), filter.dim(1), p.w));
  p.out = Shape{p.batch, p.h.out, p.w.out, p.depth};
  return p;
}

Result<DilationWindow> DilationWindow::of_run(const Attrs& attrs, const KernelContext& c) {
  ASSIGN_OR_RETURN(DilationWindow p, DilationWindow::of(attrs, c.input(0).shape(), c.input(1).shape()));
  const std::vector<int64_t>&strides = attrs.integers("strides"), &rates = attrs.integers("rates");
  if (strides[0] != 1 || strides[3] != 1) return unimplemented("Stride is only supported across spatial dimensions.");
  if (rates[0] != 1 || rates[3] != 1) return unimplemented("Rate is only supported across spatial dimensions.");
  if (c.num_inputs() == 3 && !(c.input(2).shape() == p.out)) {
    return invalid_argument(
        cat("out_backprop has incompatible size ", c.input(2).shape().to_string(), ", expected ", p.out.to_string()));
  }
  return p;
}

}  // namespace emplace
