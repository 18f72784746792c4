#include "core/run/runtime.h"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <random>

#include "core/base/cat.h"
#include "core/device/gpu_pool.h"
#include "core/device/memory_pool.h"

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

std::vector<std::pair<std::string, int64_t>> VariableTable::sizes() const {
  std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, int64_t>> out;
  for (const auto& [key, v] : variables_) {
    if (v->dtype == DType::kString) continue;
    if (v->value.valid() && v->value.buffer())
      out.emplace_back(v->name, static_cast<int64_t>(v->value.buffer()->size()));
  }
  return out;
}

std::atomic<uint64_t>& RandomCounters::of(uint32_t node) {
  std::lock_guard lock(mutex_);
  return counters_[node];
}

std::vector<std::pair<uint32_t, uint64_t>> RandomCounters::drawn() const {
  std::lock_guard lock(mutex_);
  std::vector<std::pair<uint32_t, uint64_t>> out;
  for (const auto& [node, blocks] : counters_) {
    if (blocks != 0) out.emplace_back(node, blocks);
  }
  return out;
}

Runtime::Runtime(const DeviceSet& set, uint64_t wanted_seed, const GpuRunOptions& wanted_gpu)
    : devices(set), gpu_options(wanted_gpu), gpus(set.size()), gpu_turns(set.size()), seed(wanted_seed) {
  if (seed == 0) seed = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  for (DeviceId id = 0; id < set.size(); ++id) {
    const Device& d = set.at(id);
    bool is_gpu = d.type != "CPU";
    std::string allocator = is_gpu ? cat("GPU_", d.parsed.id.value_or(0), "_bfc") : "cpu";
    if (d.kind == DeviceKind::kCuda) {
      pools.push_back(std::make_unique<GpuPool>(
          GpuPool::Options{d.name, std::move(allocator), d.memory_limit, set.allow_growth, set.guards_tensors},
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

Result<Gpu*> Runtime::gpu(DeviceId device) {
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

void GpuTurn::lock() {
  for (DeviceId id : gpus_) runtime_.gpu_turns[id].lock();
}

void GpuTurn::unlock() {
  for (DeviceId id : gpus_) runtime_.gpu_turns[id].unlock();
}

Status Runtime::wait_for_gpus(std::span<const DeviceId> which) {
  for (DeviceId id : which) {
    Status status = gpus[id]->finish(~uint64_t{0});
    if (status.ok()) status = gpus[id]->wait_idle();
    if (!status.ok()) {
      return {status.code(),
              cat(devices.at(id).name, ": ", status.message(), "; --sync-every-node tells which node failed")};
    }
  }
  return ok_status();
}

uint64_t Runtime::seed_of(uint32_t node) const {
  // SplitMix64: neighbours get unrelated seeds.
  uint64_t z = seed + (uint64_t{node} + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

#ifdef __SSE2__
namespace {
constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
}
FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero); }
FlushDenormals::~FlushDenormals() { _mm_setcsr(saved_); }
#else
FlushDenormals::FlushDenormals() : saved_(0) {}
FlushDenormals::~FlushDenormals() = default;
#endif

}  // namespace emplace
