#include "tests/unit/cluster/cluster_case.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "core/base/cat.h"

namespace emplace::testing {
namespace {

Device device(const std::string& name) {
  Device d;
  d.name = name;
  d.parsed = *DeviceName::parse(name);
  d.type = *d.parsed.type;
  d.kind = d.type == "CPU" ? DeviceKind::kCpu : DeviceKind::kSimulatedGpu;
  d.memory_limit = int64_t{256} << 20;
  return d;
}

void add_task(const std::string& task, int cpus, int gpus, std::vector<Device>& devices) {
  for (int i = 0; i < cpus; ++i) devices.push_back(device(cat(task, "/device:CPU:", i)));
  for (int i = 0; i < gpus; ++i) devices.push_back(device(cat(task, "/device:GPU:", i)));
}

Placement placed(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options) {
  std::vector<std::string> offenders;
  Result<Placement> made = place(file, devices, options, offenders);
  UNSCOPED_INFO(made.status().message());
  REQUIRE(made.ok());
  return made.take();
}

}  // namespace

DeviceSet cluster_devices(const JobCounts& jobs, int cpus, int gpus, const std::string& master) {
  DeviceSet set;
  set.own_task = master;
  add_task(master, cpus, gpus, set.devices);
  for (const auto& [job, count] : jobs) {
    for (int i = 0; i < count; ++i) {
      const std::string name = ClusterTask{job, i}.name();
      if (name != master) add_task(name, cpus, gpus, set.devices);
    }
  }
  return set;
}

ClusterCase::ClusterCase(const std::string& text, const std::string& jobs, int cpus, int gpus) {
  const JobCounts counts = parse_job_counts(jobs, "jobs").take();
  devices = cluster_devices(counts, cpus, gpus, ClusterTask{counts.back().first, 0}.name());
  cpu.devices.push_back(device("/job:localhost/replica:0/task:0/device:CPU:0"));
  Problems problems;
  file = load(Source::from_text("cluster case", text), {}, problems);
  if (problems.empty()) validate(*file, problems);
  UNSCOPED_INFO(problems.to_string(*file->source));
  REQUIRE(problems.empty());
  PlaceOptions place_options;
  place_options.allow_soft_placement = true;
  placement = placed(*file, devices, place_options);
  place_options.clear_devices = true;
  on_cpu = placed(*file, cpu, place_options);
  base.seed = 7;
}

Endpoint ClusterCase::tensor(const std::string& name) const {
  const size_t colon = name.find(':');
  const NodeId found = file->graph.find(name.substr(0, colon));
  REQUIRE(found != kNoNode);
  return {found, colon == name.npos ? 0 : static_cast<uint32_t>(std::stoul(name.substr(colon + 1)))};
}

SessionOptions ClusterCase::options(const std::vector<std::string>& fetches) const {
  SessionOptions o = base;
  for (const std::string& name : fetches) {
    if (name.starts_with('^')) {
      o.targets.push_back(node(name.substr(1)));
    } else {
      o.fetches.push_back(tensor(name));
    }
  }
  return o;
}

Result<std::unique_ptr<Session>> ClusterCase::try_session(const std::vector<std::string>& fetches,
                                                          const NetworkFaults& faults) {
  return create_local_cluster(*file, devices, placement, options(fetches), faults);
}

std::unique_ptr<Session> ClusterCase::session(const std::vector<std::string>& fetches, const NetworkFaults& faults) {
  auto made = try_session(fetches, faults);
  UNSCOPED_INFO(made.status().message());
  REQUIRE(made.ok());
  return made.take();
}

std::unique_ptr<Session> ClusterCase::alone(const std::vector<std::string>& fetches) {
  auto made = Session::create(*file, cpu, on_cpu, options(fetches));
  UNSCOPED_INFO(made.status().message());
  REQUIRE(made.ok());
  return made.take();
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.dtype() == DType::kString)
    return std::equal(a.flat<std::string>().begin(), a.flat<std::string>().end(), b.flat<std::string>().begin());
  return a.size_bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.size_bytes()) == 0;
}

}  // namespace emplace::testing
