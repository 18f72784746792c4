#include "core/graph/unique_names.h"

#include "core/base/cat.h"

namespace emplace {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

}  // namespace

void UniqueNames::take(std::string_view name) { asked_.emplace(lower(name), 1); }

std::string UniqueNames::unique(std::string_view name) {
  std::string made = next(name);
  const std::string key = lower(name), key_made = lower(made);
  ++asked_[key];
  if (key_made != key) asked_[key_made] = 1;
  return made;
}

std::string UniqueNames::next(std::string_view name) const {
  const std::string key = lower(name);
  auto known = asked_.find(key);
  uint32_t asked = known == asked_.end() ? 0 : known->second;
  if (asked == 0) return std::string(name);
  while (asked_.contains(cat(key, "_", asked))) ++asked;
  return cat(name, "_", asked);
}

}  // namespace emplace
