#include "core/ops/ragged/row_splits.h"

#include "core/base/cat.h"

namespace emplace {

Status check_splits(const Tensor& splits, std::string_view what, int64_t values) {
  if (splits.shape().rank() != 1 || splits.num_elements() == 0)
    return invalid_argument(
        cat(what, " must be a vector of at least one element, got shape ", splits.shape().to_string()));
  if (int_at(splits, 0) != 0) return invalid_argument(cat(what, " must start with 0, got ", int_at(splits, 0)));
  for (int64_t i = 1; i < splits.num_elements(); ++i) {
    if (int_at(splits, i) < int_at(splits, i - 1))
      return invalid_argument(
          cat(what, " must not fall: ", int_at(splits, i - 1), " and then ", int_at(splits, i), " at ", i));
  }
  const int64_t last = int_at(splits, splits.num_elements() - 1);
  if (values >= 0 && last != values)
    return invalid_argument(cat(what, " must end with ", values, ", the number of values, got ", last));
  return ok_status();
}

Status check_nested_splits(const KernelContext& c, int first, int count, int64_t values) {
  for (int i = 0; i < count; ++i) {
    const int64_t inner = i + 1 < count ? c.input(first + i + 1).num_elements() - 1 : values;
    RETURN_IF_ERROR(check_splits(c.input(first + i), cat("nested_splits[", i, "]"), inner));
  }
  return ok_status();
}

}  // namespace emplace
