#include "core/formats/config_reader.h"

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/formats/object_reader.h"
#include "core/formats/value_reader.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

constexpr int64_t kMaxPartsOfGpu = 1024;

std::optional<int> read_int32(LoadContext& c, std::string_view what) {
  auto value = read_integer(c.reader, what, INT32_MIN, INT32_MAX);
  if (!value) return std::nullopt;
  return static_cast<int>(*value);
}

// A list of numbers, or one alone.
template <class T>
std::vector<T> read_numbers(LoadContext& c, std::string_view what) {
  std::vector<T> out;
  auto one = [&] {
    if constexpr (std::is_same_v<T, int>) {
      if (auto v = read_int32(c, what)) out.push_back(*v);
    } else {
      if (auto v = read_double(c.reader, what)) out.push_back(*v);
    }
  };
  if (!expect(c.reader, Kind::kArray, what)) return out;
  for (c.reader.enter_array(); c.reader.next_element();) one();
  return out;
}

void read_virtual_devices(LoadContext& c) {
  enum { kMemory, kPriority, kOrdinal };
  static constexpr std::string_view kKeys[] = {"memory_limit_mb", "priority", "device_ordinal"};
  if (!expect(c.reader, Kind::kArray, "virtual_devices")) return;
  for (c.reader.enter_array(); c.reader.next_element();) {
    FileConfig::VirtualDevices devices;
    for (ObjectReader object(c.reader, kKeys, "virtual_devices"); object.next();) {
      switch (object.field()) {
        case kMemory:
          devices.memory_limit_mb = read_numbers<double>(c, "memory_limit_mb");
          break;
        case kPriority:
          devices.priority = read_numbers<int>(c, "priority");
          break;
        default:
          devices.device_ordinal = read_numbers<int>(c, "device_ordinal");
          break;
      }
    }
    c.file.config.virtual_devices.push_back(std::move(devices));
  }
}

/// Of the options that are read over: what to do instead of those with which TensorFlow's devices would be others; else
/// empty.
std::string_view instead_of(std::string_view key) {
  if (key == "use_unified_memory")
    return "a GPU never takes more than it has; per_process_gpu_memory_fraction and flags say how much";
  if (key == "gpu_system_memory_size_in_mb") return "the environment variable TF_DEVICE_MIN_SYS_MEMORY_IN_MB has one";
  return {};
}

void read_gpu_experimental(LoadContext& c) {
  enum { kVirtualDevices, kVirtualDevicesPerGpu };
  static constexpr std::string_view kKeys[] = {"virtual_devices",
                                               "num_virtual_devices_per_gpu",
                                               "use_unified_memory",
                                               "num_dev_to_dev_copy_streams",
                                               "collective_ring_order",
                                               "timestamped_allocator",
                                               "kernel_tracker_max_interval",
                                               "kernel_tracker_max_bytes",
                                               "kernel_tracker_max_pending",
                                               "internal_fragmentation_fraction",
                                               "use_cuda_malloc_async",
                                               "disallow_retry_on_allocation_failure",
                                               "gpu_host_mem_limit_in_mb",
                                               "gpu_host_mem_disallow_growth",
                                               "gpu_system_memory_size_in_mb",
                                               "populate_pjrt_gpu_client_creation_info",
                                               "node_id",
                                               "stream_merge_options"};
  for (ObjectReader object(c.reader, kKeys, "gpu_options.experimental"); object.next();) {
    if (object.field() == kVirtualDevices) {
      read_virtual_devices(c);
    } else if (object.field() == kVirtualDevicesPerGpu) {
      auto count = read_integer(c.reader, "num_virtual_devices_per_gpu", INT32_MIN, kMaxPartsOfGpu);
      if (count) c.file.config.num_virtual_devices_per_gpu = static_cast<int>(*count);
    } else if (std::string_view hint = instead_of(kKeys[object.field()]); !hint.empty()) {
      c.file.warnings.add(static_cast<int64_t>(object.key_position()),
                          cat("gpu_options.experimental: ", kKeys[object.field()], " has no effect"),
                          std::string(hint));
    }
  }
}

/// 0: not set. Unlike TensorFlow's, no cap oversubscribes.
std::optional<double> read_fraction(JsonReader& reader) {
  reader.peek();
  const size_t at = reader.position();
  const std::optional<double> fraction = read_double(reader, "per_process_gpu_memory_fraction");
  if (!fraction || (*fraction >= 0 && *fraction <= 1)) return fraction;
  reader.problem(at,
                 cat("per_process_gpu_memory_fraction: found ", *fraction, ", wanted greater than 0 and at most 1"));
  return std::nullopt;
}

/// "4GiB", or a number of bytes.
std::optional<int64_t> read_memory_size(JsonReader& reader, std::string_view what) {
  if (reader.peek() != Kind::kString) return read_integer(reader, what, 1, INT64_MAX);
  const size_t at = reader.position();
  Result<int64_t> size = parse_size(reader.take_string());
  if (size.ok() && *size > 0) return *size;
  reader.problem(at, cat(what, ": ", size.ok() ? "must be greater than 0" : size.status().message()));
  return std::nullopt;
}

void read_gpu_options(LoadContext& c) {
  enum { kFraction, kGrowth, kVisible, kExperimental };
  static constexpr std::string_view kKeys[] = {"per_process_gpu_memory_fraction",
                                               "allow_growth",
                                               "visible_device_list",
                                               "experimental",
                                               "allocator_type",
                                               "deferred_deletion_bytes",
                                               "polling_active_delay_usecs",
                                               "polling_inactive_delay_msecs",
                                               "force_gpu_compatible"};
  FileConfig& config = c.file.config;
  for (ObjectReader object(c.reader, kKeys, "gpu_options"); object.next();) {
    switch (object.field()) {
      case kFraction:
        config.per_process_gpu_memory_fraction = read_fraction(c.reader);
        break;
      case kGrowth:
        config.allow_growth = read_bool(c.reader, "allow_growth");
        break;
      case kVisible:
        if (auto list = read_text(c.reader, "visible_device_list")) config.visible_device_list = std::string(*list);
        break;
      case kExperimental:
        read_gpu_experimental(c);
        break;
      default:
        break;
    }
  }
}

void read_device_count(LoadContext& c) {
  if (!expect(c.reader, Kind::kObject, "device_count")) return;
  c.reader.enter_object();
  for (std::string_view type; c.reader.next_key(type);) {
    if (auto count = read_integer(c.reader, "device_count", 0, INT32_MAX))
      c.file.config.device_count[std::string(type)] = static_cast<int>(*count);
  }
}

}  // namespace

void read_config(LoadContext& c) {
  enum { kSoft, kLog, kCount, kInter, kIntra, kGpu, kHostMemory, kRequireGpu };
  static constexpr std::string_view kKeys[] = {"allow_soft_placement",
                                               "log_device_placement",
                                               "device_count",
                                               "inter_op_parallelism_threads",
                                               "intra_op_parallelism_threads",
                                               "gpu_options",
                                               "host_memory_limit",
                                               "require_gpu",
                                               "pluggable_device_options",
                                               "use_per_session_threads",
                                               "session_inter_op_thread_pool",
                                               "placement_period",
                                               "device_filters",
                                               "graph_options",
                                               "operation_timeout_in_ms",
                                               "rpc_options",
                                               "cluster_def",
                                               "isolate_session_state",
                                               "share_cluster_devices_in_session",
                                               "experimental"};
  FileConfig& config = c.file.config;
  for (ObjectReader object(c.reader, kKeys, "config"); object.next();) {
    switch (object.field()) {
      case kSoft:
        config.allow_soft_placement = read_bool(c.reader, "allow_soft_placement");
        break;
      case kLog:
        config.log_device_placement = read_bool(c.reader, "log_device_placement");
        break;
      case kCount:
        read_device_count(c);
        break;
      case kInter:
        config.inter_op_parallelism_threads = read_int32(c, "inter_op_parallelism_threads");
        break;
      case kIntra:
        config.intra_op_parallelism_threads = read_int32(c, "intra_op_parallelism_threads");
        break;
      case kGpu:
        read_gpu_options(c);
        break;
      case kHostMemory:
        config.host_memory_limit = read_memory_size(c.reader, "host_memory_limit");
        break;
      case kRequireGpu:
        config.require_gpu = read_bool(c.reader, "require_gpu");
        break;
      default:
        break;
    }
  }
}

}  // namespace emplace
