/// emplace bench --sweep: the same measurement with every combination of some flags' values, each in a process of its
/// own, a row for each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/option_set.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/report/bench/sweep_report.h"

namespace emplace {

class BenchSweep {
 public:
  /// `texts`: "inter-op-threads=1,2": an option of bench; "devices=CPU,GPU:0,GPU:0+GPU:1": the GPUs that may be used;
  /// "batch=1,8": the first size of fed tensors, of which `given`, the flags of the command, makes at least one.
  /// InvalidArgument: nothing of these, or more than 1,000 combinations.
  static Result<BenchSweep> make(const std::vector<std::string>& texts, const OptionSet& set);

  /// Measures `graph` and prints a row for each combination: lines of JSON as they come, tables at the end. The exit
  /// code: 0, or of the first combination that failed, whose row says why.
  int run(const std::string& graph, Format format, Log& log) const;

 private:
  struct Key {
    std::string name;
    std::vector<std::string> values;
  };

  bool sweeps(const std::string& option) const;
  std::vector<std::string> words_for(const SweepRow& row, const std::string& graph, const std::string& output) const;
  Result<SweepRow> measure(std::vector<std::string> values, const std::string& graph) const;
  std::vector<std::vector<std::string>> combinations() const;

  std::vector<Key> keys_;
  std::vector<std::pair<std::string, std::string>> flags_;  // of the command, without what is this command's own
};

}  // namespace emplace
