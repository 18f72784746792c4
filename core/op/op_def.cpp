#include "core/op/op_def.h"

namespace emplace {

DTypeSet OpDef::cpu_types() const {
  DTypeSet all;
  for (const Entry& e : cpu_) all = all | e.types;
  return all;
}

KernelMaker OpDef::cpu_kernel(DType type) const {
  for (const Entry& e : cpu_) {
    if (e.types.has(base_type(type))) return e.maker;
  }
  return nullptr;
}

}  // namespace emplace
