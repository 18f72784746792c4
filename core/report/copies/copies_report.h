/// What `emplace copies` prints of a ledger.
#pragma once

#include <functional>
#include <string>

#include "core/report/copies/ledger.h"

namespace emplace {

struct CopiesReport {
  std::string path;  // as on the command line
  const Graph* graph = nullptr;
  const DeviceSet* devices = nullptr;
  const Placement* placement = nullptr;
  const Ledger* ledger = nullptr;
  size_t top = 20;                           // rows of the table
  double step_us = 0;                        // measured, node by node; 0: not
  double critical_us = 0;                    // of a step as it runs, which critical_us of rows are shares of; 0: not
  std::function<bool(NodeId node)> matches;  // of the tensor's node, or a reader; null: all
  size_t line_width = 0;                     // of the terminal that shows the table; 0: none does
};

std::string copies_text(const CopiesReport& report);
std::string copies_json(const CopiesReport& report);

/// "* x:0 goes to GPU:0 and GPU:1: 1.0 MiB twice", "* f on GPU:0 instead of CPU:0 would save 2 copies, 3.9 MiB": a line
/// each; empty where there is nothing to say.
std::string copy_hints(const CopiesReport& report);

}  // namespace emplace
