#include "core/run/task_state.h"

#include "core/base/cat.h"
#include "core/device/gpu_pool.h"
#include "core/device/memory_pool.h"
#include "core/tensor/mapped_buffer.h"

namespace emplace {

Variable& VariableTable::find_or_create(const std::string& container, const std::string& name, DType dtype,
                                        const Shape& shape) {
  std::lock_guard lock(mutex_);
  auto& slot = variables_[cat(container, "\n", name)];
  if (!slot) {
    slot = std::make_unique<Variable>();
    slot->name = name;
    slot->dtype = dtype;
    slot->declared_shape = shape;
  }
  return *slot;
}

std::vector<std::pair<std::string, int64_t>> VariableTable::sizes_of(bool mapped, bool own) const {
  std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, int64_t>> out;
  for (const auto& [key, v] : variables_) {
    if (v->dtype == DType::kString) continue;
    if (!v->value.valid() || !v->value.buffer()) continue;
    if (dynamic_cast<const MappedBuffer*>(v->value.buffer().get()) ? mapped : own)
      out.emplace_back(v->name, static_cast<int64_t>(v->value.buffer()->size()));
  }
  return out;
}

TaskState::TaskState(const DeviceSet& set, const GpuRunOptions& wanted_gpu)
    : devices(set), gpu_options(wanted_gpu), gpus(set.size()), gpu_turns(set.size()) {
  for (DeviceId id = 0; id < devices.size(); ++id) {
    const Device& d = devices.at(id);
    bool is_gpu = d.type != "CPU";
    std::string allocator = is_gpu ? cat("GPU_", d.parsed.id.value_or(0), "_bfc") : "cpu";
    if (d.kind == DeviceKind::kCuda) {
      pools.push_back(std::make_unique<GpuPool>(
          GpuPool::Options{d.name, std::move(allocator), d.memory_limit, devices.allow_growth, devices.guards_tensors},
          [this, id]() -> Result<PageSource*> {
            ASSIGN_OR_RETURN(Gpu * opened, gpu(id));
            return opened;
          }));
    } else {
      // A CPU's memory_limit is TensorFlow's placeholder (256 MiB), no limit.
      pools.push_back(std::make_unique<MemoryPool>(d.name, std::move(allocator), is_gpu ? d.memory_limit : 0));
    }
    variables.push_back(std::make_unique<VariableTable>());
  }
}

Result<Gpu*> TaskState::gpu(DeviceId device) {
  if (!gpus[device]) {
    const Device& d = devices.at(device);
    int card = devices.physical_gpus[static_cast<size_t>(d.physical_gpu)].platform_id;
    GpuOptions options{card, d.stream_priority, d.memory_limit, gpu_options.deterministic, gpu_options.tf32};
    auto opened = devices.gpus->open(options);
    if (!opened.ok()) return opened.status().with_context(d.name);
    gpus[device] = opened.take();
  }
  return gpus[device].get();
}

bool TaskState::take_blocks() {
  std::lock_guard lock(mutex_);
  return !std::exchange(blocks_taken_, true);
}

}  // namespace emplace
