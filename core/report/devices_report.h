/// What `emplace devices` prints.
#pragma once

#include <string>
#include <string_view>

#include "core/device/device.h"

namespace emplace {

/// The devices; then which card each GPU is (TensorFlow's id, CUDA's ordinal, position in the machine, PCI, UUID);
/// then links; then why there is no GPU, if there is none.
std::string devices_table(const DeviceSet& set);

/// {"schema_version": 1, "devices": [DeviceAttributes...], "physical_gpus": [...], "cause": null or text}: a document
/// that --devices @file reads back to the same devices.
std::string devices_json(const DeviceSet& set);

/// --parse NAME: {"valid": true, "canonical": "/job:..."} or {"valid": false}.
std::string parse_name_json(std::string_view name);
/// --parse NAME: the canonical name, or "malformed"; one line.
std::string parse_name_text(std::string_view name);

}  // namespace emplace
