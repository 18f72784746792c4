/// The candidates of `emplace reduce`: parts of a graph as files, what they are fed with, and their tries.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/reduce_check.h"
#include "core/formats/graph_cut.h"
#include "core/pipeline.h"
#include "core/report/reduce/shrink.h"
#include "core/report/reduce/simplify.h"

namespace emplace {

/// The form of the smaller graph: in one without feeds, what would be fed is a constant.
enum class ReducedForm : uint8_t { kJson, kBinary, kText };
/// By its ending, .json, .pb or .pbtxt.
std::optional<ReducedForm> reduced_form(std::string_view path);

/// Writes the value of every tensor of a run into a folder as it is made, a file for each: what was made before a crash
/// is there.
Status record_values(StageContext& context, const std::string& folder);

/// Not thread-safe.
class ReduceGraph {
 public:
  /// All must outlive it. `values`: a folder that record_values() filled; empty: zeros are fed. `output`: where the
  /// smallest so far is always found, with its large values in a file of its own: whenever this ends, the two agree.
  /// REQUIRES: its ending tells a form.
  ReduceGraph(const GraphFile& file, const RunRequest& request, const ReduceCheck& check, std::string values,
              std::string output);

  const Graph& graph() const { return file_.graph; }
  /// Of the nodes that the request needs.
  Shrink::Nodes all() const;
  void close(Shrink::Nodes& kept) const { cut_.close(kept); }
  /// A candidate that fails is written to `output`.
  Result<bool> fails(const Shrink::Nodes& kept);
  /// The same of several, which are tried beside each other: the first of those that fail is written.
  Result<std::vector<char>> fail(const std::vector<Shrink::Nodes>& candidates);
  /// The same, never from what is known already.
  Result<bool> fails_anew(const Shrink::Nodes& kept) {
    known_.clear();
    return fails(kept);
  }
  /// Requests, control edges, colocation, attrs, sizes, values: what of these can go or be simpler while the failure
  /// stays.
  Status simplify(const Shrink::Nodes& kept);
  int64_t tries() const { return tries_; }
  int64_t cached() const { return cached_; }

 private:
  CutRequest request_for(const Shrink::Nodes& kept) const;
  Complexity complexity(const Shrink::Nodes& kept) const;
  /// What a candidate is made of may not fit any more: such a one is not tried.
  Result<bool> fails_simpler(const Shrink::Nodes& kept, const Simpler& simpler);
  bool fits(const CutRequest& request) const;
  /// A candidate as a file, and what came of it.
  struct Try {
    std::string hash, file, values;  // no file: it is known already
    bool failed = false;
    Status status = {};
  };
  Result<Try> prepare(const CutRequest& request, size_t number);
  void run(std::vector<Try>& tries) const;
  Status judge(std::vector<Try>& tries);
  /// Writes what was cut, its large values first, into `values_file`.
  Status write(const CutGraph& cut, const std::string& file, const std::string& values_file) const;
  /// The values of the smallest so far are in `file` now; where they were before is removed.
  void keep_values(std::string file);
  Tensor value_of(const Endpoint& tensor) const;

  const GraphFile& file_;
  const RunRequest& asked_;
  const ReduceCheck& check_;
  const std::string values_, output_;
  const ReducedForm form_;
  const GraphCut cut_;
  Simpler simpler_;                    // of the candidate at hand
  std::map<std::string, bool> known_;  // by hash
  std::string kept_values_;            // the file of values of the smallest so far; empty: it has none
  int64_t tries_ = 0, cached_ = 0;
};

}  // namespace emplace
