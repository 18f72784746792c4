#include "cuda/kernel_table.h"

namespace emplace::cuda {

#define EMPLACE_FAMILY(name) void add_##name(KernelTable& table);
#include "cuda/ops/families.inc"
#undef EMPLACE_FAMILY

const KernelTable& kernel_table() {
  static const KernelTable kTable = [] {
    KernelTable table;
#define EMPLACE_FAMILY(name) add_##name(table);
#include "cuda/ops/families.inc"
#undef EMPLACE_FAMILY
    return table;
  }();
  return kTable;
}

}  // namespace emplace::cuda
