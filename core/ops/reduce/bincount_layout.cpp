#include "core/ops/reduce/bincount_layout.h"

#include "core/base/cat.h"

namespace emplace {

namespace {

Result<int64_t> number_of_bins(const KernelContext& c) {
  if (c.input(1).num_elements() != 1)
    return invalid_argument(cat("Shape must be rank 0 but is rank ", c.input(1).shape().rank()));
  const int64_t size = int_at(c.input(1), 0);
  if (size < 0) return invalid_argument(cat("size (", size, ") must be non-negative"));
  return size;
}

}  // namespace

Result<BincountLayout> BincountLayout::of_all(const KernelContext& c) {
  ASSIGN_OR_RETURN(const int64_t size, number_of_bins(c));
  const int64_t numbers = c.input(0).num_elements(), weights = c.input(2).num_elements();
  if (weights > 0 && weights != numbers)
    return invalid_argument(
        cat("Input indices and weights must have the same size, have ", numbers, " and ", weights, " elements"));
  return BincountLayout{1, numbers, size, weights > 0, {size}};
}

Result<BincountLayout> BincountLayout::of(const KernelContext& c, bool binary) {
  const Shape &numbers = c.input(0).shape(), &weights = c.input(2).shape();
  ASSIGN_OR_RETURN(const int64_t size, number_of_bins(c));
  if (numbers.rank() > 2) return invalid_argument(cat("Shape must be at most rank 2 but is rank ", numbers.rank()));
  if (weights.num_elements() > 0 && weights != numbers) {
    return invalid_argument(
        cat("`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it "
            "acts as all weights equal to 1. Received ",
            weights.to_string()));
  }
  const bool weighted = weights.num_elements() > 0 && !binary;
  if (numbers.rank() == 2)
    return BincountLayout{numbers.dim(0), numbers.dim(1), size, weighted, {numbers.dim(0), size}};
  return BincountLayout{1, numbers.num_elements(), size, weighted, {size}};
}

}  // namespace emplace
