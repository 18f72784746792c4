/// The variables of one update, locked. One variable given twice is locked once; the order is the same everywhere, so
/// that steps beside each other cannot deadlock.
#pragma once

#include <array>
#include <span>

#include "core/op/kernel.h"

namespace emplace {

inline constexpr int kMaxUpdatedVariables = 4;

class LockedVariables {
 public:
  /// Those behind inputs [0, count).
  LockedVariables(const KernelContext& c, int count);
  ~LockedVariables();
  LockedVariables(const LockedVariables&) = delete;
  LockedVariables& operator=(const LockedVariables&) = delete;
  Variable& operator[](size_t i) const { return *variables_[i]; }

  /// Are all assigned, of one shape, and of the gradient's type and (if `whole`) shape? `gradient` is an input; `names`
  /// are those of the inputs.
  Status check(const KernelContext& c, int gradient, std::span<const char* const> names, bool whole = true) const;

 private:
  using Pointers = std::array<Variable*, kMaxUpdatedVariables>;
  Pointers variables_ = {}, in_order_ = {};
  Pointers::iterator end_;
  int count_;
};

/// Does a gradient of rows fit a variable of that shape, and `indices` name as many?
Status check_gradient_rows(const Shape& variable, const Shape& gradient, const Shape& indices);

}  // namespace emplace
