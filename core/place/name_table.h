/// The device names of one placement, each kept once, so that names are compared as numbers and merges are cheap.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/device/device_name.h"

namespace emplace {

using NameId = uint32_t;
inline constexpr NameId kNoName = 0;  // the empty name: asks for nothing

class NameTable {
 public:
  NameTable();

  NameId intern(const DeviceName& name);
  /// Nothing if malformed.
  std::optional<NameId> parse(std::string_view full_name);
  const DeviceName& at(NameId id) const { return names_[id]; }
  std::string text(NameId id) const { return names_[id].to_string(); }

  bool compatible(NameId a, NameId b) const;
  /// As merge() of device_name.h; nothing is changed on error.
  Result<NameId> merge(NameId target, NameId other, MergeMode mode);
  /// `more` with every field that `less` names taken from it.
  NameId specify(NameId more, NameId less);

 private:
  std::deque<DeviceName> names_;
  std::map<std::string, NameId> ids_;               // by a text that keeps every field
  std::unordered_map<std::string, NameId> parsed_;  // by the text as written
  std::unordered_map<uint64_t, NameId> merged_;     // by both names and the mode: what worked
};

}  // namespace emplace
