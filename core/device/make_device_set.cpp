#include "core/device/make_device_set.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

#include "core/base/cat.h"
#include "core/device/described.h"
#include "core/device/gpu_plugin.h"
#include "core/device/growth.h"
#include "core/device/logical_gpus.h"
#include "core/device/physical_gpu.h"
#include "core/device/system_memory.h"
#include "core/device/visible_devices.h"

namespace emplace {
namespace {

constexpr int64_t kSimulatedMemory = int64_t{16} << 30;
constexpr int kMaxSimulated = 1024;
constexpr int kMaxDevices = 65000;  // DeviceId has 16 bits
// The cards of simulated machines are peers of each other, as those of one board are.
constexpr int kPeerStrength = 1;
constexpr int kSameCardStrength = 1000;
constexpr size_t kMaxLinked = 64;  // links are quadratic

Device local_device(std::string_view type, int id, DeviceKind kind) {
  DeviceName name = *DeviceName::parse(kLocalTask);
  name.type = std::string(type);
  name.id = id;
  Device d = described_device(name, 0);
  d.kind = kind;
  return d;
}

/// "/job:worker/task:0" means replica 0.
Result<std::string> full_task_name(std::string_view text) {
  std::optional<DeviceName> name = DeviceName::parse(text);
  if (!name || !name->job || !name->task || name->type || name->id) {
    return invalid_argument(cat("--master: '", text, "' names no task; write for instance /job:worker/task:0"));
  }
  if (!name->replica) name->replica = 0;
  return name->task_name();
}

class SetMaker {
 public:
  SetMaker(const DeviceOptions& options, const char* (*environment)(const char*), std::vector<std::string>& warnings)
      : options_(options), environment_(environment), warnings_(warnings) {}

  Result<DeviceSet> make() {
    RETURN_IF_ERROR(check_options());
    set_.allow_growth = options_.allow_growth;
    if (!options_.devices.empty()) {
      RETURN_IF_ERROR(add_described());
    } else {
      RETURN_IF_ERROR(add_machine());
    }
    RETURN_IF_ERROR(choose_own_task());
    if (set_.devices.size() > kMaxDevices)
      return invalid_argument(cat(set_.devices.size(), " devices; at most ", kMaxDevices, " are possible"));
    return std::move(set_);
  }

 private:
  Status check_options() const {
    const DeviceOptions& o = options_;
    // Unlike TensorFlow, which oversubscribes: a cap is a promise here.
    if (o.memory_fraction != 0 && !(o.memory_fraction > 0 && o.memory_fraction <= 1)) {
      return invalid_argument(cat("memory fraction ", o.memory_fraction, " must be greater than 0 and at most 1"));
    }
    if (o.memory_limit < 0 || o.simulated_memory < 0) return invalid_argument("a memory size must not be negative");
    if (o.simulate_gpus < 0 || o.simulate_gpus > kMaxSimulated) {
      return invalid_argument(cat("cannot simulate ", o.simulate_gpus, " GPUs; 0 to ", kMaxSimulated, " are possible"));
    }
    if (o.simulate_gpus > 0 && !o.devices.empty()) {
      return invalid_argument("--devices describes a machine and --simulate-gpus simulates one; give one of them");
    }
    for (const auto& [type, count] : o.device_count) {
      if (count < 0 || count > kMaxDevices)
        return invalid_argument(cat("device count ", type, "=", count, " must be from 0 to ", kMaxDevices));
      if (type == "CPU" && count == 0)
        return invalid_argument("device count CPU=0: a graph needs a CPU; write CPU=1 or leave it out");
    }
    return ok_status();
  }

  Status add_described() {
    ASSIGN_OR_RETURN(DescribedDevices described, read_described(options_.devices));
    set_.runnable = false;
    set_.devices = std::move(described.devices);
    if (described.is_machine) {
      // CPUs stand first, GPUs follow, then other types.
      auto others = set_.devices.begin();
      while (others != set_.devices.end() && others->type == "CPU") ++others;
      std::vector<Device> rest(std::make_move_iterator(others), std::make_move_iterator(set_.devices.end()));
      set_.devices.erase(others, set_.devices.end());
      for (int64_t memory : described.gpu_memory) set_.physical_gpus.push_back(described_gpu(memory));
      RETURN_IF_ERROR(add_gpus(DeviceKind::kDescribed, nullptr));
      for (Device& d : rest) set_.devices.push_back(std::move(d));
    } else if (!options_.logical_gpus.empty() || !options_.visible_device_list.empty() || options_.memory_limit > 0 ||
               options_.memory_fraction > 0 || options_.device_count.contains("GPU")) {
      warnings_.push_back(
          cat("--devices ", options_.devices,
              " names finished devices: visible devices, counts, logical GPUs and memory caps do not act on them"));
    }
    bool has_gpu = false;
    for (const Device& d : set_.devices) has_gpu |= d.type == "GPU";
    if (!has_gpu && set_.no_gpu_cause.empty()) set_.no_gpu_cause = cat("--devices ", options_.devices, " names none");
    return ok_status();
  }

  /// The devices of --master come first.
  Status choose_own_task() {
    if (options_.own_task.empty()) return ok_status();
    ASSIGN_OR_RETURN(set_.own_task, full_task_name(options_.own_task));
    const auto others = std::stable_partition(set_.devices.begin(), set_.devices.end(),
                                              [&](const Device& d) { return d.parsed.task_name() == set_.own_task; });
    if (others != set_.devices.begin()) return ok_status();
    std::vector<std::string> tasks;
    for (const Device& d : set_.devices) {
      std::string task = d.parsed.task_name();
      if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(std::move(task));
    }
    constexpr size_t kShown = 8;
    std::string shown;
    for (size_t i = 0; i < tasks.size() && i < kShown; ++i) append(shown, i ? ", " : "", tasks[i]);
    if (tasks.size() > kShown) append(shown, " and ", tasks.size() - kShown, " more");
    return invalid_argument(cat("--master: no device is on ", set_.own_task, "; there are devices on ", shown));
  }

  /// This machine, with its GPUs or simulated ones.
  Status add_machine() {
    auto cpus = options_.device_count.find("CPU");
    int cpu_count = cpus == options_.device_count.end() ? 1 : cpus->second;
    for (int i = 0; i < cpu_count; ++i) set_.devices.push_back(local_device("CPU", i, DeviceKind::kCpu));
    int64_t memory = options_.simulated_memory > 0 ? options_.simulated_memory : kSimulatedMemory;
    for (int i = 0; i < options_.simulate_gpus; ++i) set_.physical_gpus.push_back(simulated_gpu(i, memory));
    const char* mask = environment_("CUDA_VISIBLE_DEVICES");
    if (set_.physical_gpus.empty()) return add_real_gpus(mask);
    return add_gpus(DeviceKind::kSimulatedGpu, mask);
  }

  /// Through the plug-in, unless the options want no GPU. The driver has applied the mask.
  Status add_real_gpus(const char* mask) {
    auto wanted = options_.device_count.find("GPU");
    if (wanted != options_.device_count.end() && wanted->second == 0) {
      set_.no_gpu_cause = "device count GPU=0";
      return ok_status();
    }
    auto none = [&](const Status& status) {
      set_.no_gpu_cause = cat(status.message(), "; --simulate-gpus N simulates GPUs");
      return add_gpus(DeviceKind::kCuda, mask);
    };
    Result<GpuBackend*> plugin = load_gpu_plugin(environment_);
    if (!plugin.ok()) {
      if (!environment_("EMPLACE_CUDA_PLUGIN") && has_nvidia_driver())
        warnings_.push_back(cat("no GPU is used: ", plugin.status().message()));
      return none(plugin.status());
    }
    Result<std::vector<PhysicalGpu>> cards = (*plugin)->enumerate();
    if (!cards.ok()) return none(cards.status());
    set_.gpus = *plugin;
    set_.physical_gpus = cards.take();
    return add_gpus(DeviceKind::kCuda, mask);
  }

  /// Positions in physical_gpus of the cards that the process may use, by platform id, which simulated cards get here.
  std::vector<int> visible_cards(DeviceKind kind, const char* mask) {
    std::vector<int> cards;
    if (kind != DeviceKind::kCuda) {
      cards = cuda_visible_devices(mask, set_.physical_gpus);
      for (size_t p = 0; p < cards.size(); ++p)
        set_.physical_gpus[static_cast<size_t>(cards[p])].platform_id = static_cast<int>(p);
      return cards;
    }
    for (size_t i = 0; i < set_.physical_gpus.size(); ++i) {
      if (set_.physical_gpus[i].platform_id >= 0) cards.push_back(static_cast<int>(i));
    }
    std::sort(cards.begin(), cards.end(), [&](int a, int b) {
      return set_.physical_gpus[static_cast<size_t>(a)].platform_id <
             set_.physical_gpus[static_cast<size_t>(b)].platform_id;
    });
    return cards;
  }

  /// In physical_gpus, of the card that logical GPUs stand on: platform ids have gaps where a card cannot be used.
  int position_of(int platform_id) const {
    const auto card = std::find_if(set_.physical_gpus.begin(), set_.physical_gpus.end(),
                                   [&](const PhysicalGpu& gpu) { return gpu.platform_id == platform_id; });
    return static_cast<int>(card - set_.physical_gpus.begin());
  }

  Status add_gpus(DeviceKind kind, const char* cuda_visible) {
    std::vector<const PhysicalGpu*> visible;
    for (int physical : visible_cards(kind, cuda_visible))
      visible.push_back(&set_.physical_gpus[static_cast<size_t>(physical)]);
    ASSIGN_OR_RETURN(std::vector<LogicalGpu> logical, make_logical_gpus(options_, visible));
    note_absence(cuda_visible, visible.size(), logical.size());
    if (logical.empty()) return ok_status();
    if (logical.size() > kMaxDevices)
      return invalid_argument(cat(logical.size(), " logical GPUs; at most ", kMaxDevices, " are possible"));
    apply_growth();
    for (size_t id = 0; id < logical.size(); ++id) {
      const int physical = position_of(logical[id].platform_id);
      const PhysicalGpu& card = set_.physical_gpus[static_cast<size_t>(physical)];
      Device d = local_device("GPU", static_cast<int>(id), kind);
      d.memory_limit = limit_of(logical[id], card);
      d.stream_priority = logical[id].priority;
      d.physical_gpu = physical;
      d.physical_description = physical_description(card);
      if (kind != DeviceKind::kDescribed && logical.size() <= kMaxLinked) d.links = links_of(id, logical);
      set_.devices.push_back(std::move(d));
    }
    return ok_status();
  }

  int64_t limit_of(const LogicalGpu& gpu, const PhysicalGpu& card) {
    const int64_t available = card.free_memory >= 0 ? card.free_memory : card.memory;
    if (gpu.share_of == 0) return gpu.memory_limit;
    if (available == 0) return gpu.memory_limit / gpu.share_of;
    SystemMemory left =
        leave_system_memory(gpu.memory_limit, available, environment_("TF_DEVICE_MIN_SYS_MEMORY_IN_MB"));
    if (!left.warning.empty() && (warnings_.empty() || warnings_.back() != left.warning))
      warnings_.push_back(std::move(left.warning));
    return (options_.memory_limit > 0 ? std::min(left.limit, options_.memory_limit) : left.limit) / gpu.share_of;
  }

  std::vector<DeviceLink> links_of(size_t id, const std::vector<LogicalGpu>& gpus) const {
    std::vector<DeviceLink> links;
    for (size_t other = 0; other < gpus.size(); ++other) {
      if (other == id) continue;
      bool same = gpus[other].platform_id == gpus[id].platform_id;
      if (!same && set_.gpus && !set_.gpus->peers(gpus[id].platform_id, gpus[other].platform_id)) continue;
      links.push_back(
          {static_cast<int>(other), same ? "SAME_DEVICE" : "StreamExecutor", same ? kSameCardStrength : kPeerStrength});
    }
    return links;
  }

  /// The driver applies the mask to real cards. Where NVML does not list the hidden ones, nothing is known of them; of
  /// instances a process sees one.
  std::string odd_mask(const char* mask, size_t visible) const {
    if (!mask || options_.simulate_gpus > 0) return mask_oddity(mask, set_.physical_gpus);
    const std::string_view list = mask;
    const auto entries = static_cast<size_t>(std::count(list.begin(), list.end(), ',')) + 1;
    if (list.starts_with("MIG-") || visible >= entries) return {};
    return mask_oddity(mask, set_.physical_gpus);
  }

  void note_absence(const char* cuda_visible, size_t visible, size_t used) {
    size_t cards = set_.physical_gpus.size();
    for (const PhysicalGpu& gpu : set_.physical_gpus) {
      if (gpu.unusable.empty()) continue;
      warnings_.push_back(cat(gpu.name, " (", gpu.pci_bus_id, ") is not used: ", gpu.unusable));
      set_.no_gpu_cause = cat(gpu.name, ": ", gpu.unusable);
    }
    const std::string oddity = odd_mask(cuda_visible, visible);
    if (!oddity.empty()) warnings_.push_back(oddity);
    if (visible > 0 && used > 0) set_.no_gpu_cause.clear();
    if (cards > 0 && visible == 0 && set_.no_gpu_cause.empty()) {
      set_.no_gpu_cause = cat("CUDA_VISIBLE_DEVICES=", cuda_visible, " hides ",
                              cards == 1 ? "the only GPU" : cat("all ", cards, " GPUs"));
    } else if (visible > 0 && used == 0) {
      set_.no_gpu_cause = "device count GPU=0";
    }
    if (visible == 0 && !options_.logical_gpus.empty()) {
      warnings_.push_back(cat("logical GPUs '", options_.logical_gpus, "' have no effect, there is no GPU: ",
                              set_.no_gpu_cause.empty() ? "--devices names none" : set_.no_gpu_cause));
    }
  }

  void apply_growth() {
    Growth growth = settle_growth(options_.allow_growth, environment_("TF_FORCE_GPU_ALLOW_GROWTH"));
    set_.allow_growth = growth.allowed;
    const char* guard = environment_("EMPLACE_GPU_GUARD");
    set_.guards_tensors = guard && (std::string_view(guard) == "1" || std::string_view(guard) == "exact");
    set_.growth_error = std::move(growth.error);
    if (!growth.warning.empty()) warnings_.push_back(std::move(growth.warning));
  }

  const DeviceOptions& options_;
  const char* (*environment_)(const char*);
  std::vector<std::string>& warnings_;
  DeviceSet set_;
};

}  // namespace

Status check_device_options(const DeviceOptions& options) {
  RETURN_IF_ERROR(check_visible_device_list(options.visible_device_list));
  if (!options.logical_gpus.empty()) RETURN_IF_ERROR(parse_logical_gpus(options.logical_gpus).take_status());
  const std::string& described = options.devices;
  std::error_code error;
  const bool is_pipe =
      described == "@-" || (described.starts_with('@') && std::filesystem::exists(described.substr(1), error) &&
                            !std::filesystem::is_regular_file(described.substr(1), error));
  return described.empty() || is_pipe ? ok_status() : read_described(described).take_status();
}

Result<DeviceSet> make_device_set(const DeviceOptions& options, const char* (*environment)(const char*),
                                  std::vector<std::string>& warnings) {
  return SetMaker(options, environment, warnings).make();
}

}  // namespace emplace
