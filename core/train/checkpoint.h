/// Checkpoint: all that a training run needs to go on as if it had never stopped; as a pair of files:
/// step-00000120.npz (variables, slots and what tables hold, by name) and step-00000120.json (the rest), which is
/// written last: a checkpoint exists from the moment that its .json does.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/parallel.h"
#include "core/graph/graph_file.h"
#include "core/run/session.h"
#include "core/train/sample_order.h"

namespace emplace {

struct Checkpoint {
  int64_t step = 0;       // steps done
  DataPosition position;  // of the next batch
  int64_t batch = 0;      // samples in it
  uint64_t seed = 0;
  std::vector<std::pair<std::string, uint64_t>> random;  // node, blocks drawn
  std::string graph_file;                                // as the run was told it
  std::string graph_sha256;
  std::string data;        // data_fingerprint(); empty: none, or from before there was one
  int64_t run_number = 1;  // in its folder: a run that replaces others has a higher one
  std::vector<std::pair<std::string, Tensor>> variables;  // and keys and values of tables: checkpoint_tables.h
};

/// Every initialised variable of the session but `copies` (pairs of copy and original), in graph order; then tables.
Result<std::vector<std::pair<std::string, Tensor>>> read_variables(
    const Graph& graph, Session& session, const std::vector<std::pair<NodeId, NodeId>>& copies);

enum class Fit {
  kExact,   // every variable of the graph and of the checkpoint has its counterpart
  kCovers,  // every variable of the graph; the checkpoint may hold more (optimizer slots)
};

/// Sets the session's variables (copies with their originals) and its random streams, but not its tables.
/// InvalidArgument lists the variables that are missing, left over, of another shape or type; then nothing was set.
/// `needed`: by node, those that must not be missing; null: all.
Status apply_checkpoint(const Checkpoint& checkpoint, const Graph& graph, Session& session,
                        const std::vector<std::pair<NodeId, NodeId>>& copies, Fit fit,
                        const std::vector<char>* needed = nullptr);

/// The checkpoint `name`: its .json, or an .npz (with a .json beside it or without: then only variables), or a folder
/// (its newest whole one, also while a run is writing there), or one of TensorFlow's: see load_bundle(), which also
/// says what `file`, `wanted` and `parallel` (null: one thread) do. NotFound, or InvalidArgument for a damaged one.
Result<Checkpoint> load_checkpoint(const std::string& name, const GraphFile* file = nullptr,
                                   const Graph* wanted = nullptr, Parallel* parallel = nullptr);

}  // namespace emplace
