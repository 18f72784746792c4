// InTopK, InTopKV2: is a row's target among its k largest predictions?
#include <cmath>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status in_top_k_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape predictions, c.with_rank(0, 2));
  ASSIGN_OR_RETURN(const Shape targets, c.with_rank(1, 1));
  ASSIGN_OR_RETURN(const int64_t rows,
                   ShapeContext::merge_dim(dim_or_unknown(predictions, 0), dim_or_unknown(targets, 0)));
  c.set_output(0, Shape{rows});
  return ok_status();
}

/// Ties count for the target. A row with a number that is not finite has no largest ones.
bool is_in_top(const float* row, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes) return false;
  const float wanted = row[target];
  int64_t larger = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (!std::isfinite(row[i])) return false;
    larger += row[i] > wanted;
  }
  return larger < k;
}

class InTopK final : public Kernel {
 public:
  explicit InTopK(const KernelInit& init) : k_(init.attrs.find("k") ? init.attrs.integer("k") : 0) {}
  Status run(KernelContext& c) override {
    const Shape &predictions = c.input(0).shape(), &targets = c.input(1).shape();
    int64_t k = k_;
    if (c.num_inputs() == 3) {
      if (c.input(2).shape().rank() != 0)
        return invalid_argument(cat("k must be 0-D, got shape ", c.input(2).shape().to_string()));
      k = int_at(c.input(2), 0);
    }
    if (predictions.rank() != 2)
      return invalid_argument(cat("predictions must be 2-dimensional, got shape ", predictions.to_string()));
    if (targets.rank() != 1)
      return invalid_argument(cat("targets must be 1-dimensional, got shape ", targets.to_string()));
    const int64_t rows = predictions.dim(0), classes = predictions.dim(1);
    if (rows != targets.dim(0)) {
      return invalid_argument(
          cat("First dimension of predictions ", rows, " must match length of targets ", targets.dim(0)));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, targets));
    c.parallel_for(rows, 0.6 * static_cast<double>(classes), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        c.out<bool>(0)[r] = is_in_top(c.in<float>(0) + r * classes, classes, int_at(c.input(1), r), k);
    });
    return ok_status();
  }

 private:
  const int64_t k_;
};

OpDef in_top(std::string_view name, std::string_view doc) {
  return OpDef(name).doc(doc).shape(in_top_k_shape).cpu(DTypeSet{DType::kInt32, DType::kInt64}, make<InTopK>);
}

}  // namespace

OpDef in_top_k_op() { return in_top("InTopK", "For each row of predictions: is the target among the k largest?"); }
OpDef in_top_k_v2_op() {
  return in_top("InTopKV2", "For each row of predictions: is the target among the k largest? k is an input.");
}

}  // namespace emplace
