#include "core/place/device_types.h"

#include <algorithm>

namespace emplace {

int device_type_priority(std::string_view type) {
  if (type == "GPU") return 210;
  if (type == "CPU") return 70;
  if (type == "XLA_CPU" || type == "XLA_GPU") return 50;
  return -1;
}

bool is_xla_type(std::string_view type) {
  return type == "XLA_CPU" || type == "XLA_GPU" || type == "TPU" ||
         (type.starts_with("XLA_") && type.ends_with("_JIT"));
}

TypeLists::TypeLists(const DeviceSet& devices) {
  for (const Device& d : devices.devices) types_.push_back(d.type);
  std::sort(types_.begin(), types_.end(), [](const std::string& a, const std::string& b) {
    const int pa = device_type_priority(a), pb = device_type_priority(b);
    return pa != pb ? pa > pb : a < b;
  });
  types_.erase(std::unique(types_.begin(), types_.end()), types_.end());
  for (const Device& d : devices.devices) type_of_.push_back(static_cast<uint16_t>(find(d.type)));
  intern({});
}

int TypeLists::find(std::string_view type) const {
  const auto it = std::find(types_.begin(), types_.end(), type);
  return it == types_.end() ? -1 : static_cast<int>(it - types_.begin());
}

uint16_t TypeLists::add(std::string_view type) {
  if (const int known = find(type); known >= 0) return static_cast<uint16_t>(known);
  types_.emplace_back(type);
  return static_cast<uint16_t>(types_.size() - 1);
}

TypesId TypeLists::intern(std::vector<SupportedType> list) {
  auto [it, is_new] = ids_.try_emplace(std::move(list), static_cast<TypesId>(lists_.size()));
  if (is_new) lists_.push_back(it->first);
  return it->second;
}

bool TypeLists::has(TypesId id, uint16_t type) const {
  return std::any_of(lists_[id].begin(), lists_[id].end(), [type](const SupportedType& s) { return s.type == type; });
}

TypesId TypeLists::intersect(TypesId root, TypesId other) {
  if (root == other) return root;
  const uint64_t key = uint64_t{root} << 32 | other;
  auto [it, is_new] = intersections_.try_emplace(key, kNoTypes);
  if (is_new) it->second = intersect_uncached(root, other);
  return it->second;
}

TypesId TypeLists::intersect_uncached(TypesId root, TypesId other) {
  const auto common = [this](TypesId of, TypesId with) {
    std::vector<SupportedType> list;
    for (const SupportedType& s : lists_[of]) {
      if (has(with, s.type)) list.push_back(s);
    }
    std::sort(list.begin(), list.end(), [](const SupportedType& a, const SupportedType& b) {
      return a.priority != b.priority ? a.priority > b.priority : a.type < b.type;
    });
    return list;
  };
  const auto prioritized = [](const std::vector<SupportedType>& list) {
    return std::any_of(list.begin(), list.end(), [](const SupportedType& s) { return s.priority != 0; });
  };
  const auto same_order = [](const std::vector<SupportedType>& a, const std::vector<SupportedType>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const SupportedType& x, const SupportedType& y) { return x.type == y.type; });
  };
  std::vector<SupportedType> mine = common(root, other), theirs = common(other, root);
  if (!prioritized(theirs)) return intern(std::move(mine));
  if (!prioritized(mine)) return intern(std::move(theirs));
  if (same_order(mine, theirs)) return intern(std::move(mine));
  // The two disagree: back to the order of types.
  for (SupportedType& s : mine) s.priority = 0;
  std::sort(mine.begin(), mine.end());
  return intern(std::move(mine));
}

TypesId TypeLists::without_xla(TypesId list) {
  std::vector<SupportedType> kept;
  for (const SupportedType& s : lists_[list]) {
    if (!is_xla_type(types_[s.type])) kept.push_back(s);
  }
  return kept.empty() || kept.size() == lists_[list].size() ? list : intern(std::move(kept));
}

}  // namespace emplace
