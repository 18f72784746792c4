// RaggedTensorToVariant, its gradient, RaggedTensorFromVariant: ragged tensors, or their rows, as elements of a
// variant.
#include <utility>
#include <vector>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/list/elements.h"
#include "core/ops/ragged/ragged_stack.h"
#include "core/ops/ragged/row_splits.h"

namespace emplace {
namespace {

constexpr DTypeSet kEncoded = kMovable.without(kTiny).without(DTypeSet{DType::kResource});

Tensor ragged_variant(ListElements splits_and_values) {
  const DType type = splits_and_values[splits_and_values.size() - 1].dtype();
  return list_tensor({type, Shape::unknown(), -1, std::move(splits_and_values), Held::kRagged});
}

class ToVariant final : public Kernel {
 public:
  explicit ToVariant(const KernelInit& init)
      : depth_(static_cast<int>(init.attrs.integer("RAGGED_RANK"))), batched_(init.attrs.flag("batched_input")) {}

  Status run(KernelContext& c) override {
    const Tensor& values = c.input(depth_);
    if (!batched_) {
      ListElements all;
      for (int i = 0; i <= depth_; ++i) all.push_back(c.input(i));
      c.forward_output(0, ragged_variant(std::move(all)));
      return ok_status();
    }
    if (values.shape().rank() == 0) return invalid_argument("Can't unbatch rank-0 tensor.");
    RETURN_IF_ERROR(check_nested_splits(c, 0, depth_, values.shape().dim(0)));
    const int64_t rows = depth_ == 0 ? values.shape().dim(0) : RowSplits(c.input(0)).rows();
    RETURN_IF_ERROR(check_list_size(rows));
    ListElements variants;
    for (int64_t row = 0; row < rows; ++row) {
      ASSIGN_OR_RETURN(Tensor variant, row_variant(c, row));
      variants.push_back(std::move(variant));
    }
    c.forward_output(0, variants_tensor(Shape{rows}, std::move(variants)));
    return ok_status();
  }

 private:
  /// Its splits count from its own first value; the values share the tensor's buffer.
  Result<Tensor> row_variant(KernelContext& c, int64_t row) const {
    const Tensor& values = c.input(depth_);
    ListElements parts;
    if (depth_ == 0) {
      parts.push_back(row_of(values, row));
      return ragged_variant(std::move(parts));
    }
    const RowSplits outer(c.input(0));
    int64_t begin = outer[row], end = outer[row + 1];
    for (int d = 1; d < depth_; ++d) {
      const RowSplits splits(c.input(d));
      const int64_t first = splits[begin], last = splits[end];
      ASSIGN_OR_RETURN(Tensor own, c.allocator_->allocate(c.input(d).dtype(), Shape{end - begin + 1}));
      with_index(own.dtype(), [&]<class I>(I) {
        for (int64_t i = begin; i <= end; ++i) own.data<I>()[i - begin] = static_cast<I>(splits[i] - first);
      });
      parts.push_back(std::move(own));
      begin = first;
      end = last;
    }
    parts.push_back(rows_of(values, begin, end - begin));
    return ragged_variant(std::move(parts));
  }

  const int depth_;
  const bool batched_;
};

Status to_variant_shape(ShapeContext& c) {
  const auto depth = static_cast<int>(c.attrs().integer("RAGGED_RANK"));
  for (int i = 0; i < depth; ++i) RETURN_IF_ERROR(c.with_rank(i, 1).take_status());
  ASSIGN_OR_RETURN(const Shape values, c.with_rank_at_least(depth, 1));
  if (!c.attrs().flag("batched_input")) {
    c.set_output(0, Shape{});
    return ok_status();
  }
  if (depth > 0) {
    const Shape& splits = c.input(0);
    const int64_t count = splits.rank_known() ? splits.dim(0) : -1;
    c.set_output(0, Shape{count > 0 ? count - 1 : -1});
    return ok_status();
  }
  c.set_output(0, Shape{values.rank_known() ? values.dim(0) : -1});
  return ok_status();
}

class FromVariant final : public Kernel {
 public:
  explicit FromVariant(const KernelInit& init)
      : inner_(init.attrs.integer("input_ragged_rank")),
        depth_(static_cast<int>(init.attrs.integer("output_ragged_rank"))),
        values_(init.output_types.back()),
        splits_(init.attrs.type("Tsplits")) {}

  Status run(KernelContext& c) override {
    const Tensor& encoded = c.input(0);
    const int rank = encoded.shape().rank();
    int64_t inner = inner_;
    if (inner == -1) {
      inner = depth_ == 0 ? 0 : depth_ - rank;
      if (inner < 0) {
        return invalid_argument(
            cat("Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, found "
                "output_ragged_rank: ",
                depth_, ", encoded_variant.dims(): ", rank, ", inferred input_ragged_rank: ", inner));
      }
    }
    if (depth_ != rank + inner && (depth_ != 0 || inner != 0)) {
      return invalid_argument(cat(
          "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); output_ragged_rank: ", depth_,
          ", input_ragged_rank: ", inner, ", encoded_variant.dims(): ", rank, "."));
    }
    RaggedStack stack{static_cast<int>(inner), values_, splits_, depth_ > 0, {}};
    for (int64_t i = 0; i < encoded.num_elements(); ++i) RETURN_IF_ERROR(stack.add(variant_at(encoded, i)));
    if (rank == 0) return stack.put_alone(c);
    return depth_ == 0 ? stack.put_dense(c) : stack.put_ragged(c, encoded.shape());
  }

 private:
  const int64_t inner_;
  const int depth_;
  const DType values_, splits_;
};

Status from_variant_shape(ShapeContext& c) {
  const int64_t inner = c.attrs().integer("input_ragged_rank");
  const auto depth = static_cast<int>(c.attrs().integer("output_ragged_rank"));
  const Shape& encoded = c.input(0);
  if (inner >= 0 && encoded.rank_known() && encoded.rank() + inner != depth)
    return invalid_argument(cat("Shape must be rank ", depth - inner, " but is rank ", encoded.rank()));
  for (int i = 0; i < depth; ++i) c.set_output(i, Shape{-1});
  return ok_status();
}

/// The gradients of the rows' values, one after the other; zeros for rows that nothing depends on.
class ToVariantGradient final : public Kernel {
 public:
  explicit ToVariantGradient(const KernelInit&) {}

  Status run(KernelContext& c) override {
    const Tensor &encoded = c.input(0), &splits = c.input(1);
    ASSIGN_OR_RETURN(const Shape shape, element_shape_in(c.input(2)));
    if (!shape.fully_known()) return invalid_argument("dense_values_shape has unknown sizes");
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    Tensor& to = c.output(0);
    const int64_t rows = shape.rank() > 0 ? shape.dim(0) : 1;
    const int64_t pitch = rows > 0 ? to.num_elements() / rows : 0;
    const bool whole = encoded.shape().rank() == 0;
    if (!whole) {
      RETURN_IF_ERROR(check_splits(splits, "row_splits"));
      if (splits.num_elements() != encoded.num_elements() + 1)
        return invalid_argument(cat("row_splits of ", splits.num_elements(), " for ", encoded.num_elements(), " rows"));
    }
    int64_t at = 0;
    for (int64_t i = 0; i < encoded.num_elements(); ++i) {
      const Tensor variant = variant_at(encoded, i);
      Tensor values;
      if (variant.valid()) {
        ASSIGN_OR_RETURN(values, ragged_values(variant, i, to.dtype()));
      }
      const int64_t missing = whole ? to.num_elements() : RowSplits(splits).length(i) * pitch;
      const int64_t count = values.valid() ? values.num_elements() : missing;
      if (count > to.num_elements() - at) return does_not_fit(shape);
      if (values.valid()) {
        copy_elements(to.dtype(), values.raw(), element_at(to, at), count);
      } else {
        Tensor part = Tensor::wrap(to.dtype(), Shape{count}, element_at(to, at));
        fill_zeros(*c.parallel_, part);
      }
      at += count;
    }
    return at == to.num_elements() ? ok_status() : does_not_fit(shape);
  }

 private:
  static Status does_not_fit(const Shape& shape) {
    return invalid_argument(
        cat("the gradients of the rows have not as many values as dense_values_shape ", shape.to_string()));
  }
};

Status to_variant_gradient_shape(ShapeContext& c) {
  c.set_output(0, c.input_as_shape(2));
  return ok_status();
}

Status to_variant_gradient(GradientContext& g) {
  const int values = g.num_inputs() - 1;
  const AttrValue type = AttrValue::of(g.attrs().type("Tvalues"));
  const AttrValue index = AttrValue::of(g.attrs().type("Tsplits"));
  Value splits = g.input(0);
  if (values == 0) {
    splits = g.attrs().type("Tsplits") == DType::kInt32 ? g.constant(Tensor::scalar<int32_t>(0))
                                                        : g.constant(Tensor::scalar<int64_t>(0));
  }
  g.set(values, g.add("RaggedTensorToVariantGradient", {g.grad(0), splits, g.shape_of(g.input(values))},
                      {{"Tvalues", type}, {"Tsplits", index}}));
  return g.status();
}

Status from_variant_gradient(GradientContext& g) {
  const auto depth = static_cast<int>(g.attrs().integer("output_ragged_rank"));
  const Shape& encoded = g.shape(g.input(0));
  if (encoded.rank_known() && encoded.rank() > 1)
    return unimplemented("the gradient of RaggedTensorFromVariant for a variant of more than one dimension");
  const bool batched = encoded.rank_known() ? encoded.rank() == 1 : depth > 0;
  std::vector<Value> parts;
  parts.reserve(static_cast<size_t>(depth) + 1);
  for (int i = 0; i < depth; ++i) parts.push_back(g.output(i));
  parts.push_back(g.grad(depth));
  g.set(0, g.add("RaggedTensorToVariant", parts,
                 {{"RAGGED_RANK", AttrValue::of(int64_t{depth})},
                  {"Tvalues", AttrValue::of(g.attrs().type("Tvalues"))},
                  {"Tsplits", AttrValue::of(g.attrs().type("Tsplits"))},
                  {"batched_input", AttrValue::of(batched)}}));
  return g.status();
}

}  // namespace

OpDef ragged_tensor_to_variant_op() {
  return OpDef("RaggedTensorToVariant")
      .doc("A ragged tensor as one variant, or each of its rows as an element of one.")
      .traits({.element_attr = "Tvalues"})
      .shape(to_variant_shape)
      .kernel_attr("Tvalues")
      .cpu(kEncoded, make<ToVariant>)
      .provides_outputs()
      .gradient(to_variant_gradient);
}
OpDef ragged_tensor_from_variant_op() {
  return OpDef("RaggedTensorFromVariant")
      .doc("The ragged tensor in a variant, or that whose rows are in its elements: splits and values.")
      .shape(from_variant_shape)
      .kernel_attr("Tvalues")
      .cpu(kEncoded, make<FromVariant>)
      .provides_outputs()
      .gradient(from_variant_gradient);
}
OpDef ragged_tensor_to_variant_gradient_op() {
  return OpDef("RaggedTensorToVariantGradient")
      .doc("The gradients of a ragged tensor's values, from those of its rows.")
      .shape(to_variant_gradient_shape)
      .kernel_attr("Tvalues")
      .cpu(kEncoded, make<ToVariantGradient>)
      .value_inputs({2})
      .not_differentiable();
}

}  // namespace emplace
