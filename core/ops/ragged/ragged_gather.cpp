// RaggedGather: rows of a ragged tensor, by their numbers.
#include <optional>
#include <utility>
#include <vector>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/ragged/row_splits.h"

namespace emplace {
namespace {

Status ragged_gather_shape(ShapeContext& c) {
  const auto depth = static_cast<int>(c.attrs().integer("PARAMS_RAGGED_RANK"));
  const auto out_depth = static_cast<int>(c.attrs().integer("OUTPUT_RAGGED_RANK"));
  for (int i = 0; i < depth; ++i) RETURN_IF_ERROR(c.with_rank(i, 1).take_status());
  const Shape &values = c.input(depth), &indices = c.input(depth + 1);
  if (indices.rank_known() && indices.rank() + depth - 1 != out_depth)
    return invalid_argument(cat("Shape must be rank ", out_depth - depth + 1, " but is rank ", indices.rank()));
  for (int i = 0; i < out_depth; ++i) c.set_output(i, Shape{-1});
  if (values.rank_known()) {
    ASSIGN_OR_RETURN(const Shape inner, subshape(values, 1));
    c.set_output(out_depth, concat_shapes(Shape{-1}, inner));
  }
  return ok_status();
}

/// Values [begin, end), one run behind the other.
using Runs = ScratchVector<std::pair<int64_t, int64_t>>;

class RaggedGather final : public Kernel {
 public:
  explicit RaggedGather(const KernelInit& init) : depth_(static_cast<int>(init.attrs.integer("PARAMS_RAGGED_RANK"))) {}

  Status run(KernelContext& c) override {
    const Tensor &values = c.input(depth_), &indices = c.input(depth_ + 1);
    if (values.shape().rank() == 0) return invalid_argument("params.rank must be nonzero");
    RETURN_IF_ERROR(check_nested_splits(c, 0, depth_, values.shape().dim(0)));
    RETURN_IF_ERROR(check_indices(c, indices));
    // Dimensions of `indices` but the last are rows of equal length.
    int out = 0;
    Shape rows;
    for (int d = 0; d + 1 < indices.shape().rank(); ++d) {
      rows.add_dim(indices.shape().dim(d));
      const std::optional<int64_t> count = rows.checked_num_elements();
      if (!count) return invalid_argument(cat("indices of shape ", indices.shape().to_string(), " have too many rows"));
      RETURN_IF_ERROR(put_even_splits(c, out++, *count, indices.shape().dim(d + 1)));
    }
    Runs runs;  // rows at first, then what they consist of, dimension by dimension
    runs.reserve(static_cast<size_t>(indices.num_elements()));
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      const int64_t row = int_at(indices, i);
      runs.emplace_back(row, row + 1);
    }
    for (int d = 0; d < depth_; ++d) RETURN_IF_ERROR(put_splits(c, out++, RowSplits(c.input(d)), runs));
    return copy_runs(c, out, values, runs);
  }

 private:
  Status check_indices(const KernelContext& c, const Tensor& indices) const {
    const int64_t rows = c.input(0).num_elements() - 1;
    if (indices.shape().rank() == 0) return invalid_argument("indices.rank must be nonzero");
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      const int64_t row = int_at(indices, i);
      if (row < 0 || row >= rows)
        return invalid_argument(cat("indices[", i, "] = ", row, " is not in [0, ", rows, ")"));
    }
    return ok_status();
  }
  static Status put_even_splits(KernelContext& c, int output, int64_t rows, int64_t length) {
    RETURN_IF_ERROR(ensure_output(c, output, Shape{rows + 1}));
    with_index(c.output(output).dtype(), [&]<class I>(I) {
      for (int64_t row = 0; row <= rows; ++row) c.out<I>(output)[row] = static_cast<I>(row * length);
    });
    return ok_status();
  }
  /// The lengths of the rows in `runs`, which become runs of what the rows consist of.
  static Status put_splits(KernelContext& c, int output, const RowSplits& splits, Runs& runs) {
    int64_t rows = 0;
    for (auto [begin, end] : runs) rows += end - begin;
    RETURN_IF_ERROR(ensure_output(c, output, Shape{rows + 1}));
    with_index(c.output(output).dtype(), [&]<class I>(I) {
      I* to = c.out<I>(output);
      int64_t last = 0;
      *to++ = 0;
      for (auto& [begin, end] : runs) {
        for (int64_t row = begin; row < end; ++row) *to++ = static_cast<I>(last += splits.length(row));
        begin = splits[begin];
        end = splits[end];
      }
    });
    return ok_status();
  }
  static Status copy_runs(KernelContext& c, int out, const Tensor& values, const Runs& runs) {
    Shape shape = values.shape();
    shape.dim(0) = 1;
    const int64_t pitch = shape.num_elements();
    shape.dim(0) = 0;
    for (auto [begin, end] : runs) shape.dim(0) += end - begin;
    RETURN_IF_ERROR(ensure_output(c, out, shape));
    Tensor& to = c.output(out);
    int64_t at = 0;
    for (auto [begin, end] : runs) {
      copy_elements(to.dtype(), element_at(values, begin * pitch), element_at(to, at * pitch), (end - begin) * pitch);
      at += end - begin;
    }
    return ok_status();
  }

  int depth_;
};

// Which value each result is: the same gather of the values' numbers. A value that was taken twice has both gradients.
Status ragged_gather_gradient(GradientContext& g) {
  const int depth = g.num_inputs() - 2;
  const Value values = g.input(depth);
  const Value count = g.element(g.shape_of(values), 0);
  std::vector<Value> inputs;
  for (int i = 0; i < depth; ++i) inputs.push_back(g.input(i));
  inputs.push_back(g.range(g.index(0), count, g.index(1)));
  inputs.push_back(g.input(depth + 1));
  const auto out_depth = static_cast<uint32_t>(g.attrs().integer("OUTPUT_RAGGED_RANK"));
  const Value numbers =
      g.add("RaggedGather", inputs, g.copy_attrs({"PARAMS_RAGGED_RANK", "OUTPUT_RAGGED_RANK", "Tsplits", "Tindices"}));
  g.set(depth, g.add("UnsortedSegmentSum", {g.grad(static_cast<int>(out_depth)), numbers.output(out_depth), count}));
  return g.status();
}

}  // namespace

OpDef ragged_gather_op() {
  return OpDef("RaggedGather")
      .doc(
          "Rows of a ragged tensor, given by splits and values, by their numbers: splits and values of what was taken.")
      .shape(ragged_gather_shape)
      .kernel_attr("Tvalues")
      .cpu(kMovable, make<RaggedGather>)
      .gradient(ragged_gather_gradient);
}

}  // namespace emplace
