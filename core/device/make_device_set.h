/// The devices of this machine, simulated ones or described ones, as the options say.
#pragma once

#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/device/device_options.h"

namespace emplace {

/// Can what the options say be read? Of what make_device_set() says, all that no machine changes; a described file that
/// is no regular one (a pipe) is left alone.
Status check_device_options(const DeviceOptions& options);

/// Makes the set: CPUs first, then GPUs by id; full names and files in the order in which they are written.
/// `environment` looks up CUDA_VISIBLE_DEVICES, EMPLACE_CUDA_PLUGIN and TensorFlow's variables for memory (null: not
/// set). Warnings, in TensorFlow's words where it has them, go to `warnings`. Errors have TensorFlow's codes and texts;
/// those that only emplace gives (a memory share outside (0, 1], limits that do not fit) are InvalidArgument.
Result<DeviceSet> make_device_set(const DeviceOptions& options, const char* (*environment)(const char*),
                                  std::vector<std::string>& warnings);

}  // namespace emplace
