/// --verify: the placement that --auto chose is measured against TensorFlow's, the best single device's and the CPU's,
/// before the first step that counts. Costs can be wrong; a placement that is slower in truth is not used.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "core/pipeline_values.h"

namespace emplace {

struct AutoRival {
  std::string title;    // "GPU:0 alone"
  double us = 0;        // median of its steps
  double change = 0;    // how much longer than the chosen one, as a share: the median over pairs
  double p = 1;         // Wilcoxon, of the pairs
  bool faster() const;  // by more than 1 %, p below 0.05
};

struct AutoVerdict {
  double chosen_us = 0;
  int64_t rounds = 0;
  std::vector<AutoRival> rivals;  // none: each runs as the chosen one does, or cannot run
  std::optional<size_t> fastest;  // of the rivals; none: the chosen one stays
  /// "--auto latency: 8.41 ms a step measured; TensorFlow's placement 11.9 ms (+41 %), ..."
  std::string text() const;
};

/// Loads, places and plans the graph up to four times and runs steps of each in turn: their Print ops print, and
/// memory is taken for all at once. `options` gets the fastest, and the solution of the search, so that a run with them
/// does not search again.
Result<AutoVerdict> verify_auto(PipelineOptions& options, const std::string& path, Log& log,
                                const std::atomic<bool>* stop);

/// What --verify asks for, before the stages of `context`, whose options get the fastest placement: says what was
/// measured. FailedPrecondition, exit 4: the chosen one is slower, and --fail-on slower is given. A graph that cannot
/// be placed or run is for the stages to complain of. InvalidArgument, exit 2: --fail-on slower without --verify.
Status verify_first(StageContext& context);

}  // namespace emplace
