/// What `emplace compare` prints.
#pragma once

#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/place/placement.h"
#include "core/report/compare/node_difference.h"

namespace emplace {

struct CompareReport {
  std::string path, a, b;  // as on the command line
  Tolerance tolerance;
  bool flow = false, all = false;
  size_t top = 20;
  const Graph* graph = nullptr;          // A's
  const DeviceSet* devices = nullptr;    // B's; null: B is arrays
  std::vector<std::string> device_of_b;  // by A's node: short name; empty: not there
  int64_t nodes = 0;                     // that the request needs and that make tensors
  const NodeDifferences* found = nullptr;
  std::string saved;  // the reproduction's file; empty: none
  std::string saved_command;
  std::vector<std::string> left_over;  // arrays that no node made
};

std::string compare_text(const CompareReport& report);
std::string compare_json(const CompareReport& report);

}  // namespace emplace
