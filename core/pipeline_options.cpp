#include "core/pipeline_options.h"

#include "core/base/host_memory.h"

namespace emplace {
namespace {

class Overlay {
 public:
  Overlay(PipelineOptions& options, std::vector<std::string>& taken) : options_(options), taken_(taken) {}

  /// target = value, if the file has one and nobody else has set `name`.
  template <class Target, class Value>
  void take(const char* name, const std::optional<Value>& value, Target& target) {
    if (!value || options_.given.contains(name)) return;
    target = static_cast<Target>(*value);
    taken_.push_back(name);
  }

 private:
  PipelineOptions& options_;
  std::vector<std::string>& taken_;
};

template <class Container>
std::optional<Container> unless_empty(const Container& c) {
  return c.empty() ? std::nullopt : std::optional<Container>(c);
}

}  // namespace

std::string_view stage_name(Stage stage) {
  constexpr std::string_view kNames[] = {"load", "validate", "lower", "place", "partition", "plan", "execute"};
  return kNames[static_cast<size_t>(stage)];
}

std::vector<std::string> apply_file_config(const FileConfig& config, PipelineOptions& options) {
  std::vector<std::string> taken;
  Overlay overlay(options, taken);
  overlay.take("allow-soft-placement", config.allow_soft_placement, options.placing.allow_soft_placement);
  if (config.log_device_placement.value_or(false)) {
    overlay.take("log-device-placement", std::optional<std::string>("stderr"), options.placing.log_device_placement);
  }
  overlay.take("device-count", unless_empty(config.device_count), options.devices.device_count);
  overlay.take("inter-op-threads", config.inter_op_parallelism_threads, options.run.inter_op_threads);
  overlay.take("intra-op-threads", config.intra_op_parallelism_threads, options.run.intra_op_threads);
  overlay.take("memory-fraction", config.per_process_gpu_memory_fraction, options.devices.memory_fraction);
  overlay.take("allow-growth", config.allow_growth, options.devices.allow_growth);
  // A file is data: it may do with less than there is, not take more.
  if (config.host_memory_limit.value_or(INT64_MAX) < HostMemory::of_process().limit())
    overlay.take("host-memory-limit", config.host_memory_limit, options.host_memory_limit);
  overlay.take("require-gpu", config.require_gpu, options.require_gpu);
  overlay.take("visible-devices", config.visible_device_list, options.devices.visible_device_list);
  std::vector<DeviceOptions::VirtualDevices> virtual_devices;
  for (const auto& v : config.virtual_devices)
    virtual_devices.push_back({v.memory_limit_mb, v.priority, v.device_ordinal});
  overlay.take("logical-gpus", unless_empty(virtual_devices), options.devices.virtual_devices);
  overlay.take("logical-gpus", config.num_virtual_devices_per_gpu, options.devices.virtual_devices_per_gpu);
  return taken;
}

}  // namespace emplace
