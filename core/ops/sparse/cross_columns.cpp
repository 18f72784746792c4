#include "core/ops/sparse/cross_columns.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {

Status CrossColumns::take(const KernelContext& c, int sparse, int dense) {
  *this = {};
  for (int i = 0; i < sparse; ++i)
    RETURN_IF_ERROR(take_sparse(c.input(i), c.input(sparse + i), c.input(2 * sparse + i), i));
  for (int i = 0; i < dense; ++i) {
    const Shape& shape = c.input(3 * sparse + i).shape();
    if (shape.rank() != 2) {
      return invalid_argument(
          cat("Dense inputs should be a matrix but received shape ", shape.to_string(), " at position ", i));
    }
  }
  batch_ = sparse > 0 ? int_at(c.input(2 * sparse), 0) : dense > 0 ? c.input(0).shape().dim(0) : 0;
  for (int i = 0; i < sparse; ++i) {
    const int64_t rows = int_at(c.input(2 * sparse + i), 0);
    if (rows != batch_) return invalid_argument(cat("Expected batch size ", batch_, " got ", rows, " at position ", i));
  }
  for (int i = 0; i < dense; ++i) {
    const Tensor& matrix = c.input(3 * sparse + i);
    if (matrix.shape().dim(0) != batch_) {
      return invalid_argument(
          cat("Expected batch size ", batch_, " got ", matrix.shape().dim(0), " at dense tensor ", i));
    }
    values_.push_back(&matrix);
  }
  find_rows();
  return ok_status();
}

// A row whose index falls behind that of the row before is not read, nor is what follows, as TensorFlow does it.
Status CrossColumns::take_sparse(const Tensor& indices, const Tensor& values, const Tensor& shape, int i) {
  if (indices.shape().rank() != 2) {
    return invalid_argument(
        cat("Input indices should be a matrix but received shape ", indices.shape().to_string(), " at position ", i));
  }
  if (indices.shape().dim(1) != 2)
    return invalid_argument(cat("Expected D2 of index to be 2 got ", indices.shape().dim(1), " at position ", i));
  if (values.shape().rank() != 1) {
    return invalid_argument(
        cat("Input values should be a vector but received shape ", values.shape().to_string(), " at position ", i));
  }
  const int64_t count = indices.shape().dim(0);
  if (values.num_elements() != count) {
    return invalid_argument(
        cat("Expected size of values to be ", count, " got ", values.num_elements(), " at position ", i));
  }
  if (shape.shape().rank() != 1) {
    return invalid_argument(
        cat("Input shapes should be a vector but received shape ", shape.shape().to_string(), " at position ", i));
  }
  if (shape.num_elements() != 2) {
    return invalid_argument(
        cat("shape should imply a 2D tensor, but got ", shape.shape().to_string(), " at position ", i));
  }
  std::vector<Start> starts;
  for (int64_t at = 0; at < count; ++at) {
    const int64_t row = int_at(indices, 2 * at);
    if (!starts.empty() && starts.back().row == row) {
      ++starts.back().run.count;
    } else if (row < (starts.empty() ? 0 : starts.back().row) || row >= int_at(shape, 0)) {
      break;
    } else {
      starts.push_back({row, {at, 1}});
    }
  }
  starts_.push_back(std::move(starts));
  values_.push_back(&values);
  return ok_status();
}

void CrossColumns::find_rows() {
  for (size_t column = starts_.size(); column < values_.size(); ++column) {
    if (values_[column]->shape().dim(1) == 0) return;
  }
  if (starts_.empty()) {
    for (int64_t row = 0; row < batch_ && !values_.empty(); ++row) rows_.push_back(row);
    return;
  }
  std::vector<size_t> at(starts_.size());
  for (const Start& start : starts_[0]) {
    std::vector<CrossRun> runs;
    for (size_t column = 0; column < starts_.size(); ++column) {
      const std::vector<Start>& others = starts_[column];
      while (at[column] < others.size() && others[at[column]].row < start.row) ++at[column];
      if (at[column] == others.size()) return;
      if (others[at[column]].row != start.row) break;
      runs.push_back(others[at[column]].run);
    }
    if (runs.size() < starts_.size()) continue;
    rows_.push_back(start.row);
    runs_.insert(runs_.end(), runs.begin(), runs.end());
  }
}

CrossRun CrossColumns::run(size_t k, size_t column) const {
  if (!is_dense(column)) return runs_[k * starts_.size() + column];
  const int64_t width = values_[column]->shape().dim(1);
  return {rows_[k] * width, width};
}

}  // namespace emplace
