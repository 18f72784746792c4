/// SparseTensor: the three inputs that a sparse tensor is for a kernel: places, the values there, and the sizes of the
/// whole.
#pragma once

#include <algorithm>
#include <numeric>
#include <string_view>

#include "core/base/scratch_vector.h"
#include "core/base/status.h"
#include "core/op/kernel.h"
#include "core/op/shape_context.h"
#include "core/ops/kit/numeric.h"

namespace emplace {

/// What values of T are summed up in.
template <class T>
using Summed = std::conditional_t<kIsHalf<T>, float, T>;

struct SparseTensor {
  const int64_t* indices = nullptr;  // `count` places of `rank` numbers
  int64_t count = 0, rank = 0;
  const int64_t* sizes = nullptr;

  /// Of indices, values and shape at these inputs. Their forms are checked, the places are not.
  static Result<SparseTensor> of(const KernelContext& c, int indices, int values, int shape);

  const int64_t* place(int64_t i) const { return indices + i * rank; }
  /// "indices[3] is out of bounds": all places lie inside.
  Status check_places() const;
  /// -1, 0, 1 as place i lies before, at or behind place k of `other`, whose rank is the same.
  int compare(int64_t i, const SparseTensor& other, int64_t k) const;
  /// The places' numbers in the order of rows; equal ones as they come.
  ScratchVector<int64_t> order() const;
  /// Elements of the whole; an error if they cannot be counted.
  Result<int64_t> num_elements() const;
};

/// Shape rule: rank-2 indices, a vector of values and one of sizes, at these inputs.
Status sparse_inputs(const ShapeContext& c, int indices, int values, int shape);
/// The rank that inputs say, or -1.
int64_t sparse_rank(const ShapeContext& c, int indices, int shape);

}  // namespace emplace
