/// Which physical GPUs a process sees, and in which order: CUDA_VISIBLE_DEVICES, then TensorFlow's visible_device_list.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device.h"

namespace emplace {

/// The GPUs that CUDA_VISIBLE_DEVICES leaves visible: indices into `gpus` in the order of the process's own numbers.
/// Read as the CUDA driver reads it (indices, or unique leading parts of UUIDs): the list ends at the first entry that
/// names no GPU, and a GPU that is named twice empties it. Of MIG instances ("MIG-...") a process sees one, the first.
/// `value` null: not set, so all.
std::vector<int> cuda_visible_devices(const char* value, std::span<const PhysicalGpu> gpus);

/// What such a value names that is not there, or names twice, and what that leads to; empty: nothing. "-1" and the like
/// are how people hide GPUs.
std::string mask_oddity(const char* value, std::span<const PhysicalGpu> gpus);

/// Does such a value ask for a GPU, whatever there is? Null: not set.
bool mask_wants_gpu(const char* value);

/// Is it a list of numbers? InvalidArgument, in TensorFlow's words, if not.
Status check_visible_device_list(std::string_view list);
/// visible_device_list: ids below `visible_count` in the order of TensorFlow's GPU numbers. Empty list: all.
Result<std::vector<int>> parse_visible_device_list(std::string_view list, int visible_count);

}  // namespace emplace
