/// Reductions over any axes of a tensor: the shape rule, and a kernel that is not a template but calls a reduction's
/// code for runs and columns. Every order of combination follows from the shapes alone.
#pragma once

#include <memory>

#include "core/op/op_def.h"

namespace emplace {

/// One reduction for one element type. An accumulator is at most BlockReduction::kMaxAccumulatorBytes of plain bytes.
struct ReduceCode {
  size_t accumulator_bytes = 0;
  double cost_ns = 0.1;      // of one element
  bool of_one_is_it = true;  // what one element is reduced to
  /// The accumulator of n consecutive elements (n = 0: of the empty set).
  void (*partial)(const void* in, int64_t n, void* accumulator) = nullptr;
  /// into = into combined with `other`, which stands after it.
  void (*merge)(void* into, const void* other) = nullptr;
  /// Combines each column of a matrix with row stride `stride` (elements) into accumulators[column].
  void (*columns)(const void* in, int64_t rows, int64_t stride, int64_t cols, void* accumulators) = nullptr;
  /// The result of `count` accumulators, folded in order, which stand for n elements.
  void (*finish)(const void* accumulators, int64_t count, int64_t n, void* out) = nullptr;
};

/// Sum, Mean, All and so on: input 1 holds the axes, attr keep_dims.
Status reduction_shape(ShapeContext& c);

/// `code` lives forever. With `all_axes`, there is no input 1 and no keep_dims: everything is reduced (L2Loss).
std::unique_ptr<Kernel> make_reduction(const KernelInit& init, const ReduceCode& code, bool all_axes = false);

}  // namespace emplace
