#include "core/graph/attr_position.h"

#include <optional>

#include "core/graph/json_walker.h"

namespace emplace {
namespace {

/// Behind the node's name, at the value of its member `wanted`; nothing if that is not found there.
std::optional<JsonWalker> walk_to(std::string_view text, int64_t name_position, std::string_view wanted) {
  if (name_position < 0 || static_cast<size_t>(name_position) >= text.size()) return std::nullopt;
  JsonWalker walker(text, static_cast<size_t>(name_position));
  if (walker.peek() != '"') return std::nullopt;
  walker.skip_value();
  std::string_view key;
  size_t key_position = 0;
  while (walker.next_member(key, key_position)) {
    if (key == wanted) return walker;
    walker.skip_value();
  }
  return std::nullopt;
}

}  // namespace

int64_t attr_position(std::string_view text, int64_t name_position, std::string_view attr) {
  std::optional<JsonWalker> walker = walk_to(text, name_position, "attr");
  if (!walker || !walker->take('{')) return name_position;
  std::string_view key;
  size_t key_position = 0;
  while (walker->next_member(key, key_position)) {
    if (key == attr) return static_cast<int64_t>(key_position);
    walker->skip_value();
  }
  return name_position;
}

int64_t op_position(std::string_view text, int64_t name_position) {
  std::optional<JsonWalker> walker = walk_to(text, name_position, "op");
  return walker && walker->peek() == '"' ? static_cast<int64_t>(walker->position()) : name_position;
}

int64_t input_position(std::string_view text, int64_t name_position, size_t input) {
  std::optional<JsonWalker> walker = walk_to(text, name_position, "input");
  if (!walker || walker->peek() != '[') return name_position;
  const auto list = static_cast<int64_t>(walker->position());
  walker->take('[');
  for (size_t i = 0; walker->peek() != ']' && walker->peek() != '\0'; ++i) {
    if (i == input) return static_cast<int64_t>(walker->position());
    walker->skip_value();
    walker->take(',');
  }
  return list;
}

}  // namespace emplace
