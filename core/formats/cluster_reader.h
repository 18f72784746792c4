/// A ClusterDef in JSON: {"job": [{"name", "tasks"}]}, or shorter {"worker": ["host:2222", ...]}.
#pragma once

#include <map>
#include <string>

#include "core/formats/json_reader.h"

namespace emplace {

/// Addresses by job and task.
using ClusterJobs = std::map<std::string, std::map<int, std::string>>;

/// Takes the next value into `jobs`.
void read_cluster(JsonReader& reader, ClusterJobs& jobs);

}  // namespace emplace
