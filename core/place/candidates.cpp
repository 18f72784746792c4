#include "core/place/candidates.h"

#include <algorithm>
#include <iterator>

namespace emplace {

CandidateFinder::CandidateFinder(const DeviceSet& devices, const NameTable& names, const TypeLists& lists)
    : devices_(devices), names_(names), lists_(lists), by_type_(lists.types().size()) {
  for (DeviceId d = 0; d < devices.size(); ++d) by_type_[lists.type_of(d)].push_back(d);
  std::vector<char> local;
  for (DeviceId d = 0; d < devices.size(); ++d) local.push_back(devices.is_local(d));
  for (auto& ids : by_type_) {
    std::sort(ids.begin(), ids.end(), [&](DeviceId a, DeviceId b) {
      return local[a] != local[b] ? local[a] > local[b] : devices.at(a).name < devices.at(b).name;
    });
  }
  rank_.resize(devices.size());
  for (const auto& ids : by_type_) {
    for (uint32_t i = 0; i < ids.size(); ++i) rank_[ids[i]] = i;
  }
  for (DeviceId d = 0; d < devices.size(); ++d) {
    const DeviceName& name = devices.at(d).parsed;
    all_.push_back(d);
    if (name.job && name.task) by_task_[{*name.job, *name.task}].push_back(d);
  }
}

const std::vector<DeviceId>& CandidateFinder::may_match(const DeviceName& name) const {
  static const std::vector<DeviceId> none;
  if (!name.job || !name.task) return all_;
  const auto found = by_task_.find({*name.job, *name.task});
  return found == by_task_.end() ? none : found->second;
}

bool CandidateFinder::Found::contains(DeviceId d) const {
  return std::find(devices.begin(), devices.end(), d) != devices.end();
}

size_t CandidateFinder::KeyHash::operator()(const Key& k) const {
  const uint64_t low = uint64_t{k.assigned} << 32 | k.resource, high = uint64_t{k.requested} << 32 | k.types;
  return (low * 0x9e3779b97f4a7c15 ^ high) * 0xff51afd7ed558ccd >> 16;
}

const CandidateFinder::Found& CandidateFinder::find(const Member& root, bool soft) {
  const Key key{root.assigned, root.resource, root.requested, root.types};
  if (last_ && key == last_key_) return *last_;
  auto [it, is_new] = found_.try_emplace(key);
  if (is_new) it->second = compute(root, soft);
  last_key_ = key;
  last_ = &it->second;
  return *last_;
}

CandidateFinder::Found CandidateFinder::compute(const Member& root, bool soft) const {
  if (names_.at(root.requested).empty()) return {filter(nullptr, root.types), 0};
  Found found{filter(&names_.at(root.requested), root.types), 0};
  while (found.devices.empty() && soft && found.relaxed < 2) {
    const DeviceName name = relaxed_name(root, ++found.relaxed);
    found.devices = filter(&name, root.types);
  }
  return found;
}

DeviceName CandidateFinder::relaxed_name(const Member& root, int relaxed) const {
  DeviceName name = names_.at(root.requested);
  const DeviceName& assigned = names_.at(root.assigned);
  const DeviceName& resource = names_.at(root.resource);
  if (!assigned.type && (relaxed > 1 || !resource.type)) name.type.reset();
  if (!assigned.id && (relaxed > 1 || !resource.id)) name.id.reset();
  return name;
}

std::vector<DeviceId> CandidateFinder::filter(const DeviceName* pattern, TypesId types) const {
  std::vector<SupportedType> supported = lists_.at(types);
  std::stable_sort(supported.begin(), supported.end(), [](const SupportedType& a, const SupportedType& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.type < b.type;
  });
  std::vector<DeviceId> matching_ones;
  if (pattern) matching_ones = matching(*pattern);
  std::sort(matching_ones.begin(), matching_ones.end(), [&](DeviceId a, DeviceId b) { return rank_[a] < rank_[b]; });
  std::vector<DeviceId> out;
  for (const SupportedType& s : supported) {
    if (s.type >= by_type_.size()) continue;  // a type that was asked for, without devices
    const auto& ids = pattern ? matching_ones : by_type_[s.type];
    std::copy_if(ids.begin(), ids.end(), std::back_inserter(out),
                 [&](DeviceId d) { return lists_.type_of(d) == s.type; });
  }
  return out;
}

std::vector<DeviceId> CandidateFinder::matching(const DeviceName& name) const {
  std::vector<DeviceId> out;
  for (const DeviceId d : may_match(name)) {
    if (name.matches(devices_.at(d).parsed)) out.push_back(d);
  }
  return out;
}

}  // namespace emplace
