#include "core/op/permutation.h"

namespace emplace {

bool permutes_dimensions(const OpDef* def) {
  static const OpDef* const transpose = OpLibrary::find("Transpose");
  return def && def == transpose;
}

}  // namespace emplace
