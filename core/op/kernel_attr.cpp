#include "core/op/kernel_attr.h"

namespace emplace {

std::string_view kernel_attr(const OpSignature& op, const OpDef* def) {
  if (def && !def->kernel_attr_name().empty()) return def->kernel_attr_name();
  constexpr AttrType kType{AttrKind::kType, false};
  std::string_view first;
  for (const AttrSignature& a : op.attrs) {
    if (a.type != kType) continue;
    if (a.name == "T") return a.name;
    if (first.empty()) first = a.name;
  }
  return first;
}

}  // namespace emplace
