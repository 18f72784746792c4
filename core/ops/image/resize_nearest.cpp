// ResizeNearestNeighbor, ResizeNearestNeighborGrad: each output pixel is one input pixel.
#include <algorithm>

#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/image/resize.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/row_ops.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

// The input pixel of each output pixel.
ScratchVector<int64_t> nearest(const ResizeAttrs& attrs, int64_t in, int64_t out) {
  float scale = attrs.scale(in, out);
  ScratchVector<int64_t> places;
  places.reserve(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    float at = (static_cast<float>(i) + (attrs.half_pixel_centers ? 0.5f : 0.0f)) * scale;
    places.push_back(std::min(static_cast<int64_t>(attrs.align_corners ? std::round(at) : std::floor(at)), in - 1));
  }
  return places;
}

class ResizeNearest final : public Kernel {
 public:
  explicit ResizeNearest(const KernelInit& init) : attrs_(ResizeAttrs::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(attrs_.check());
    const Tensor& image = c.input(0);
    const Shape& in = image.shape();
    ASSIGN_OR_RETURN(Shape out, resized_shape(in, c.input(1)));
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    Tensor& to = c.output(0);
    if (to.num_elements() == 0) return ok_status();
    auto rows = nearest(attrs_, in.dim(1), out.dim(1)), columns = nearest(attrs_, in.dim(2), out.dim(2));
    int64_t channels = in.dim(3), height = out.dim(1), width = out.dim(2);
    c.parallel_for(out.dim(0) * height, 3.0 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        int64_t row = (r / height * in.dim(1) + rows[static_cast<size_t>(r % height)]) * in.dim(2);
        for (int64_t x = 0; x < width; ++x) {
          copy_elements(image.dtype(), element_at(image, (row + columns[static_cast<size_t>(x)]) * channels),
                        element_at(to, (r * width + x) * channels), channels);
        }
      }
    });
    return ok_status();
  }

 private:
  ResizeAttrs attrs_;
};

/// Takes both flags at once, as TensorFlow's does.
class ResizeNearestGrad final : public Kernel {
 public:
  explicit ResizeNearestGrad(const KernelInit& init) : attrs_(ResizeAttrs::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    const Tensor& grads = c.input(0);
    const Shape& from = grads.shape();
    ASSIGN_OR_RETURN(Shape image, resized_shape(from, c.input(1)));
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    Tensor& out = c.output(0);
    fill_zeros(*c.parallel_, out);
    if (grads.num_elements() == 0) return ok_status();
    auto rows = nearest(attrs_, image.dim(1), from.dim(1)), columns = nearest(attrs_, image.dim(2), from.dim(2));
    int64_t channels = from.dim(3), height = from.dim(1), width = from.dim(2);
    RowOp add = row_add(out.dtype());
    c.parallel_for(from.dim(0), 5.0 * static_cast<double>(height * width * channels), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin * height; r < end * height; ++r) {
        int64_t row = (r / height * image.dim(1) + rows[static_cast<size_t>(r % height)]) * image.dim(2);
        for (int64_t x = 0; x < width; ++x) {
          add(element_at(out, (row + columns[static_cast<size_t>(x)]) * channels),
              element_at(grads, (r * width + x) * channels), channels);
        }
      }
    });
    return ok_status();
  }

 private:
  ResizeAttrs attrs_;
};

Status resize_nearest_gradient(GradientContext& g) {
  const Shape& image = g.shape(g.input(0));
  const bool known = image.rank_known() && image.rank() == 4 && image.dim(1) >= 0 && image.dim(2) >= 0;
  Value size = known ? g.ints({image.dim(1), image.dim(2)}) : g.slice(g.shape_of(g.input(0)), 1, 3);
  g.set(0,
        g.add("ResizeNearestNeighborGrad", {g.grad(0), size}, g.copy_attrs({"align_corners", "half_pixel_centers"})));
  return g.status();
}

}  // namespace

OpDef resize_nearest_neighbor_op() {
  return OpDef("ResizeNearestNeighbor")
      .doc("Images scaled to a height and width, each pixel the nearest one.")
      .shape(resize_shape)
      .cpu(kRealNumbers, make<ResizeNearest>)
      .value_inputs({1})
      .gradient(resize_nearest_gradient);
}
OpDef resize_nearest_neighbor_grad_op() {
  return OpDef("ResizeNearestNeighborGrad")
      .doc("The gradient of ResizeNearestNeighbor: the sums of what each pixel was copied to.")
      .shape(resize_shape)
      .cpu(kRealNumbers, make<ResizeNearestGrad>)
      .value_inputs({1});
}

}  // namespace emplace
