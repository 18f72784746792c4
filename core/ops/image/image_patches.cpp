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

Status check_volume_patch_attrs(const Attrs& attrs) {
  for (const char* name : {"ksizes", "strides"}) {
    const std::vector<int64_t>& given = attrs.integers(name);
    if (given[0] != 1 || given[4] != 1) return unimplemented(cat("Only support ", name, " across space."));
    if (given[1] < 1 || given[2] < 1 || given[3] < 1) return out_of_range(cat(name, " is out of range."));
  }
  return ok_status();
}

Result<VolumePatches> volume_patches(const Attrs& attrs, const Shape& volumes) {
  const auto &taps = attrs.integers("ksizes"), &strides = attrs.integers("strides");
  VolumePatches p;
  p.batch = volumes.dim(0);
  p.depth = volumes.dim(4);
  PatchAxis* const axes[] = {&p.z, &p.y, &p.x};
  int64_t row = p.depth;
  bool known = true;
  for (size_t i = 0; i < 3; ++i) {
    *axes[i] = {.in = volumes.dim(static_cast<int>(i) + 1), .taps = taps[i + 1], .stride = strides[i + 1]};
    ASSIGN_OR_RETURN(row, multiply_dims(row, taps[i + 1]));
    known = known && axes[i]->in >= 0;
  }
  p.out = Shape{p.batch, -1, -1, -1, row};
  for (size_t i = 0; i < 3 && known; ++i) {
    RETURN_IF_ERROR(place_windows(*axes[i], attrs.text("padding")));
    // TensorFlow centres them here also where they leave cells out: then the first one begins behind the first cell.
    if (attrs.text("padding") == "SAME")
      axes[i]->before = ((axes[i]->out - 1) * axes[i]->stride + axes[i]->taps - axes[i]->in) / 2;
    p.out.dim(static_cast<int>(i) + 1) = axes[i]->out;
  }
  return p;
}

}  // namespace emplace
