/// DeviceName: a full or partial device name, with TensorFlow's grammar, relations and merge rules
/// (tensorflow/core/util/device_name_utils.cc).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

struct DeviceName {
  std::optional<std::string> job;
  std::optional<int> replica, task;
  std::optional<std::string> type;
  std::optional<int> id;

  /// "/job:a/replica:0/task:1/device:GPU:0", components in any order, the last of a kind counts; "/cpu:0" too.
  /// Nothing if malformed, or if a number does not fit an int (TensorFlow narrows it).
  static std::optional<DeviceName> parse(std::string_view full_name);
  /// "GPU:0" without slash.
  static std::optional<DeviceName> parse_local(std::string_view local_name);

  /// Canonical form; absent fields are skipped, a type without id gets ":*", an id without type is not printed.
  std::string to_string() const;
  /// The part that names a process: "/job:a/replica:0/task:1".
  std::string task_name() const;
  /// The part that names a device of a process: "/device:GPU:0".
  std::string local_name() const;
  bool empty() const { return !job && !replica && !task && !type && !id; }
  bool complete() const { return job && replica && task && type && id; }
  bool operator==(const DeviceName&) const = default;

  /// Every field present here is present in `more` and equal.
  bool is_specification_of(const DeviceName& more) const;
  /// `full` is complete and every field present here is equal in it.
  bool matches(const DeviceName& full) const;
  bool compatible_with(const DeviceName& other) const;
  bool same_address_space(const DeviceName& other) const;
  /// Some of job, replica, task is present in both and differs.
  bool different_address_space(const DeviceName& other) const;
  /// Copies every field present in `less` over this.
  void ensure_specification(const DeviceName& less);
};

enum class MergeMode { kStrict, kSoft, kOverride };
/// InvalidArgument "Cannot merge devices with incompatible ...". On error `target` may hold the fields merged before.
Status merge(DeviceName& target, const DeviceName& other, MergeMode mode);

/// The complete name that `name` (local or full, perhaps partial) means with the missing fields from `base`.
Result<std::string> canonicalize(std::string_view name, std::string_view base);

}  // namespace emplace
