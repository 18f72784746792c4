/// NumPy broadcasting as loops: operands of known shapes are described by as few dimensions as possible, the innermost
/// of which is a run in which every operand either advances or stands still.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/scratch_vector.h"
#include "core/base/shape.h"

namespace emplace {

struct BroadcastPlan {
  static constexpr int kMaxInputs = 3;
  using Offsets = std::array<int64_t, kMaxInputs>;  // one per input, in elements

  std::vector<int64_t> dims;     // of the output, outermost first; at least one
  std::vector<Offsets> strides;  // per dimension

  int64_t run_length() const { return dims.back(); }
  const Offsets& run_strides() const { return strides.back(); }
  /// Number of runs.
  int64_t runs() const;
  /// One run covers everything.
  bool flat() const { return dims.size() == 1; }
};

/// REQUIRES: every input broadcasts to `out`; at most kMaxInputs of them.
BroadcastPlan plan_broadcast(std::span<const Shape* const> inputs, const Shape& out);

/// Where the inputs of run after run begin.
class RunCursor {
 public:
  RunCursor(const BroadcastPlan& plan, int64_t first_run);
  const BroadcastPlan::Offsets& offsets() const { return offsets_; }
  void next();

 private:
  const BroadcastPlan& plan_;
  ScratchVector<int64_t> index_;
  BroadcastPlan::Offsets offsets_{};
};

}  // namespace emplace
