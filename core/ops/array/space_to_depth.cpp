// SpaceToDepth and DepthToSpace: square blocks of an image to channels and back.
#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"

namespace emplace {
namespace {

constexpr int64_t kMaxBlock = int64_t{1} << 30;  // its square still fits

// Where batch, height, width and channels are.
struct Layout {
  int height = 1, width = 2, channels = 3;
};

Result<Layout> layout_of(const Attrs& attrs) {
  const std::string& format = attrs.text("data_format");
  if (format == "NHWC") return Layout{1, 2, 3};
  if (format == "NCHW") return Layout{2, 3, 1};
  return unimplemented(cat("data_format ", format, " is not supported"));
}

Result<int64_t> block_of(const Attrs& attrs) {
  int64_t block = attrs.integer("block_size");
  if (block < 2 || block > kMaxBlock)
    return invalid_argument(cat("block_size must be from 2 to ", kMaxBlock, ", got ", block));
  return block;
}

Result<Shape> depth_shape(Shape s, const Layout& at, int64_t block) {
  ASSIGN_OR_RETURN(s.dim(at.height), divide_dim_evenly(s.dim(at.height), block));
  ASSIGN_OR_RETURN(s.dim(at.width), divide_dim_evenly(s.dim(at.width), block));
  ASSIGN_OR_RETURN(s.dim(at.channels), multiply_dims(s.dim(at.channels), block * block));
  return s;
}

Result<Shape> space_shape(Shape s, const Layout& at, int64_t block) {
  ASSIGN_OR_RETURN(s.dim(at.height), multiply_dims(s.dim(at.height), block));
  ASSIGN_OR_RETURN(s.dim(at.width), multiply_dims(s.dim(at.width), block));
  ASSIGN_OR_RETURN(s.dim(at.channels), divide_dim_evenly(s.dim(at.channels), block * block));
  return s;
}

template <bool kToDepth>
Status block_shape_rule(ShapeContext& c) {
  ASSIGN_OR_RETURN(Layout at, layout_of(c.attrs()));
  ASSIGN_OR_RETURN(int64_t block, block_of(c.attrs()));
  ASSIGN_OR_RETURN(Shape in, c.with_rank(0, 4));
  ASSIGN_OR_RETURN(Shape out, kToDepth ? depth_shape(in, at, block) : space_shape(in, at, block));
  c.set_output(0, out);
  return ok_status();
}

// Both directions are one copy between the image [b, h, w, c] and its blocks, in which pixel (i, j) of a block is
// channel (i * block + j) * c + k.
StridedCopy block_copy(const Shape& image, const Shape& deep, const Layout& at, int64_t block, bool to_depth) {
  ScratchVector<int64_t> s = row_major_strides(image), d = row_major_strides(deep);
  auto index = [](int i) { return static_cast<size_t>(i); };
  int64_t h = s[index(at.height)], w = s[index(at.width)], channel = d[index(at.channels)],
          depth = image.dim(at.channels);
  StridedCopy copy;
  auto add = [&](int64_t size, int64_t of_image, int64_t of_deep) {
    to_depth ? copy.add(size, of_image, of_deep) : copy.add(size, of_deep, of_image);
  };
  add(image.dim(0), s[0], d[0]);
  bool channels_last = at.channels == 3;
  if (!channels_last) add(depth, s[index(at.channels)], channel);
  add(deep.dim(at.height), h * block, d[index(at.height)]);
  add(block, h, channel * depth * block);
  add(deep.dim(at.width), w * block, d[index(at.width)]);
  add(block, w, channel * depth);
  if (channels_last) add(depth, 1, 1);
  return copy;
}

template <bool kToDepth>
class BlockKernel final : public Kernel {
 public:
  BlockKernel(Layout layout, int64_t block) : layout_(layout), block_(block) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    ASSIGN_OR_RETURN(Layout layout, layout_of(init.attrs));
    ASSIGN_OR_RETURN(int64_t block, block_of(init.attrs));
    return owned_kernel(new BlockKernel(layout, block));
  }
  Status run(KernelContext& c) override {
    const Tensor& in = c.input(0);
    if (in.shape().rank() != 4) return invalid_argument(cat("Input rank should be: 4 instead of: ", in.shape().rank()));
    ASSIGN_OR_RETURN(Shape out,
                     kToDepth ? depth_shape(in.shape(), layout_, block_) : space_shape(in.shape(), layout_, block_));
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    if (in.num_elements() == 0) return ok_status();
    block_copy(kToDepth ? in.shape() : out, kToDepth ? out : in.shape(), layout_, block_, kToDepth)
        .run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
    return ok_status();
  }

 private:
  Layout layout_;
  int64_t block_;
};

Status space_to_depth_gradient(GradientContext& g) {
  g.set(0, g.add("DepthToSpace", {g.grad(0)}, g.copy_attrs({"block_size", "data_format"})));
  return g.status();
}

Status depth_to_space_gradient(GradientContext& g) {
  g.set(0, g.add("SpaceToDepth", {g.grad(0)}, g.copy_attrs({"block_size", "data_format"})));
  return g.status();
}

}  // namespace

OpDef space_to_depth_op() {
  return OpDef("SpaceToDepth")
      .doc("Each square block of pixels becomes one pixel with all its channels.")
      .shape(block_shape_rule<true>)
      .cpu(kMovable, BlockKernel<true>::create)
      .gradient(space_to_depth_gradient);
}
OpDef depth_to_space_op() {
  return OpDef("DepthToSpace")
      .doc("The channels of each pixel become a square block of pixels.")
      .shape(block_shape_rule<false>)
      .cpu(kMovable, BlockKernel<false>::create)
      .gradient(depth_to_space_gradient);
}

}  // namespace emplace
