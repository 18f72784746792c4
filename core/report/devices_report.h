/// What `emplace devices` prints.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/device/device.h"

namespace emplace {

/// The devices; then which card each GPU is (TensorFlow's id, CUDA's ordinal, position in the machine, PCI, UUID);
/// then links; then why there is no GPU, if there is none. `line_width`: of the terminal; 0: there is none.
std::string devices_table(const DeviceSet& set, size_t line_width);

/// A task of a cluster, as it says of itself.
struct TaskRow {
  std::string name, address, version;
  uint64_t incarnation = 0;
  int64_t devices = 0, sessions = 0;
};
/// The tasks, the master first.
std::string tasks_table(std::span<const TaskRow> tasks, size_t line_width);

/// {"schema_version": 1, "devices": [DeviceAttributes...], "physical_gpus": [...], "cause": null or text}: a document
/// that --devices @file reads back to the same devices. With tasks: "tasks": [...], too.
std::string devices_json(const DeviceSet& set, std::span<const TaskRow> tasks = {});

/// --parse NAME: {"valid": true, "canonical": "/job:..."} or {"valid": false}.
std::string parse_name_json(std::string_view name);
/// --parse NAME: the canonical name, or "malformed"; one line.
std::string parse_name_text(std::string_view name);

}  // namespace emplace
