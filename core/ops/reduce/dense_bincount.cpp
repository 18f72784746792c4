// DenseBincount: how often each number occurs, or the sum of its weights, in a vector or in each row.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/reduce/bincount_layout.h"

namespace emplace {
namespace {

Status bincount_shape(ShapeContext& c) {
  const Shape& in = c.input(0);
  RETURN_IF_ERROR(require_rank_at_most(in, 2).take_status());
  ASSIGN_OR_RETURN(const std::optional<int64_t> known, scalar_value(c, 1));
  if (known && *known < 0) return invalid_argument(cat("size (", *known, ") must be non-negative"));
  const int64_t size = known.value_or(-1);
  if (!in.rank_known()) return ok_status();
  c.set_output(0, in.rank() == 2 ? Shape{in.dim(0), size} : Shape{size});
  return ok_status();
}

template <class T>
class DenseBincount final : public Kernel {
 public:
  explicit DenseBincount(const KernelInit& init) : binary_(init.attrs.flag("binary_output")) {}

  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const BincountLayout layout, BincountLayout::of(c, binary_));
    RETURN_IF_ERROR(ensure_output(c, 0, layout.out));
    fill_zeros(*c.parallel_, c.output(0));
    T* out = c.out<T>(0);
    for (int64_t i = 0; i < c.input(0).num_elements(); ++i) {
      const int64_t number = int_at(c.input(0), i);
      if (number < 0) return invalid_argument("Input arr must be non-negative!");
      if (number >= layout.size) continue;
      T& at = out[i / layout.row * layout.size + number];
      at = binary_ ? T(1) : static_cast<T>(at + (layout.weighted ? c.in<T>(2)[i] : T(1)));
    }
    return ok_status();
  }

 private:
  const bool binary_;
};

}  // namespace

OpDef dense_bincount_op() {
  return OpDef("DenseBincount")
      .doc("How often each number below size occurs in a vector or in each row, or the sum of its weights.")
      .shape(bincount_shape)
      .kernel_attr("T")
      .value_inputs({1})
      .cpu<float>(make<DenseBincount<float>>)
      .cpu<double>(make<DenseBincount<double>>)
      .cpu<int32_t>(make<DenseBincount<int32_t>>)
      .cpu<int64_t>(make<DenseBincount<int64_t>>)
      .not_differentiable();
}

}  // namespace emplace
