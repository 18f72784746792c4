// SpaceToBatchND and BatchToSpaceND: blocks of pixels to the batch and back, with a border put on or cut off.
#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"

namespace emplace {
namespace {

// The sizes of both sides. `border` has two numbers a block dimension; null values are not known.
// TensorFlow names the border "paddings" on the way to the batch and "crops" on the way back.
Result<Shape> moved_shape(const Shape& in, int64_t dims, const Tensor* block, const Tensor* border, bool to_batch) {
  Shape out = in;
  for (int i = 0; i < dims; ++i) {
    int64_t size = block != nullptr ? int_at(*block, i) : -1;
    if (block != nullptr && size < 1) return invalid_argument("block_shape must be positive");
    int64_t& batch = out.dim(0);
    if (size < 0) {
      batch = -1;
    } else if (to_batch) {
      ASSIGN_OR_RETURN(batch, multiply_dims(batch, size));
    } else {
      ASSIGN_OR_RETURN(batch, divide_dim_evenly(batch, size));
    }
    int64_t& dim = out.dim(i + 1);
    if (border != nullptr) {
      int64_t before = int_at(*border, 2 * i), after = int_at(*border, 2 * i + 1);
      if (before < 0 || after < 0)
        return invalid_argument(to_batch ? "paddings cannot be negative" : "crops cannot be negative");
      if (size < 0) {
        dim = -1;
      } else if (to_batch) {
        ASSIGN_OR_RETURN(dim, add_dims(dim, before));
        ASSIGN_OR_RETURN(dim, add_dims(dim, after));
        ASSIGN_OR_RETURN(dim, divide_dim_evenly(dim, size));
      } else {
        ASSIGN_OR_RETURN(dim, multiply_dims(dim, size));
        ASSIGN_OR_RETURN(dim, subtract_dims(dim, before));
        ASSIGN_OR_RETURN(dim, subtract_dims(dim, after));
      }
    } else {
      dim = -1;
    }
  }
  return out;
}

Status moved_shape_rule(ShapeContext& c, bool to_batch) {
  const Shape& block = c.input(1);
  if (!block.rank_known() || block.rank() != 1) return invalid_argument("block_shape must have rank 1.");
  int64_t dims = block.dim(0);
  if (dims < 0) return invalid_argument("block_shape must have known size.");
  if (dims >= kMaxRank) return invalid_argument(cat("block_shape has ", dims, " dimensions, too many"));
  ASSIGN_OR_RETURN(Shape in, c.with_rank_at_least(0, static_cast<int>(dims) + 1));
  ASSIGN_OR_RETURN(Shape border, c.with_rank(2, 2));
  RETURN_IF_ERROR(require_dim(border.dim(0), dims).take_status());
  RETURN_IF_ERROR(require_dim(border.dim(1), 2).take_status());
  bool rank_known = in.rank_known();
  if (!rank_known) in = Shape::unknown_dims(static_cast<int>(dims) + 1);
  ASSIGN_OR_RETURN(Shape out, moved_shape(in, dims, c.input_value(1), c.input_value(2), to_batch));
  if (rank_known) c.set_output(0, out);
  return ok_status();
}

Status space_to_batch_shape(ShapeContext& c) { return moved_shape_rule(c, true); }
Status batch_to_space_shape(ShapeContext& c) { return moved_shape_rule(c, false); }

// Places of one axis in the blocks, [first, first + count), whose pixels lie inside the image; the first of those
// pixels is `pixel`.
struct Overlap {
  int64_t first = 0, count = 0, pixel = 0;
};

Overlap overlap(int64_t image, int64_t blocks, int64_t block, int64_t offset, int64_t border) {
  int64_t shift = offset - border;  // pixel = place * block + shift
  int64_t first = shift >= 0 ? 0 : (-shift + block - 1) / block;
  int64_t last = image - 1 - shift < 0 ? -1 : (image - 1 - shift) / block;
  last = std::min(last, blocks - 1);
  return {first, std::max<int64_t>(last - first + 1, 0), first * block + shift};
}

// Copies between the image and its blocks. Batch entry (o * batch + b) of the blocks holds the pixels at offset o.
void move_blocks(KernelContext& c, const Shape& image, const Shape& blocks, bool to_batch) {
  const Tensor &block = c.input(1), &border = c.input(2);
  int dims = static_cast<int>(block.num_elements());
  ScratchVector<int64_t> s = row_major_strides(image), t = row_major_strides(blocks);
  int64_t offsets = blocks.dim(0) / image.dim(0), rest = 1;
  for (int i = dims + 1; i < image.rank(); ++i) rest *= image.dim(i);
  for (int64_t o = 0; o < offsets; ++o) {
    StridedCopy copy;
    auto add = [&](int64_t size, int64_t of_image, int64_t of_blocks) {
      to_batch ? copy.add(size, of_image, of_blocks) : copy.add(size, of_blocks, of_image);
    };
    int64_t& image_at = to_batch ? copy.in_offset : copy.out_offset;
    int64_t& blocks_at = to_batch ? copy.out_offset : copy.in_offset;
    blocks_at = o * image.dim(0) * t[0];
    add(image.dim(0), s[0], t[0]);
    int64_t left = offsets, at = o;
    for (int i = 0; i < dims; ++i) {
      int64_t size = int_at(block, i);
      left /= size;
      Overlap part = overlap(image.dim(i + 1), blocks.dim(i + 1), size, at / left, int_at(border, 2 * i));
      at %= left;
      auto k = static_cast<size_t>(i) + 1;
      if (part.count > 0) {
        image_at += part.pixel * s[k];
        blocks_at += part.first * t[k];
      }
      add(part.count, part.count > 1 ? s[k] * size : 0, t[k]);
    }
    add(rest, 1, 1);
    copy.run(*c.parallel_, c.input(0).dtype(), c.input(0).raw(), c.output(0).raw());
  }
}

Status move(KernelContext& c, bool to_batch) {
  const Tensor &in = c.input(0), &block = c.input(1), &border = c.input(2);
  int64_t dims = block.num_elements();
  if (block.shape().rank() != 1) return invalid_argument("block_shape must have rank 1.");
  if (in.shape().rank() < dims + 1) {
    return invalid_argument(cat("input rank should be >= ", dims + 1, " instead of ", in.shape().rank()));
  }
  if (!(border.shape() == Shape{dims, 2})) {
    return invalid_argument(cat(to_batch ? "paddings" : "crops", " should have shape [", dims, ", 2] instead of ",
                                border.shape().to_string()));
  }
  ASSIGN_OR_RETURN(Shape out, moved_shape(in.shape(), dims, &block, &border, to_batch));
  RETURN_IF_ERROR(ensure_output(c, 0, out));
  Tensor& y = c.output(0);
  if (y.num_elements() == 0) return ok_status();
  if (to_batch) fill_zeros(*c.parallel_, y);
  if (in.num_elements() > 0) move_blocks(c, to_batch ? in.shape() : out, to_batch ? out : in.shape(), to_batch);
  return ok_status();
}

Status space_to_batch_cpu(KernelContext& c) { return move(c, true); }
Status batch_to_space_cpu(KernelContext& c) { return move(c, false); }

Status space_to_batch_gradient(GradientContext& g) {
  g.set(0, g.add("BatchToSpaceND", {g.grad(0), g.input(1), g.input(2)}));
  return g.status();
}

Status batch_to_space_gradient(GradientContext& g) {
  g.set(0, g.add("SpaceToBatchND", {g.grad(0), g.input(1), g.input(2)}));
  return g.status();
}

}  // namespace

OpDef space_to_batch_nd_op() {
  return OpDef("SpaceToBatchND")
      .doc("Pads the image with zeros and moves the pixels of each block to batch entries of their own.")
      .shape(space_to_batch_shape)
      .cpu(kMovable, stateless<space_to_batch_cpu>)
      .value_inputs({1, 2})
      .gradient(space_to_batch_gradient);
}
OpDef batch_to_space_nd_op() {
  return OpDef("BatchToSpaceND")
      .doc("Moves batch entries back to the pixels of blocks and cuts off a border.")
      .shape(batch_to_space_shape)
      .cpu(kMovable, stateless<batch_to_space_cpu>)
      .value_inputs({1, 2})
      .gradient(batch_to_space_gradient);
}

}  // namespace emplace
