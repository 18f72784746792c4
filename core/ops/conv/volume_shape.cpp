#include "core/ops/conv/volume_shape.h"

#include "core/base/cat.h"

namespace emplace {
namespace {

Result<std::vector<int64_t>> five_of(const Attrs& attrs, std::string_view name, std::string_view what) {
  const std::vector<int64_t> given = attrs.find(name) ? attrs.integers(name) : std::vector<int64_t>(5, 1);
  if (given.size() == 5) return given;
  return invalid_argument(cat("Conv3D requires the ", what, " attribute to contain 5 values, but got: ", given.size()));
}

/// Both must be 1 where batch and channels stand.
Status only_in_space(const std::vector<int64_t>& values, const VolumeLayout& at, std::string_view what) {
  if (values[static_cast<size_t>(at.n)] == 1 && values[static_cast<size_t>(at.c)] == 1) return ok_status();
  return invalid_argument(
      cat("Current implementation does not yet support ", what, " in the batch and depth dimensions."));
}

Status match_groups(const VolumeConvShape& s) {
  if (s.in_c < 0 || s.filter_c < 0) return ok_status();
  if (s.filter_c == 0) return invalid_argument("Depth of filter must not be 0");
  if (s.in_c % s.filter_c != 0) {
    return invalid_argument(
        cat("Depth of input (", s.in_c, ") is not a multiple of input depth of filter (", s.filter_c, ")"));
  }
  const int64_t groups = s.in_c / s.filter_c;
  if (groups == 0 || s.out_c < 0 || s.out_c % groups == 0) return ok_status();
  return invalid_argument(
      cat("Depth of output (", s.out_c, ") is not a multiple of the number of groups (", groups, ")"));
}

}  // namespace

VolumeLayout volume_layout(const Attrs& attrs) {
  const AttrValue* format = attrs.find("data_format");
  return format && format->get<std::string>() == "NCDHW" ? VolumeLayout{0, {2, 3, 4}, 1} : VolumeLayout{};
}

Shape volume_shape(const VolumeLayout& at, int64_t n, const std::array<int64_t, 3>& space, int64_t c) {
  Shape s{n, n, n, n, n};
  for (size_t i = 0; i < 3; ++i) s.dim(at.space[i]) = space[i];
  s.dim(at.c) = c;
  return s;
}

Result<VolumeConvShape> volume_conv_shape(const Attrs& attrs, const Shape& input, const Shape& filter) {
  ASSIGN_OR_RETURN(const auto strides, five_of(attrs, "strides", "stride"));
  ASSIGN_OR_RETURN(const auto dilations, five_of(attrs, "dilations", "dilation"));
  const VolumeLayout at = volume_layout(attrs);
  RETURN_IF_ERROR(only_in_space(strides, at, "strides"));
  RETURN_IF_ERROR(only_in_space(dilations, at, "dilations"));
  auto size = [](const Shape& shape, int axis) { return shape.rank_known() ? shape.dim(axis) : int64_t{-1}; };
  VolumeConvShape s;
  s.batch = size(input, at.n);
  s.in_c = size(input, at.c);
  s.filter_c = size(filter, 3);
  s.out_c = size(filter, 4);
  RETURN_IF_ERROR(match_groups(s));
  for (size_t i = 0; i < 3; ++i) {
    const auto axis = static_cast<size_t>(at.space[i]);
    const int64_t in = size(input, at.space[i]), window = size(filter, static_cast<int>(i));
    ASSIGN_OR_RETURN(const WindowAxis a,
                     window_axis(in, window, dilations[axis], strides[axis], attrs.text("padding")));
    s.axes[i] = {in, window, a.out, strides[axis], dilations[axis], a.pad_before};
  }
  return s;
}

Status check_volume_gradient(const VolumeConvShape& s, const Shape& gradient, const VolumeLayout& at,
                             std::string_view what) {
  if (gradient.rank() != 5) return invalid_argument(cat(what, ": out_backprop must be 5-dimensional"));
  const Shape want = volume_shape(at, s.batch, s.out(), s.out_c);
  for (int axis = 0; axis < 5; ++axis) {
    if (gradient.dim(axis) == want.dim(axis)) continue;
    return invalid_argument(cat(what, ": Size of out_backprop doesn't match computed: actual = ", gradient.dim(axis),
                                ", computed = ", want.dim(axis), " spatial_dim: ", axis));
  }
  return ok_status();
}

}  // namespace emplace
