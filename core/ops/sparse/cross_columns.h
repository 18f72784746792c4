/// The columns that SparseCross and its kin combine: features of each row of a batch, from sparse and dense matrices.
#pragma once

#include <vector>

#include "core/op/kernel.h"

namespace emplace {

/// Where the features of one row begin among a column's values, and how many there are.
struct CrossRun {
  int64_t first = 0, count = 0;
};

class CrossColumns {
 public:
  /// `sparse`: how many of the inputs indices, values, shapes there are of each; `dense`: how many matrices follow.
  /// InvalidArgument, in TensorFlow's words, for inputs of other forms or batches of other sizes.
  Status take(const KernelContext& c, int sparse, int dense);

  int64_t batch() const { return batch_; }
  size_t count() const { return values_.size(); }
  const Tensor& values(size_t column) const { return *values_[column]; }
  bool is_dense(size_t column) const { return column >= starts_.size(); }
  /// Rows in which every column has a feature, in order.
  const std::vector<int64_t>& rows() const { return rows_; }
  /// Of the `k`-th of rows().
  CrossRun run(size_t k, size_t column) const;

 private:
  struct Start {
    int64_t row;
    CrossRun run;
  };

  Status take_sparse(const Tensor& indices, const Tensor& values, const Tensor& shape, int i);
  void find_rows();

  int64_t batch_ = 0;
  std::vector<const Tensor*> values_;       // sparse columns first
  std::vector<std::vector<Start>> starts_;  // of each sparse column, in order of rows
  std::vector<int64_t> rows_;
  std::vector<CrossRun> runs_;  // of each row, the sparse columns'
};

}  // namespace emplace
