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

/// The same bytes? Strings and lists too.
bool same(const Tensor& a, const Tensor& b);

}  // namespace emplace::testing
