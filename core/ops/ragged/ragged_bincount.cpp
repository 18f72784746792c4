// RaggedBincount: how often each number stands in each row of a ragged matrix.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/ragged/row_splits.h"

namespace emplace {
namespace {

Status ragged_bincount_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(2, 0).take_status());
  ASSIGN_OR_RETURN(const std::optional<int64_t> size, scalar_value(c, 2));
  if (size && *size < 0) return invalid_argument(cat("size (", *size, ") must be non-negative"));
  const int64_t splits = c.input(0).rank_known() && c.input(0).rank() == 1 ? c.input(0).dim(0) : -1;
  c.set_output(0, Shape{splits < 0 ? -1 : splits - 1, size.value_or(-1)});
  return ok_status();
}

template <class T>
class RaggedBincount final : public Kernel {
 public:
  explicit RaggedBincount(const KernelInit& init) : binary_(init.attrs.flag("binary_output")) {}

  Status run(KernelContext& c) override {
    const Tensor &values = c.input(1), &weights = c.input(3);
    const int64_t size = int_at(c.input(2), 0);
    if (size < 0) return invalid_argument(cat("size (", size, ") must be non-negative"));
    RETURN_IF_ERROR(check_splits(c.input(0), "Splits", values.num_elements()));
    if (weights.num_elements() != 0 && !(weights.shape() == values.shape()))
      return invalid_argument(cat("weights must be empty or of the shape of values, ", values.shape().to_string(),
                                  "; got ", weights.shape().to_string()));
    const RowSplits splits(c.input(0));
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{splits.rows(), size}));
    T* out = c.out<T>(0);
    std::fill_n(out, c.output(0).num_elements(), T(0));
    for (int64_t row = 0; row < splits.rows(); ++row, out += size) {
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        const int64_t bin = int_at(values, i);
        if (bin < 0) return invalid_argument("Input must be non-negative");
        if (bin >= size) continue;
        if (binary_) {
          out[bin] = T(1);
        } else {
          out[bin] = static_cast<T>(out[bin] + (weights.num_elements() == 0 ? T(1) : c.in<T>(3)[i]));
        }
      }
    }
    return ok_status();
  }

 private:
  bool binary_;
};

}  // namespace

OpDef ragged_bincount_op() {
  return OpDef("RaggedBincount")
      .doc("For each row, given by splits, the sum of the weights (or ones) of each number below size.")
      .shape(ragged_bincount_shape)
      .kernel_attr("T")
      .cpu<int32_t>(make<RaggedBincount<int32_t>>)
      .cpu<int64_t>(make<RaggedBincount<int64_t>>)
      .cpu<float>(make<RaggedBincount<float>>)
      .cpu<double>(make<RaggedBincount<double>>)
      .not_differentiable();
}

}  // namespace emplace
