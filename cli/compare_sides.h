/// The two runs of `emplace compare`: from a side's flags to a run that Lockstep watches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/side.h"
#include "core/base/named_files.h"
#include "core/ops/kit/isa.h"
#include "core/pipeline.h"
#include "core/report/compare/recorded.h"

namespace emplace {

/// A side, up to where its devices are known.
struct ComparedRun {
  Side side;
  std::optional<Isa> isa;  // EMPLACE_ISA of this side only
  std::unique_ptr<StageContext> context;
  std::optional<Runnable> runnable;
  std::optional<Partitioned> partitioned;
  std::optional<Planned> planned;
  std::vector<Tensor> outputs;  // of the last step

  const Graph& graph() const { return partitioned->file->graph; }
};

/// Reads `flags` ("EMPLACE_ISA=base --simulate-gpus 1") over the command's own ones. InvalidArgument as read_side().
Result<ComparedRun> read_compared_run(const std::string& path, const std::string& flags,
                                      const std::vector<OptionSource>& common,
                                      const std::function<void(OptionSet& set, Options& options)>& declare);
/// load, validate, place, partition. A failure is to be reported with the run's context.
Status place_compared_run(ComparedRun& run, Log& log);
/// plan, execute: all steps, before this observer (may be null). Any thread.
Status execute_compared_run(ComparedRun& run, RunObserver* observer);

/// A graph file with a node alone, fed with what run A gave it. Nothing if it cannot stand alone. Unavailable: it
/// cannot be written. InvalidArgument: it would take the place of what `files` reads, or of what is no file.
Result<std::string> save_reproduction(ComparedRun& a, NodeId node, const std::string& folder, NamedFiles files,
                                      Log& log);

}  // namespace emplace
