#include "core/ops/reduce/bincount_layout.h"

#include "core/base/cat.h"

namespace emplace {

Result<BincountLayout> BincountLayout::of(const KernelContext& c, bool binary) {
  const Shape &numbers = c.input(0).shape(), &weights = c.input(2).shape();
  if (c.input(1).num_elements() != 1)
    return invalid_argument(cat("Shape must be rank 0 but is rank ", c.input(1).shape().rank()));
  const int64_t size = int_at(c.input(1), 0);
  if (size < 0) return invalid_argument(cat("size (", size, ") must be non-negative"));
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
