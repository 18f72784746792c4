/// Row splits: where the rows of a ragged tensor begin among its values, and where the last one ends.
#pragma once

#include <string_view>

#include "core/op/kernel.h"

namespace emplace {

/// Splits of any integer type. REQUIRES: they passed check_splits().
class RowSplits {
 public:
  explicit RowSplits(const Tensor& splits) : splits_(&splits) {}
  int64_t rows() const { return splits_->num_elements() - 1; }
  int64_t operator[](int64_t row) const { return int_at(*splits_, row); }
  int64_t length(int64_t row) const { return (*this)[row + 1] - (*this)[row]; }
  int64_t values() const { return (*this)[rows()]; }

 private:
  const Tensor* splits_;
};

/// InvalidArgument unless it is a vector from 0 that never falls, and ends at `values` (-1: anywhere).
Status check_splits(const Tensor& splits, std::string_view what, int64_t values = -1);
/// The nested splits in inputs [first, first + count): each ends at the next one's rows, the last at `values`.
Status check_nested_splits(const KernelContext& c, int first, int count, int64_t values);

}  // namespace emplace
