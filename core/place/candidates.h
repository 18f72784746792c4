/// The devices on which a group may be, best first (ColocationGraph::GetDevicesForNode in colocation_graph.cc). Answers
/// are kept per (names, types), so most nodes cost a look-up.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/place/groups.h"

namespace emplace {

class CandidateFinder {
 public:
  CandidateFinder(const DeviceSet& devices, const NameTable& names, const TypeLists& lists);

  struct Found {
    std::vector<DeviceId> devices;  // empty: the group cannot be placed
    uint8_t relaxed = 0;            // 1: type and id of the request were dropped; 2: those of resources too
    bool contains(DeviceId d) const;
  };
  /// `root` is a group's root member. The answer stays valid.
  const Found& find(const Member& root, bool soft);

  /// Devices that match a partial name, device-set order.
  std::vector<DeviceId> matching(const DeviceName& name) const;
  /// What is left of a group's request once soft placement has dropped type and id: of the request (relaxed 1), or
  /// also where a resource asks for them (relaxed 2).
  DeviceName relaxed_name(const Member& root, int relaxed) const;

 private:
  struct Key {
    NameId assigned, resource, requested;
    TypesId types;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const;
  };
  /// In the order of the set: those of the task that the name says, or all if it says none.
  const std::vector<DeviceId>& may_match(const DeviceName& name) const;
  Found compute(const Member& root, bool soft) const;
  std::vector<DeviceId> filter(const DeviceName* pattern, TypesId types) const;

  const DeviceSet& devices_;
  const NameTable& names_;
  const TypeLists& lists_;
  std::vector<std::vector<DeviceId>> by_type_;  // devices of a type: local ones first, then by name as a string
  std::vector<uint32_t> rank_;                  // by device: its place there
  // A cluster asks for as many names as it has tasks: looking through all devices for each would be their square.
  std::map<std::pair<std::string, int>, std::vector<DeviceId>> by_task_;  // by job and number
  std::vector<DeviceId> all_;
  std::unordered_map<Key, Found, KeyHash> found_;
  Key last_key_{};
  const Found* last_ = nullptr;
};

}  // namespace emplace
