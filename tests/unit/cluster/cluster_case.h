/// ClusterCase: a graph in text, placed on tasks of this process, and the same graph on one CPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cluster/cluster_spec.h"
#include "core/cluster/local_cluster.h"
#include "core/graph/graph_file.h"

namespace emplace::testing {

/// Devices of tasks, those of `master` first: each has so many CPUs and simulated GPUs.
DeviceSet cluster_devices(const JobCounts& jobs, int cpus, int gpus, const std::string& master);

struct ClusterCase {
  /// A graph file's text, on `jobs` ("ps=1,worker=2") seen from the first task of the last job.
  ClusterCase(const std::string& text, const std::string& jobs, int cpus = 1, int gpus = 0);

  Endpoint tensor(const std::string& name) const;
  NodeId node(const std::string& name) const { return tensor(name).node; }
  /// With what is fetched, by name; fails the test if there is none.
  std::unique_ptr<Session> session(const std::vector<std::string>& fetches, const NetworkFaults& faults = {});
  Result<std::unique_ptr<Session>> try_session(const std::vector<std::string>& fetches,
                                               const NetworkFaults& faults = {});
  /// All of the graph on one CPU.
  std::unique_ptr<Session> alone(const std::vector<std::string>& fetches);

  SessionOptions options(const std::vector<std::string>& fetches) const;

  std::unique_ptr<GraphFile> file;
  DeviceSet devices, cpu;
  Placement placement, on_cpu;
  SessionOptions base;  // feeds, seed, timeout
};

/// An entry of the list `node` of a graph file. `inputs`, `device` and `attr` as they stand there, in quotes.
std::string one_node(const std::string& name, const std::string& op, const std::string& inputs,
                     const std::string& device, const std::string& attr = "{}");

/// A random graph of elementwise ops, products, sums, branches and control edges on random tasks (one ps, so many
/// workers) and devices.
struct RandomGraph {
  std::string text;
  std::vector<std::string> fetches;
};
RandomGraph random_graph(uint64_t seed, int workers, int gpus);

/// The same bytes? Strings and lists too.
bool same(const Tensor& a, const Tensor& b);

}  // namespace emplace::testing
