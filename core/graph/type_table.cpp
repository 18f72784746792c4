#include "core/graph/type_table.h"

namespace emplace {
namespace {

template <class T>
std::span<const T> keep_in(std::unordered_map<std::string_view, std::span<const T>>& known,
                           std::deque<std::vector<T>>& lists, std::span<const T> list) {
  auto bytes = [](std::span<const T> l) {
    return std::string_view(reinterpret_cast<const char*>(l.data()), l.size_bytes());
  };
  if (list.empty()) return {};
  if (auto it = known.find(bytes(list)); it != known.end()) return it->second;
  std::span<const T> kept = lists.emplace_back(list.begin(), list.end());
  known.emplace(bytes(kept), kept);
  return kept;
}

}  // namespace

std::span<const DType> TypeTable::keep(std::span<const DType> types) {
  return keep_in(dtype_lists_, graph_.type_lists_.dtypes, types);
}

std::span<const uint16_t> TypeTable::keep(std::span<const uint16_t> args) {
  return keep_in(arg_lists_, graph_.type_lists_.args, args);
}

uint32_t TypeTable::add(const Key& key, NodeType type) {
  auto id = static_cast<uint32_t>(keys_.size());
  graph_.types_.push_back(type);
  outputs_.push_back(type.output_types);
  keys_.push_back({key.op, key.attr_set, keep(key.inputs)});
  if (keys_.size() * 2 > slots_.size()) {
    grow();
  } else {
    const uint64_t hash = hash_of(key);
    size_t i = hash & (slots_.size() - 1);
    while (slots_[i].type != kNone) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {hash, id};
  }
  return id;
}

void TypeTable::grow() {
  slots_.assign(slots_.size() * 2, {});
  for (uint32_t id = 0; id < keys_.size(); ++id) {
    const uint64_t hash = hash_of(keys_[id]);
    size_t i = hash & (slots_.size() - 1);
    while (slots_[i].type != kNone) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {hash, id};
  }
}

}  // namespace emplace
