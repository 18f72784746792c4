#include "core/ops/conv/conv_shape.h"

#include <algorithm>
#include <limits>

#include "core/base/cat.h"

namespace emplace {
namespace {

Result<std::vector<int64_t>> four_of(const Attrs& attrs, std::string_view name, std::string_view what) {
  const std::vector<int64_t> given = attrs.find(name) ? attrs.integers(name) : std::vector<int64_t>{1, 1, 1, 1};
  if (given.size() != 4) {
    return invalid_argument(cat(what, " attribute should contain 4 values, but got: ", given.size()));
  }
  for (const int64_t v : given) {
    if (v > std::numeric_limits<int32_t>::max() || v < std::numeric_limits<int32_t>::min())
      return invalid_argument(cat("Attr ", name, " has value ", v, " out of range for an int32"));
  }
  return given;
}

/// Before and after each of the four dimensions; all 0 if padding is not explicit.
Result<std::vector<int64_t>> explicit_pads(const Attrs& attrs, ImageLayout at, bool is_explicit) {
  if (!is_explicit) {
    if (attrs.find("explicit_paddings") && !attrs.integers("explicit_paddings").empty())
      return invalid_argument("explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
    return std::vector<int64_t>(8, 0);
  }
  const std::vector<int64_t>& given = attrs.integers("explicit_paddings");
  if (given.size() != 8) {
    return invalid_argument(cat("explicit_paddings attribute must contain 8 values, but got: ", given.size()));
  }
  if (std::any_of(given.begin(), given.end(), [](int64_t p) { return p < 0; })) {
    return invalid_argument("All elements of explicit_paddings must be nonnegative");
  }
  for (int axis : {at.n, at.c}) {
    const size_t before = static_cast<size_t>(axis) * 2;
    if (given[before] || given[before + 1]) {
      return invalid_argument("Nonzero explicit padding in the batch or depth dimensions is not supported");
    }
  }
  return given;
}

/// Sets out_c. `last`: the last dimension of the filter.
Status match_channels(ConvShape& s, int64_t last, bool depthwise) {
  if (depthwise) {
    const int64_t channels = s.in_c >= 0 ? s.in_c : s.filter_c;
    s.out_c = channels >= 0 && last >= 0 ? channels * last : -1;
    if (s.in_c >= 0 && s.filter_c >= 0 && s.in_c != s.filter_c) {
      return invalid_argument(cat("Dimensions must be equal, but are ", s.in_c, " and ", s.filter_c));
    }
    return ok_status();
  }
  s.out_c = last;
  if (s.in_c < 0 || s.filter_c < 0) return ok_status();
  if (s.filter_c == 0) return invalid_argument("filter depth must not be 0");
  if (s.in_c % s.filter_c != 0) {
    return invalid_argument(
        cat("Depth of input (", s.in_c, ") is not a multiple of input depth of filter (", s.filter_c, ")"));
  }
  const int64_t groups = s.in_c / s.filter_c;
  if (groups == 0) return invalid_argument("Number of groups must not be 0");
  if (last >= 0 && last % groups != 0) {
    return invalid_argument(
        cat("Depth of output (", last, ") is not a multiple of the number of groups (", groups, ")"));
  }
  return ok_status();
}

}  // namespace

ImageLayout image_layout(const Attrs& attrs) {
  const AttrValue* format = attrs.find("data_format");
  return format && format->get<std::string>() == "NCHW" ? ImageLayout{0, 2, 3, 1} : ImageLayout{0, 1, 2, 3};
}

Shape image_shape(ImageLayout at, int64_t n, int64_t h, int64_t w, int64_t c) {
  Shape s{n, h, w, c};
  s.dim(at.n) = n, s.dim(at.h) = h, s.dim(at.w) = w, s.dim(at.c) = c;
  return s;
}

Result<WindowAxis> window_axis(int64_t in, int64_t window, int64_t dilation, int64_t stride, std::string_view padding,
                               int64_t explicit_before, int64_t explicit_after) {
  WindowAxis axis;
  if (in < 0 || (window < 0 && padding != "SAME")) return axis;
  if (stride <= 0) return invalid_argument(cat("Stride must be > 0, but got ", stride));
  if (dilation < 1) return invalid_argument(cat("Dilation rate must be >= 1, but got ", dilation));
  if (window < 0) {
    axis.out = in / stride + (in % stride != 0);
    return axis;
  }
  int64_t reach = 0;  // cells from the window's first to its last
  if (__builtin_mul_overflow(window - 1, dilation, &reach) || __builtin_add_overflow(reach, 1, &reach) ||
      reach > std::numeric_limits<int64_t>::max() / 2) {
    return invalid_argument(cat("window of ", window, " cells with dilation ", dilation, " is too large"));
  }
  if (padding == "SAME") {
    axis.out = in / stride + (in % stride != 0);
    int64_t needed = std::max<int64_t>(0, (axis.out - 1) * stride + reach - in);
    axis.pad_before = needed / 2;
    axis.pad_after = needed - axis.pad_before;
    return axis;
  }
  int64_t padded = in;
  if (padding == "EXPLICIT") {
    axis.pad_before = explicit_before;
    axis.pad_after = explicit_after;
    if (__builtin_add_overflow(padded, explicit_before, &padded) ||
        __builtin_add_overflow(padded, explicit_after, &padded)) {
      return invalid_argument("explicit padding is too large");
    }
  }
  if (padded < reach)
    return invalid_argument(cat("Negative dimension size caused by subtracting ", reach, " from ", padded));
  axis.out = (padded - reach) / stride + 1;
  return axis;
}

Result<ConvShape> conv_shape(const Attrs& attrs, const Shape& input, const Shape& filter, bool depthwise) {
  ASSIGN_OR_RETURN(
      auto strides,
      four_of(attrs, "strides", depthwise ? "DepthwiseConv2D requires the stride" : "Conv2D requires the stride"));
  ASSIGN_OR_RETURN(auto dilations, four_of(attrs, "dilations", "Conv2D requires the dilation"));
  ImageLayout at = image_layout(attrs);
  auto index = [](int i) { return static_cast<size_t>(i); };
  if (strides[index(at.n)] != 1 || strides[index(at.c)] != 1) {
    return invalid_argument("Current implementation does not yet support strides in the batch and depth dimensions.");
  }
  if (dilations[index(at.n)] != 1 || dilations[index(at.c)] != 1) {
    return invalid_argument("Current implementation does not yet support dilations in the batch and depth dimensions.");
  }
  const AttrValue* padding_attr = attrs.find("padding");
  const std::string& padding = padding_attr->get<std::string>();
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads, explicit_pads(attrs, at, padding == "EXPLICIT"));

  ConvShape s;
  auto size = [](const Shape& shape, int axis) { return shape.rank_known() ? shape.dim(axis) : int64_t{-1}; };
  s.batch = size(input, at.n);
  s.in_h = size(input, at.h);
  s.in_w = size(input, at.w);
  s.in_c = size(input, at.c);
  s.window_h = size(filter, 0);
  s.window_w = size(filter, 1);
  s.filter_c = size(filter, 2);
  int64_t last = size(filter, 3);
  s.stride_h = strides[index(at.h)];
  s.stride_w = strides[index(at.w)];
  s.dilation_h = dilations[index(at.h)];
  s.dilation_w = dilations[index(at.w)];
  RETURN_IF_ERROR(match_channels(s, last, depthwise));
  ASSIGN_OR_RETURN(WindowAxis h, window_axis(s.in_h, s.window_h, s.dilation_h, s.stride_h, padding,
                                             pads[index(2 * at.h)], pads[index(2 * at.h + 1)]));
  ASSIGN_OR_RETURN(WindowAxis w, window_axis(s.in_w, s.window_w, s.dilation_w, s.stride_w, padding,
                                             pads[index(2 * at.w)], pads[index(2 * at.w + 1)]));
  s.out_h = h.out;
  s.out_w = w.out;
  s.pad_top = h.pad_before;
  s.pad_left = w.pad_before;
  return s;
}

Status check_gradient(const ConvShape& s, const Shape& gradient, ImageLayout at, std::string_view what) {
  if (gradient.rank() != 4) return invalid_argument(cat(what, ": out_backprop must be 4-dimensional"));
  const int64_t want[] = {s.batch, s.out_h, s.out_w, s.out_c};
  const int axes[] = {at.n, at.h, at.w, at.c};
  for (int i = 0; i < 4; ++i) {
    if (gradient.dim(axes[i]) == want[i]) continue;
    return invalid_argument(cat(what, ": Size of out_backprop doesn't match computed: actual = ", gradient.dim(axes[i]),
                                ", computed = ", want[i], " spatial_dim: ", axes[i], " in ", gradient.to_string()));
  }
  return ok_status();
}

}  // namespace emplace
