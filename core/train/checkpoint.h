/// Checkpoint: all that a training run needs to go on as if it had never stopped; as a pair of files:
/// step-00000120.npz (variables and slots by name) and step-00000120.json (the rest), which is written last: a
/// checkpoint exists from the moment that its .json does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  std::string graph_sha256;
  std::vector<std::pair<std::string, Tensor>> variables;
};

/// Every initialised variable of the session but `copies` (pairs of copy and original), in graph order.
Result<std::vector<std::pair<std::string, Tensor>>> read_variables(
    const Graph& graph, Session& session, const std::vector<std::pair<NodeId, NodeId>>& copies);

enum class Fit {
  kExact,   // every variable of the graph and of the checkpoint has its counterpart
  kCovers,  // every variable of the graph; the checkpoint may hold more (optimizer slots)
};

/// Sets the session's variables (copies with their originals) and its random streams. InvalidArgument lists the
/// variables that are missing, left over, of another shape or type; then nothing was set.
Status apply_checkpoint(const Checkpoint& checkpoint, const Graph& graph, Session& session,
                        const std::vector<std::pair<NodeId, NodeId>>& copies, Fit fit);

/// The checkpoint `name`: its .json, or an .npz (with a .json beside it or without: then only variables), or a folder
/// (its newest), or one of TensorFlow's: see load_bundle(). NotFound, or InvalidArgument for a damaged one.
Result<Checkpoint> load_checkpoint(const std::string& name, const Graph* graph = nullptr);

/// The folder that a run saves to.
class CheckpointFolder {
 public:
  /// Makes the folder; removes what an interrupted write left. Keeps the `keep` newest (0: all).
  static Result<CheckpointFolder> open(std::string path, int64_t keep);

  /// The newest whole one; nothing if there is none. `damaged` gets a line for each that had to be passed over.
  std::optional<Checkpoint> newest(std::vector<std::string>& damaged) const;
  /// Returns the path of the .npz. On an error the older ones are as they were.
  Result<std::string> save(const Checkpoint& checkpoint, const std::string& graph_name);

 private:
  CheckpointFolder(std::string path, int64_t keep) : path_(std::move(path)), keep_(keep) {}
  void remove_old() const;

  std::string path_;
  int64_t keep_;
};

}  // namespace emplace
