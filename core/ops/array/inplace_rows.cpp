// InplaceUpdate, InplaceAdd, InplaceSub: a tensor with some of its rows changed. The indices count from either end, and
// go round.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/row_ops.h"

namespace emplace {
namespace {

Status unchanged_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return ok_status();
}

Status check_rows(const Shape& x, const Shape& i, const Shape& v) {
  if (i.rank() != 1) return invalid_argument(cat("i must be a vector. ", i.to_string()));
  if (x.rank() != v.rank() || x.rank() == 0) {
    return invalid_argument(cat("x and v shape doesn't match (ranks differ): ", x.to_string(), " vs. ", v.to_string()));
  }
  for (int d = 1; d < x.rank(); ++d) {
    if (x.dim(d) == v.dim(d)) continue;
    return invalid_argument(
        cat("x and v shape doesn't match at index ", d, " : ", x.to_string(), " vs. ", v.to_string()));
  }
  if (i.dim(0) == v.dim(0)) return ok_status();
  return invalid_argument(cat("i and x shape doesn't match at index 0: ", i.to_string(), " vs. ", v.to_string()));
}

/// `op` null: assign.
Status change_rows(KernelContext& c, RowOp op) {
  const Tensor &x = c.input(0), &i = c.input(1), &v = c.input(2);
  RETURN_IF_ERROR(check_rows(x.shape(), i.shape(), v.shape()));
  RETURN_IF_ERROR(ensure_output(c, 0, x.shape()));
  Tensor& out = c.output(0);
  copy_elements(*c.parallel_, x.dtype(), x.raw(), out.raw(), x.num_elements());
  if (x.num_elements() == 0) return ok_status();
  const int64_t rows = x.shape().dim(0), row = x.num_elements() / rows;
  for (int64_t k = 0; k < i.num_elements(); ++k) {
    const int64_t at = (int_at(i, k) % rows + rows) % rows;
    const void* from = element_at(v, k * row);
    void* to = element_at(out, at * row);
    op == nullptr ? copy_elements(x.dtype(), from, to, row) : op(to, from, row);
  }
  return ok_status();
}

Status unsupported(DType type) { return invalid_argument(cat("Unsupported data type: ", dtype_tf_name(type))); }

Status update_cpu(KernelContext& c) {
  const DType type = c.input(0).dtype();
  return kAllData.has(type) ? change_rows(c, nullptr) : unsupported(type);
}
template <RowOp (*kOp)(DType)>
Status change_cpu(KernelContext& c) {
  const DType type = c.input(0).dtype();
  return kNumbers.has(type) ? change_rows(c, kOp(type)) : unsupported(type);
}

OpDef changing_rows(std::string_view name, std::string_view doc, KernelMaker maker) {
  return OpDef(name).doc(doc).shape(unchanged_shape).cpu(maker);
}

}  // namespace

OpDef inplace_update_op() {
  return changing_rows("InplaceUpdate", "x with v[k] as its row i[k].", stateless<update_cpu>);
}
OpDef inplace_add_op() {
  return changing_rows("InplaceAdd", "x with v[k] added to its row i[k].", stateless<change_cpu<row_add>>);
}
OpDef inplace_sub_op() {
  return changing_rows("InplaceSub", "x with v[k] subtracted from its row i[k].", stateless<change_cpu<row_subtract>>);
}

}  // namespace emplace
