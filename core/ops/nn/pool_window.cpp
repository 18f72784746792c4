#include "core/ops/nn/pool_window.h"

#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

size_t index(int i) { return static_cast<size_t>(i); }

Result<WindowAxis> axis_of(const PoolAttrs& p, const Shape& image, int axis) {
  bool given = p.padding == "EXPLICIT";
  return window_axis(image.dim(axis), p.ksize[index(axis)], 1, p.strides[index(axis)], p.padding,
                     given ? p.explicit_paddings[index(2 * axis)] : 0,
                     given ? p.explicit_paddings[index(2 * axis + 1)] : 0);
}

}  // namespace

PoolAttrs PoolAttrs::of(const Attrs& attrs) {
  PoolAttrs p{{}, {}, {}, attrs.text("padding"), image_layout(attrs)};
  if (attrs.find("ksize")) {
    p.ksize = attrs.integers("ksize");
    p.strides = attrs.integers("strides");
  }
  if (attrs.find("explicit_paddings")) p.explicit_paddings = attrs.integers("explicit_paddings");
  return p;
}

Result<Shape> pooled_shape(const PoolAttrs& p, const Shape& image_in, std::string_view name) {
  ASSIGN_OR_RETURN(Shape image, require_rank(image_in, 4));
  if (p.ksize.size() != 4) {
    return invalid_argument(cat(name, " requires the ksize attribute to contain 4 values, but got: ", p.ksize.size()));
  }
  if (p.strides.size() != 4) {
    return invalid_argument(
        cat(name, " requires the stride attribute to contain 4 values, but got: ", p.strides.size()));
  }
  if (p.padding == "EXPLICIT" && p.explicit_paddings.size() != 8) {
    return invalid_argument(
        cat("explicit_paddings attribute must contain 8 values, but got: ", p.explicit_paddings.size()));
  }
  for (int64_t v : p.explicit_paddings) {
    if (v < 0) return invalid_argument("All elements of explicit_paddings must be nonnegative");
  }
  for (int axis : {p.layout.h, p.layout.w, p.layout.c}) {
    if (p.strides[index(axis)] <= 0)
      return invalid_argument(cat("Stride must be > 0, but got ", p.strides[index(axis)]));
    ASSIGN_OR_RETURN(WindowAxis a, axis_of(p, image, axis));
    image.dim(axis) = a.out;
  }
  return image;
}

Result<PoolWindow> PoolWindow::of(const PoolAttrs& p, const Shape& image, std::string_view name) {
  if (image.rank() != 4) return invalid_argument(cat("tensor_in must be 4-dimensional, got shape ", image.to_string()));
  ASSIGN_OR_RETURN(Shape out, pooled_shape(p, image, name));
  for (int64_t k : p.ksize) {
    if (k > 0) continue;
    if (name.starts_with("Avg")) return invalid_argument(cat("ksize must be a positive int32 value, got:", k));
    return invalid_argument(cat("Sliding window ksize must be positive. The specified or inferred ksize is: ",
                                p.ksize[0], ",", p.ksize[1], ",", p.ksize[2], ",", p.ksize[3]));
  }
  if (p.ksize[0] != 1 || p.strides[0] != 1) {
    return unimplemented("Pooling is not yet supported on the batch dimension.");
  }
  PoolWindow w;
  w.out = out;
  w.depth_window = p.ksize[index(p.layout.c)];
  if (w.depth_window > 1) {
    if (p.ksize[index(p.layout.h)] != 1 || p.ksize[index(p.layout.w)] != 1) {
      return unimplemented("MaxPooling supports exactly one of pooling across depth or pooling across width/height.");
    }
    if (image.dim(p.layout.c) % w.depth_window != 0) {
      return unimplemented("Depthwise max pooling requires the depth window to evenly divide the input depth.");
    }
    if (w.depth_window != p.strides[index(p.layout.c)]) {
      return unimplemented("Depthwise max pooling requires the depth window to equal the depth stride.");
    }
  } else if (p.strides[index(p.layout.c)] != 1) {
    return unimplemented("Strides in the depth dimension need a window of the same size.");
  }
  auto axis = [&](int i, PoolAxis& a) -> Status {
    ASSIGN_OR_RETURN(WindowAxis sizes, axis_of(p, image, i));
    a = {image.dim(i), sizes.out, p.ksize[index(i)], p.strides[index(i)], sizes.pad_before};
    if (p.padding == "EXPLICIT" && (sizes.pad_before >= a.window || sizes.pad_after >= a.window)) {
      return invalid_argument(
          cat("padding (", sizes.pad_before, ", ", sizes.pad_after, ") must be less than the window size ", a.window));
    }
    return ok_status();
  };
  RETURN_IF_ERROR(axis(p.layout.h, w.h));
  RETURN_IF_ERROR(axis(p.layout.w, w.w));
  bool last = p.layout.c == 3;
  if (!last && w.depth_window > 1) return unimplemented("Depthwise max pooling needs data_format NHWC.");
  w.channels = last ? image.dim(3) : 1;
  ASSIGN_OR_RETURN(w.batch, multiply_dims(image.dim(0), last ? 1 : image.dim(1)));
  return w;
}

PoolAttrs with_windows(PoolAttrs pool, const Tensor& ksize, const Tensor& strides) {
  pool.ksize = ints_of(ksize);
  pool.strides = ints_of(strides);
  return pool;
}

Result<PoolWindow> pool_window(const PoolAttrs& pool, const KernelContext& c, std::string_view name) {
  if (!pool.ksize.empty()) return PoolWindow::of(pool, c.input(0).shape(), name);
  const int n = c.num_inputs();
  return PoolWindow::of(with_windows(pool, c.input(n - 2), c.input(n - 1)), c.input(0).shape(), name);
}

Result<PoolWindow> argmax_window(const PoolAttrs& pool, const Shape& image) {
  ASSIGN_OR_RETURN(PoolWindow p, PoolWindow::of(pool, image, "MaxPoolWithArgmax"));
  if (image.num_elements() == 0)
    return invalid_argument(cat("tensor_in must not be empty, got shape ", image.to_string()));
  if (p.depth_window > 1) return unimplemented("MaxPoolWithArgmax over channels: pool over height and width.");
  return p;
}

Status check_argmax_gradient(const PoolAttrs& pool, const KernelContext& c) {
  ASSIGN_OR_RETURN(const PoolWindow p, PoolWindow::of(pool, c.input(0).shape(), "MaxPoolGradWithArgmax"));
  constexpr std::string_view kNames[] = {"grad", "argmax"};
  for (const int i : {1, 2}) {
    if (c.input(i).shape() == p.out) continue;
    return invalid_argument(cat("Expected ", kNames[i - 1], " shape to be ", p.out.to_string(), ", but got ",
                                c.input(i).shape().to_string()));
  }
  return ok_status();
}

Result<PoolWindow> max_pool_grad_grad_window(const PoolAttrs& pool, const KernelContext& c) {
  const Shape& image = c.input(0).shape();
  ASSIGN_OR_RETURN(PoolWindow p, pool_window(pool, c, "MaxPoolGradGrad"));
  if (p.depth_window > 1) return unimplemented("MaxPoolingGrad is not yet supported on the depth dimension.");
  if (!(c.input(1).shape() == p.out)) {
    return invalid_argument(
        cat("Expected orig_output shape to be ", p.out.to_string(), ", but got ", c.input(1).shape().to_string()));
  }
  if (!(c.input(2).shape() == image)) {
    return invalid_argument(
        cat("Expected grad shape to be ", image.to_string(), ", but got ", c.input(2).shape().to_string()));
  }
  return p;
}

}  // namespace emplace
