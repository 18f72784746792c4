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
  std::string inner(function);
  for (; origin != kFile; origin = list_[origin].caller) {
    const Origin& o = list_[origin];
    if (o.function.empty()) continue;
    inner = cat(o.function, " -> ", inner);
    if (o.function == function) {
      path = std::move(inner);
      return true;
    }
  }
  return false;
}

}  // namespace emplace
