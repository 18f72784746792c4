#include "core/place/name_table.h"

#include "core/base/cat.h"

namespace emplace {
namespace {

// Unlike the canonical form, this tells "/device:*:3" from "".
std::string key_of(const DeviceName& n) {
  std::string key;
  if (n.job) append(key, "j", *n.job);
  if (n.replica) append(key, "/r", *n.replica);
  if (n.task) append(key, "/t", *n.task);
  if (n.type) append(key, "/d", *n.type);
  if (n.id) append(key, "/i", *n.id);
  return key;
}

}  // namespace

NameTable::NameTable() { intern(DeviceName{}); }

NameId NameTable::intern(const DeviceName& name) {
  auto [it, is_new] = ids_.try_emplace(key_of(name), static_cast<NameId>(names_.size()));
  if (is_new) names_.push_back(name);
  return it->second;
}

std::optional<NameId> NameTable::parse(std::string_view full_name) {
  const std::string text(full_name);
  if (auto it = parsed_.find(text); it != parsed_.end()) return it->second;
  const std::optional<DeviceName> name = DeviceName::parse(full_name);
  if (!name) return std::nullopt;
  const NameId id = intern(*name);
  parsed_.emplace(text, id);
  return id;
}

bool NameTable::compatible(NameId a, NameId b) const {
  return a == b || a == kNoName || b == kNoName || names_[a].compatible_with(names_[b]);
}

Result<NameId> NameTable::merge(NameId target, NameId other, MergeMode mode) {
  if (target == other || other == kNoName) return target;
  if (target == kNoName) return other;
  const uint64_t key = (uint64_t{target} << 32 | other) * 3 + static_cast<uint64_t>(mode);
  if (auto it = merged_.find(key); it != merged_.end()) return it->second;
  DeviceName name = names_[target];
  RETURN_IF_ERROR(emplace::merge(name, names_[other], mode));
  const NameId id = intern(name);
  merged_.emplace(key, id);
  return id;
}

NameId NameTable::specify(NameId more, NameId less) {
  if (less == kNoName || more == less) return more;
  DeviceName name = names_[more];
  name.ensure_specification(names_[less]);
  return intern(name);
}

}  // namespace emplace
