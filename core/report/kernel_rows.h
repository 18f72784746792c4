/// The kernels of an op, gathered into few rows: kernels that differ in one constraint only become one.
#pragma once

#include <string>
#include <vector>

#include "core/op/signature.h"

namespace emplace {

struct KernelRow {
  struct Constraint {
    std::string attr;
    std::vector<std::string> values;  // dtypes as in_order() has them, others by text
  };
  std::string device_type, label;
  int priority = 0;
  std::vector<Constraint> constraints;
  std::vector<std::string> host_memory_args;
};

std::vector<KernelRow> gather_kernels(const std::vector<KernelSignature>& kernels);

}  // namespace emplace
