/// The device types of a device set in TensorFlow's order of preference, and lists of (type, kernel priority) that
/// nodes and groups can use, each kept once and intersected as numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/device/device.h"

namespace emplace {

/// Priority of a device type: GPU 210, CPU 70, XLA 50, anything else -1 (device factories of TensorFlow 2.21).
int device_type_priority(std::string_view type);

struct SupportedType {
  uint16_t type;  // position in TypeLists::types()
  int priority;   // of the kernel
  auto operator<=>(const SupportedType&) const = default;
};

using TypesId = uint32_t;
inline constexpr TypesId kNoTypes = 0;  // the empty list

class TypeLists {
 public:
  explicit TypeLists(const DeviceSet& devices);

  /// By priority, then name.
  const std::vector<std::string>& types() const { return types_; }
  /// Of a device, by its id.
  uint16_t type_of(DeviceId device) const { return type_of_[device]; }
  /// Position in types(), or -1.
  int find(std::string_view type) const;
  /// A type that no device has, but that a request may name.
  uint16_t add(std::string_view type);

  TypesId intern(std::vector<SupportedType> list);
  const std::vector<SupportedType>& at(TypesId id) const { return lists_[id]; }
  bool has(TypesId id, uint16_t type) const;
  /// What both support, ordered by the rules of the merge of `root` with `other`; kNoTypes: nothing.
  TypesId intersect(TypesId root, TypesId other);
  /// `list` without XLA types, unless nothing else is in it.
  TypesId without_xla(TypesId list);

 private:
  TypesId intersect_uncached(TypesId root, TypesId other);

  std::vector<std::string> types_;
  std::vector<uint16_t> type_of_;
  std::vector<std::vector<SupportedType>> lists_;
  std::map<std::vector<SupportedType>, TypesId> ids_;
  std::unordered_map<uint64_t, TypesId> intersections_;
};

/// XLA_CPU, XLA_GPU, TPU and the XLA_*_JIT types.
bool is_xla_type(std::string_view type);

}  // namespace emplace
