#include "core/device/logical_gpus.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/device/visible_devices.h"

namespace emplace {
namespace {

using VirtualDevices = DeviceOptions::VirtualDevices;

constexpr double kMaxLimitMib = 0x1p42;  // keeps sums of limits in bytes within int64
constexpr int kMaxGpuIndex = 1023;
// NVIDIA's stream priorities; lower is more urgent.
constexpr int kHighestPriority = -5;
constexpr int kLowestPriority = 0;

template <class T>
bool read_whole(std::string_view text, T& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Without the blanks before each part.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at; (at = text.find(separator)) != std::string_view::npos; text.remove_prefix(at + 1))
    parts.push_back(text.substr(0, at));
  parts.push_back(text);
  for (std::string_view& part : parts) part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
  return parts;
}

Status check_ordinals(const std::vector<VirtualDevices>& virtuals) {
  bool given = !virtuals[0].device_ordinal.empty();
  for (size_t i = 0; i < virtuals.size(); ++i) {
    if (virtuals[i].device_ordinal.empty() == given) {
      return invalid_argument(
          cat("Device ordinals must be set for all virtual devices or none. But the device_ordinal is specified for ",
              i, " while previous devices didn't have any set."));
    }
  }
  for (size_t i = 0; given && i < virtuals.size(); ++i) {
    size_t limits = virtuals[i].memory_limit_mb.size(), ordinals = virtuals[i].device_ordinal.size();
    if (limits != ordinals) {
      return invalid_argument(
          cat("Number of virtual device ordinals specified doesn't match with number of memory_limit_mb specified for "
              "GPU# ",
              i, " memory_limit_mb size: ", limits, " and device_ordinal size: ", ordinals));
    }
  }
  return ok_status();
}

Status check_priorities(const std::vector<VirtualDevices>& virtuals, const std::vector<int>& gpus) {
  bool given = !virtuals[0].priority.empty();
  for (size_t i = 0; i < virtuals.size(); ++i) {
    size_t limits = virtuals[i].memory_limit_mb.size(), priorities = virtuals[i].priority.size();
    if (!given && priorities > 0) {
      return invalid_argument(
          cat("Priority must be set for all virtual devices or none. But the priority is specified for ", i,
              " while previous devices didn't have any set."));
    }
    if (given && limits != priorities) {
      return invalid_argument(
          cat("Number of virtual device priorities specified doesn't match with number of memory_limit_mb specified "
              "for GPU# ",
              i, " memory_limit_mb size: ", limits, " and priority size: ", priorities));
    }
    for (int p : virtuals[i].priority) {
      if (p < kHighestPriority || p > kLowestPriority) {
        return invalid_argument(cat("Priority ", p, " is outside the range of supported priorities [", kHighestPriority,
                                    ",", kLowestPriority, "] for virtual device ", i, " on GPU# ", gpus[i]));
      }
    }
  }
  return ok_status();
}

/// TensorFlow's VerifyVirtualDeviceSettings. `gpus`: platform ids in list order; `in_use` of them fit device_count.
Status check_virtual_devices(const DeviceOptions& options, const std::vector<VirtualDevices>& virtuals,
                             const std::vector<int>& gpus, size_t in_use) {
  if (options.memory_fraction > 0) {
    return invalid_argument("It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.");
  }
  if (in_use < virtuals.size()) {
    return {Code::kUnknown, cat("Not enough GPUs to create virtual devices. num_gpus_to_use: ", in_use,
                                " #virtual_devices: ", virtuals.size())};
  }
  if (!options.visible_device_list.empty() && gpus.size() != virtuals.size()) {
    return invalid_argument(cat(
        "The number of GPUs in visible_device_list doesn't match the number of elements in the virtual_devices list."
        " #GPUs in visible_device_list: ",
        gpus.size(), " virtual_devices.size(): ", virtuals.size()));
  }
  if (gpus.size() != virtuals.size()) {
    return {
        Code::kUnknown,
        cat("The number of valid GPUs doesn't match the number of elements in the virtual_devices list. #valid GPUs: ",
            gpus.size(), " virtual_devices.size(): ", virtuals.size())};
  }
  RETURN_IF_ERROR(check_ordinals(virtuals));
  return check_priorities(virtuals, gpus);
}

/// A limit in whole MiB, as TensorFlow truncates it, in bytes.
Result<int64_t> limit_bytes(double mib, int gpu) {
  double whole = std::trunc(mib);
  if (!(whole >= 1))
    return invalid_argument(cat("memory limit ", mib, " MiB of a logical GPU on GPU ", gpu, " must be at least 1 MiB"));
  if (whole > kMaxLimitMib)
    return invalid_argument(cat("memory limit ", mib, " MiB of a logical GPU on GPU ", gpu, " is too large"));
  return static_cast<int64_t>(whole) * kMiB;
}

/// What TensorFlow takes of a real card if nothing is said: what is free, less what the system is left
/// (MinSystemMemory in gpu_device.cc, as for compute capability 8 and above, 7, and below).
int64_t without_reserve(const PhysicalGpu& gpu) {
  constexpr int64_t kSmall = int64_t{2} << 30;
  int generation = std::atoi(gpu.compute_capability.c_str());
  int64_t reserve = generation <= 6 ? 500 : generation <= 7 ? 1050 : 1536;
  if (gpu.free_memory < kSmall) reserve = 225;
  return std::max(kMiB, gpu.free_memory - reserve * kMiB);
}

/// The cap of a GPU that is not split.
Result<int64_t> whole_limit(const DeviceOptions& options, const PhysicalGpu& gpu) {
  if (options.memory_limit > gpu.memory && gpu.memory > 0) {
    return invalid_argument(cat("memory limit ", size_text(options.memory_limit), " is more than GPU ", gpu.platform_id,
                                " has (", size_text(gpu.memory), ")"));
  }
  int64_t limit = gpu.free_memory >= 0 ? without_reserve(gpu) : gpu.memory;
  if (options.memory_fraction > 0)
    limit = static_cast<int64_t>(static_cast<double>(gpu.memory) * options.memory_fraction);
  if (options.memory_limit > 0) limit = limit > 0 ? std::min(limit, options.memory_limit) : options.memory_limit;
  return limit;
}

struct Part {
  LogicalGpu gpu;
  int ordinal;
};

Status add_parts(const DeviceOptions& options, const VirtualDevices& wanted, const PhysicalGpu& gpu,
                 std::vector<Part>& parts) {
  if (wanted.memory_limit_mb.empty()) {
    ASSIGN_OR_RETURN(int64_t limit, whole_limit(options, gpu));
    const int count = std::max(options.virtual_devices_per_gpu, 1);
    if (count > 1 && limit > 0 && limit / count < kMiB) {
      return invalid_argument(cat("num_virtual_devices_per_gpu: ", count, " parts of GPU ", gpu.platform_id, " (",
                                  size_text(limit), ") are less than 1 MiB each"));
    }
    parts.insert(parts.end(), static_cast<size_t>(count), {{gpu.platform_id, limit, 0, count}, 0});
    return ok_status();
  }
  if (options.memory_limit > 0) {
    return invalid_argument(cat("a memory limit per GPU (", size_text(options.memory_limit),
                                ") and limits of its logical GPUs were given; give one of them"));
  }
  int64_t sum = 0;
  for (size_t i = 0; i < wanted.memory_limit_mb.size(); ++i) {
    ASSIGN_OR_RETURN(int64_t limit, limit_bytes(wanted.memory_limit_mb[i], gpu.platform_id));
    if (__builtin_add_overflow(sum, limit, &sum)) sum = std::numeric_limits<int64_t>::max();
    parts.push_back({{gpu.platform_id, limit, wanted.priority.empty() ? 0 : wanted.priority[i], 0},
                     wanted.device_ordinal.empty() ? 0 : wanted.device_ordinal[i]});
  }
  if (gpu.free_memory >= 0 && sum > gpu.free_memory) {
    return invalid_argument(cat("logical GPUs on GPU ", gpu.platform_id, " ask for ", sum / kMiB,
                                " MiB together, it has ", gpu.free_memory / kMiB, " MiB free of ", gpu.memory / kMiB,
                                " MiB; lower their limits"));
  }
  if (gpu.memory > 0 && sum > gpu.memory) {
    return invalid_argument(cat("logical GPUs on GPU ", gpu.platform_id, " ask for ", sum / kMiB,
                                " MiB together, it has ", gpu.memory / kMiB, " MiB; lower their limits"));
  }
  return ok_status();
}

}  // namespace

Result<std::vector<VirtualDevices>> parse_logical_gpus(std::string_view text) {
  std::vector<VirtualDevices> virtuals;
  std::vector<int> seen;
  for (std::string_view entry : split(text, ';')) {
    size_t colon = entry.find(':');
    int index = -1;
    if (colon == std::string_view::npos || !read_whole(entry.substr(0, colon), index) || index < 0 ||
        index > kMaxGpuIndex) {
      return invalid_argument(cat("'", entry, "' in logical GPUs '", text,
                                  "' is not INDEX:MIB,MIB,...; write for instance '0:1024,1024;1:2048'"));
    }
    if (std::find(seen.begin(), seen.end(), index) != seen.end()) {
      return invalid_argument(
          cat("logical GPUs '", text, "' name GPU ", index, " twice; list all its limits after one ", index, ":"));
    }
    seen.push_back(index);
    virtuals.resize(std::max(virtuals.size(), static_cast<size_t>(index) + 1));
    for (std::string_view limit : split(entry.substr(colon + 1), ',')) {
      double mib = 0;
      if (!read_whole(limit, mib)) {
        return invalid_argument(cat("'", limit, "' in logical GPUs '", text, "' is not a number of MiB"));
      }
      virtuals[static_cast<size_t>(index)].memory_limit_mb.push_back(mib);
    }
  }
  return virtuals;
}

Result<std::vector<LogicalGpu>> make_logical_gpus(const DeviceOptions& options,
                                                  std::span<const PhysicalGpu* const> visible) {
  std::vector<VirtualDevices> virtuals = options.virtual_devices;
  if (!options.logical_gpus.empty()) {
    ASSIGN_OR_RETURN(virtuals, parse_logical_gpus(options.logical_gpus));
  }
  if (visible.empty()) return std::vector<LogicalGpu>{};

  auto count = options.device_count.find("GPU");
  size_t in_use = count == options.device_count.end() ? visible.size() : static_cast<size_t>(count->second);
  std::vector<int> gpus;
  if (in_use > 0) {
    ASSIGN_OR_RETURN(gpus, parse_visible_device_list(options.visible_device_list, static_cast<int>(visible.size())));
  }
  in_use = std::min(in_use, gpus.size());
  if (!options.logical_gpus.empty()) {
    // The flag names GPUs in use; those that it leaves out stay whole.
    gpus.resize(in_use);
    virtuals.resize(std::max(virtuals.size(), in_use));
  }
  if (!virtuals.empty()) RETURN_IF_ERROR(check_virtual_devices(options, virtuals, gpus, in_use));

  std::vector<Part> parts;
  for (size_t i = 0; i < in_use; ++i) {
    RETURN_IF_ERROR(add_parts(options, virtuals.empty() ? VirtualDevices{} : virtuals[i],
                              *visible[static_cast<size_t>(gpus[i])], parts));
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.ordinal < b.ordinal; });
  std::vector<LogicalGpu> out;
  out.reserve(parts.size());
  for (const Part& part : parts) out.push_back(part.gpu);
  return out;
}

}  // namespace emplace
