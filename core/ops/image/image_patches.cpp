#include "core/ops/image/image_patches.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status place_windows(PatchAxis& axis, std::string_view padding) {
  if (axis.stride <= 0) return invalid_argument(cat("Stride must be > 0, but got ", axis.stride));
  const int64_t reach = (axis.taps - 1) * axis.rate + 1;  // of factors of 32 bits
  const bool same = padding == "SAME";
  const int64_t room = same ? axis.in - 1 : axis.in - reach;  // for moves of the first window
  axis.out = (room + axis.stride) / axis.stride;
  if (axis.out < 0) {
    return invalid_argument(cat("Computed output size would be negative: ", axis.out, " [input_size: ", axis.in,
                                ", effective_filter_size: ", reach, ", stride: ", axis.stride, "]"));
  }
  if (same) axis.before = std::max<int64_t>(0, (axis.out - 1) * axis.stride + reach - axis.in) / 2;
  return ok_status();
}

}  // namespace

Status check_patch_attrs(const Attrs& attrs) {
  for (const char* name : {"ksizes", "strides", "rates"}) {
    const std::vector<int64_t>& given = attrs.integers(name);
    if (given[0] != 1 || given[3] != 1) return unimplemented(cat("Only support ", name, " across space."));
    if (given[1] < 1 || given[2] < 1) return out_of_range(cat(name, " is out of range."));
  }
  return ok_status();
}

Result<ImagePatches> image_patches(const Attrs& attrs, const Shape& images) {
  const auto &taps = attrs.integers("ksizes"), &strides = attrs.integers("strides"), &rates = attrs.integers("rates");
  ImagePatches p;
  p.batch = images.dim(0);
  p.depth = images.dim(3);
  p.y = {.in = images.dim(1), .taps = taps[1], .stride = strides[1], .rate = rates[1]};
  p.x = {.in = images.dim(2), .taps = taps[2], .stride = strides[2], .rate = rates[2]};
  ASSIGN_OR_RETURN(const int64_t row, multiply_dims(p.depth, p.y.taps * p.x.taps));
  p.out = Shape{p.batch, -1, -1, row};
  if (p.y.in < 0 || p.x.in < 0) return p;
  RETURN_IF_ERROR(place_windows(p.y, attrs.text("padding")));
  RETURN_IF_ERROR(place_windows(p.x, attrs.text("padding")));
  p.out = Shape{p.batch, p.y.out, p.x.out, row};
  return p;
}

}  // namespace emplace
