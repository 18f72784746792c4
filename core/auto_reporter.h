/// What a search for a placement found, in the words and numbers that are shown.
#pragma once

#include <string>
#include <vector>

#include "core/auto_problem.h"
#include "core/place/auto/simulator.h"
#include "core/place/auto/solve.h"
#include "core/report/auto_report.h"

namespace emplace {

/// What it refers to outlives it.
class AutoReporter {
 public:
  AutoReporter(const Graph& graph, const DeviceSet& devices, const AutoProblem& made,
               const autoplace::Solution& solution);

  /// By group: the step's time, and what it would be with the group elsewhere. Of large problems, without the latter.
  std::vector<std::string> reasons() const;
  /// "TensorFlow's placement", "GPU:0 alone".
  std::string title_of(const autoplace::Start& start) const { return names_of(start).title; }
  AutoReport report(const std::vector<std::string>& costs, int64_t seed) const;

 private:
  AutoReport::Alternative names_of(const autoplace::Start& start) const;
  void add_alternatives(AutoReport& r) const;
  void add_loads(AutoReport& r) const;
  void add_spread(AutoReport& r) const;
  void add_schedule(AutoReport& r) const;
  void add_sensitivity(AutoReport& r) const;
  void add_if_fragile(const autoplace::Problem& changed, const std::string& what, AutoReport& r) const;
  AutoReport::Row row_of(const autoplace::Slot& slot) const;
  std::string over_text(const autoplace::Assignment& at, uint16_t device) const;

  const Graph& graph_;
  const DeviceSet& devices_;
  const AutoProblem& made_;
  const autoplace::Problem& p_;
  const autoplace::Solution& solution_;
};

}  // namespace emplace
