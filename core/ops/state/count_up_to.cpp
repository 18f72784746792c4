// CountUpTo, ResourceCountUpTo: a variable that counts, until it has reached a limit.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/state/variable_state.h"

namespace emplace {
namespace {

Status counter_reference_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 0).take_status());
  c.set_output(0, Shape{});
  return ok_status();
}

Status counter_handle_shape(ShapeContext& c) {
  c.set_output(0, Shape{});
  const HandleInfo* handle = c.input_handle(0);
  if (!handle) return ok_status();
  const DType type = c.attrs().type("T");
  if (handle->dtype != type) {
    return invalid_argument(
        cat("Data types do not match: ", dtype_tf_name(type), " and ", dtype_tf_name(handle->dtype)));
  }
  if (!handle->shape.rank_known() || handle->shape.rank() == 0) return ok_status();
  return invalid_argument(cat("Shape must be rank 0 but is rank ", handle->shape.rank()));
}

class CountUpTo final : public Kernel {
 public:
  explicit CountUpTo(const KernelInit& init) : limit_(init.attrs.integer("limit")) {}
  Status run(KernelContext& c) override {
    Variable& v = c.variable(0);
    std::lock_guard lock(v.mutex);
    if (!v.value.valid()) return is_ref(c.input(0).dtype()) ? uninitialized(v) : no_such_variable(v);
    if (v.dtype != c.output(0).dtype()) return wrong_type(v, "count", c.output(0).dtype());
    if (v.value.shape().rank() != 0)
      return invalid_argument(cat("input is not a scalar: ", v.value.shape().to_string()));
    return v.dtype == DType::kInt32 ? count<int32_t>(c, v) : count<int64_t>(c, v);
  }

 private:
  template <class T>
  Status count(KernelContext& c, Variable& v) const {
    const T now = *v.value.data<T>();
    if (now >= limit_) return out_of_range(cat("Reached limit of ", limit_));
    RETURN_IF_ERROR(own_value(c, v));
    *v.value.data<T>() = static_cast<T>(now + 1);
    *c.out<T>(0) = now;
    return ok_status();
  }

  const int64_t limit_;
};

OpDef counting(std::string_view name, std::string_view doc, ShapeRule shape) {
  return OpDef(name)
      .doc(doc)
      .traits({.writes_variable = true})
      .shape(shape)
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, make<CountUpTo>);
}

}  // namespace

OpDef count_up_to_op() {
  return counting("CountUpTo", "The reference's value, which then grows by 1; an error once it has reached the limit.",
                  counter_reference_shape);
}
OpDef resource_count_up_to_op() {
  return counting("ResourceCountUpTo",
                  "The variable's value, which then grows by 1; an error once it has reached the limit.",
                  counter_handle_shape)
      .kernel_attr("T");
}

}  // namespace emplace
