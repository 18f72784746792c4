/// DescribedKernel: a kernel that chooses among ways to do its work, and says which it chose.
#pragma once

#include <string>

#include "core/op/kernel.h"

namespace emplace {

class DescribedKernel : public Kernel {
 public:
  /// After prepare(): how it does its work on this processor, and why so.
  virtual std::string describe() const = 0;
};

/// Empty: there was nothing to choose.
inline std::string description(const Kernel* kernel) {
  const auto* described = dynamic_cast<const DescribedKernel*>(kernel);
  return described ? described->describe() : std::string();
}

}  // namespace emplace
