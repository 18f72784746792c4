// Pack and Unpack: tensors of one shape to one tensor with an axis more, and back.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/moved_variants.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

// The attr `axis` of a tensor of that rank.
Result<int> resolve_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return invalid_argument(cat("Invalid axis: ", axis, "; must be in [", -rank, ",", rank, ")"));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

int64_t product(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

Status pack_shape(ShapeContext& c) {
  int last = c.num_inputs() - 1;
  Shape one = c.input(last);
  for (int i = last - 1; i >= 0; --i) {
    auto merged = ShapeContext::merge(c.input(i), one);
    if (!merged.ok()) {
      return Status(merged.status().code(),
                    cat(merged.status().message(), "\n\tFrom merging shape ", i, " with other shapes."));
    }
    one = merged.take();
  }
  if (!one.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(int axis, resolve_axis(c.attrs().integer("axis"), one.rank() + 1));
  if (one.rank() >= kMaxRank) return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
  Shape out;
  for (int i = 0; i <= one.rank(); ++i) {
    if (i == axis) out.add_dim(c.num_inputs());
    if (i < one.rank()) out.add_dim(one.dim(i));
  }
  c.set_output(0, out);
  return ok_status();
}

class Pack final : public Kernel {
 public:
  explicit Pack(const KernelInit& init) : axis_(init.attrs.integer("axis")) {}
  Status run(KernelContext& c) override {
    const Shape& one = c.input(0).shape();
    ASSIGN_OR_RETURN(int axis, resolve_axis(axis_, one.rank() + 1));
    for (int i = 1; i < c.num_inputs(); ++i) {
      if (!(c.input(i).shape() == one)) {
        return invalid_argument(cat("Shapes of all inputs must match: values[0].shape = ", one.to_string(),
                                    " != values[", i, "].shape = ", c.input(i).shape().to_string()));
      }
    }
    if (c.input(0).num_elements() == 0) return ok_status();
    int64_t rows = product(one.dims().first(static_cast<size_t>(axis)));
    int64_t run = c.input(0).num_elements() / rows;
    Tensor& out = c.output(0);
    for (int i = 0; i < c.num_inputs(); ++i) {
      copy_rows(*c.parallel_, out.dtype(), c.input(i).raw(), run, element_at(out, i * run), run * c.num_inputs(), rows,
                run);
    }
    return ok_status();
  }

 private:
  int64_t axis_;
};

Status unpack_shape(ShapeContext& c) {
  const Shape& in = c.input(0);
  if (!in.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(int axis, resolve_axis(c.attrs().integer("axis"), in.rank()));
  RETURN_IF_ERROR(require_dim(in.dim(axis), c.num_outputs()).take_status());
  Shape out;
  for (int i = 0; i < in.rank(); ++i) {
    if (i != axis) out.add_dim(in.dim(i));
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, out);
  return ok_status();
}

class Unpack final : public Kernel {
 public:
  explicit Unpack(const KernelInit& init) : axis_(init.attrs.integer("axis")) {}
  Status run(KernelContext& c) override {
    const Tensor& in = c.input(0);
    ASSIGN_OR_RETURN(int axis, resolve_axis(axis_, in.shape().rank()));
    if (in.shape().dim(axis) != c.num_outputs()) {
      return invalid_argument(
          cat("Input shape axis ", axis, " must equal ", c.num_outputs(), ", got shape ", in.shape().to_string()));
    }
    if (in.num_elements() == 0) return ok_status();
    int64_t rows = product(in.shape().dims().first(static_cast<size_t>(axis)));
    int64_t pitch = in.num_elements() / rows;
    int64_t run = pitch / c.num_outputs();
    for (int i = 0; i < c.num_outputs(); ++i) {
      copy_rows(*c.parallel_, in.dtype(), element_at(in, i * run), pitch, c.output(i).raw(), run, rows, run);
    }
    return ok_status();
  }

 private:
  int64_t axis_;
};

Status pack_gradient(GradientContext& g) {
  Value parts = g.add(
      "Unpack", {g.grad(0)},
      {{"num", AttrValue::of(int64_t{g.num_inputs()})}, {"axis", AttrValue::of(g.attrs().integer("axis"))}}, "unstack");
  for (int i = 0; i < g.num_inputs(); ++i) g.set(i, parts.output(static_cast<uint32_t>(i)));
  return g.status();
}

Status unpack_gradient(GradientContext& g) {
  std::vector<Value> parts;
  for (int64_t i = 0; i < g.attrs().integer("num"); ++i) parts.push_back(g.grad(static_cast<int>(i)));
  if (!parts.empty()) g.set(0, g.pack(parts, g.attrs().integer("axis")));
  return g.status();
}

}  // namespace

OpDef pack_op() {
  return OpDef("Pack")
      .doc("Joins tensors of one shape along a new axis.")
      .traits({.partial_value = PartialValue::kPack})
      .shape(pack_shape)
      .cpu(kMovable, make<Pack>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<make<Pack>>)
      .gradient(pack_gradient);
}
OpDef unpack_op() {
  return OpDef("Unpack")
      .doc("Takes a tensor apart along an axis.")
      .shape(unpack_shape)
      .cpu(kMovable, make<Unpack>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<make<Unpack>>)
      .gradient(unpack_gradient);
}

}  // namespace emplace
