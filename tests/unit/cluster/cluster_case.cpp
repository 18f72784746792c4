#include "tests/unit/cluster/cluster_case.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

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

std::string one_node(const std::string& name, const std::string& op, const std::string& inputs,
                     const std::string& device, const std::string& attr) {
  return cat(R"({"name": ")", name, R"(", "op": ")", op, R"(", "input": [)", inputs, R"(], "device": )", device,
             R"(, "attr": )", attr, "}");
}

RandomGraph random_graph(uint64_t seed, int workers, int gpus) {
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const auto device = [&] {
    const std::string task =
        below(4) == 0 ? "/job:ps/task:0" : cat("/job:worker/task:", below(static_cast<size_t>(workers)));
    if (gpus > 0 && below(2) == 0) return cat('"', task, "/device:GPU:", below(static_cast<size_t>(gpus)), '"');
    return cat('"', task, "/device:CPU:0\"");
  };
  std::string nodes;
  std::vector<std::string> values, names;
  const auto add = [&](const std::string& op, const std::string& inputs, const std::string& attr) {
    const std::string name = cat("n", names.size());
    append(nodes, nodes.empty() ? "" : ",\n", one_node(name, op, inputs, device(), attr));
    names.push_back(name);
    return name;
  };
  const auto pick = [&] { return cat('"', values[below(values.size())], '"'); };
  const auto control = [&] { return below(5) == 0 ? cat(", \"^", names[below(names.size())], '"') : std::string(); };
  for (int i = 0; i < 3; ++i) {
    const std::string shape = add("Const", "", R"({"value": {"dtype": "int32", "shape": [2], "data": [5, 5]}})");
    values.push_back(
        add("RandomUniform", cat('"', shape, '"'), cat(R"({"dtype": "float32", "seed": 1, "seed2": )", i, "}")));
  }
  static const char* const kUnary[] = {"Neg", "Square", "Tanh", "Relu", "Identity", "Sigmoid", "Abs"};
  static const char* const kBinary[] = {"AddV2", "Sub", "Mul", "Maximum", "MatMul"};
  const size_t count = 20 + below(40);
  for (size_t i = 0; i < count; ++i) {
    const size_t kind = below(10);
    if (kind < 4) {
      values.push_back(add(kUnary[below(std::size(kUnary))], pick() + control(), "{}"));
    } else if (kind < 8) {
      const std::string product = add(kBinary[below(std::size(kBinary))], cat(pick(), ", ", pick()) + control(), "{}");
      values.push_back(add("Tanh", cat('"', product, '"'), "{}"));  // keeps numbers small
    } else if (kind < 9) {
      const std::string axis = add("Const", "", R"({"value": {"dtype": "int32", "shape": [1], "data": [0]}})");
      const std::string sum = add("Sum", cat(pick(), ", \"", axis, '"'), R"({"keep_dims": true})");
      values.push_back(add("Sub", cat(pick(), ", \"", sum, '"'), "{}"));
    } else {
      const std::string all = add("Const", "", R"({"value": {"dtype": "int32", "shape": [2], "data": [0, 1]}})");
      const std::string zero = add("Const", "", R"({"value": 0.0})");
      const std::string sum = add("Sum", cat(pick(), ", \"", all, '"'), "{}");
      const std::string taken = add("Less", cat('"', sum, "\", \"", zero, '"'), "{}");
      const std::string branch = add("Switch", cat(pick(), ", \"", taken, '"'), "{}");
      const std::string low = add("Neg", cat('"', branch, ":0\""), "{}");
      const std::string high = add("Square", cat('"', branch, ":1\""), "{}");
      values.push_back(add("Merge", cat('"', low, "\", \"", high, '"'), "{}"));
    }
  }
  RandomGraph made{cat("{\"node\": [", nodes, "]}"), {}};
  for (size_t i = 0; i < 4; ++i) made.fetches.push_back(values[values.size() - 1 - below(values.size() / 2)]);
  return made;
}

}  // namespace emplace::testing
