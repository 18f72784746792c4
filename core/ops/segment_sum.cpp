// SegmentSum and UnsortedSegmentSum: rows summed by the number they carry.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/element.h"
#include "core/ops/index_text.h"
#include "core/ops/row_ops.h"
#include "core/ops/shape_math.h"

namespace emplace {
namespace {

Status segment_sum_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape data, c.with_rank_at_least(0, 1));
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  ASSIGN_OR_RETURN(Shape row, subshape(data, 1));
  c.set_output(0, concat_shapes(Shape{-1}, row));
  return ok_status();
}

Status unsorted_segment_sum_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(2, 0).take_status());
  const Shape& ids = c.input(1);
  if (!ids.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(Shape data, c.with_rank_at_least(0, ids.rank()));
  for (int i = 0; data.rank_known() && i < ids.rank(); ++i) {
    RETURN_IF_ERROR(ShapeContext::merge_dim(data.dim(i), ids.dim(i)).take_status());
  }
  ASSIGN_OR_RETURN(int64_t segments, dim_from_scalar(c, 2));
  ASSIGN_OR_RETURN(Shape row, subshape(data, ids.rank()));
  c.set_output(0, concat_shapes(Shape{segments}, row));
  return ok_status();
}

// Output rows are the sums of the data rows with their number; negative numbers count for nothing. Workers share
// the columns, so every sum is made in the order of the rows.
void sum_rows(KernelContext& c, const Tensor& data, const Tensor& ids, int64_t row) {
  Tensor& out = c.output(0);
  with_element(out.dtype(), [&]<class E>(E zero) {
    fill_elements(*c.parallel_, out.dtype(), &zero, out.raw(), out.num_elements());
  });
  RowOp add = row_add(out.dtype());
  c.parallel_for(row, 0.5 * static_cast<double>(ids.num_elements()), [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
      int64_t id = index_at(ids, i);
      if (id >= 0) add(element_at(out, id * row + begin), element_at(data, i * row + begin), end - begin);
    }
  });
}

Status segment_sum_cpu(KernelContext& c) {
  const Tensor& data = c.input(0);
  const Tensor& ids = c.input(1);
  if (data.shape().rank() < 1) return invalid_argument("data must be at least rank 1");
  int64_t rows = data.shape().dim(0);
  if (ids.shape().rank() != 1 || ids.num_elements() != rows) {
    return invalid_argument("segment_ids should be the same size as dimension 0 of input.");
  }
  for (int64_t i = 0; i < rows; ++i) {
    if (int_at(ids, i) < 0) return invalid_argument("segment ids must be >= 0");
    if (i > 0 && int_at(ids, i) < int_at(ids, i - 1)) return invalid_argument("segment ids are not increasing");
  }
  Shape shape = data.shape();
  if (rows > 0) {
    ASSIGN_OR_RETURN(shape.dim(0), add_dims(int_at(ids, rows - 1), 1));
  }
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  if (data.num_elements() > 0) sum_rows(c, data, ids, data.num_elements() / rows);
  return ok_status();
}

Status unsorted_segment_sum_cpu(KernelContext& c) {
  const Tensor& data = c.input(0);
  const Tensor& ids = c.input(1);
  const Shape &d = data.shape(), &s = ids.shape();
  if (c.input(2).num_elements() != 1) {
    return invalid_argument(cat("num_segments should be a scalar, not shape ", c.input(2).shape().to_string()));
  }
  int64_t segments = int_at(c.input(2), 0);
  if (segments < 0)
    return invalid_argument("Input num_segments == " + std::to_string(segments) + " must not be negative.");
  bool prefix = s.rank() <= d.rank() && std::equal(s.dims().begin(), s.dims().end(), d.dims().begin());
  if (!prefix) {
    return invalid_argument(
        cat("data.shape = ", d.to_string(), " does not start with segment_ids.shape = ", s.to_string()));
  }
  Shape shape{segments};
  for (int i = s.rank(); i < d.rank(); ++i) shape.add_dim(d.dim(i));
  for (int64_t i = 0; i < ids.num_elements(); ++i) {
    if (index_at(ids, i) < segments) continue;
    return invalid_argument(cat("segment_ids", place_text(s, s.rank(), i), " = ", index_at(ids, i),
                                " is out of range [0, ", segments, ")"));
  }
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  if (c.output(0).num_elements() > 0) sum_rows(c, data, ids, c.output(0).num_elements() / segments);
  return ok_status();
}

}  // namespace

OpDef segment_sum_op() {
  return OpDef("SegmentSum")
      .doc("Row k is the sum of the rows of data whose segment id, which never falls, is k.")
      .shape(segment_sum_shape)
      .cpu(kNumbers, stateless<segment_sum_cpu>);
}
OpDef unsorted_segment_sum_op() {
  return OpDef("UnsortedSegmentSum")
      .doc("Row k is the sum of the rows of data whose segment id is k; negative ids count for nothing.")
      .shape(unsorted_segment_sum_shape)
      .cpu(kNumbers, stateless<unsorted_segment_sum_cpu>)
      .value_inputs({2});
}

}  // namespace emplace
