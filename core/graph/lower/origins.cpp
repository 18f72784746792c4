#include "core/graph/lower/origins.h"

#include "core/base/cat.h"

namespace emplace {

std::string Origins::chain_text(uint32_t origin) const {
  std::string text;
  for (; origin != kFile; origin = list_[origin].caller) {
    const Origin& o = list_[origin];
    if (!text.empty()) text += ", ";
    if (o.function.empty()) {
      append(text, "made of '", o.node, '\'');
    } else {
      append(text, "in function '", o.function, "', called by '", o.node, '\'');
    }
  }
  return text;
}

bool Origins::is_inside(uint32_t origin, std::string_view function, std::string& path) const {
  const auto around = [&](uint32_t o) { return list_[o].function == function; };
  uint32_t outermost = origin;
  while (outermost != kFile && !around(outermost)) outermost = list_[outermost].caller;
  if (outermost == kFile) return false;
  std::string inner(function);
  for (; origin != kFile; origin = list_[origin].caller) {
    const Origin& o = list_[origin];
    if (o.function.empty()) continue;
    inner = cat(o.function, " -> ", inner);
    if (origin == outermost) break;
  }
  path = std::move(inner);
  return true;
}

}  // namespace emplace
