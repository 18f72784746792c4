/// GraphCheckpoints: the checkpoints that the nodes of one graph read and write: TensorFlow's, in the graph file's
/// folder or where --allow-path says; on a server, where --data-root says. Names are relative to the graph's folder, or
/// begin with it. And the other files that they read, by the same rule.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/checkpoint/bundle_writer.h"
#include "core/graph/graph_file.h"
#include "core/op/checkpoint_access.h"

namespace emplace {

/// Which files the nodes of a graph may touch.
struct GraphFolders {
  std::string own;                   // of relative names; others may begin with it
  std::string place;                 // where it is on this machine
  std::vector<std::string> allowed;  // nothing else may be touched
  std::string refusal;               // what is told of a file elsewhere, and what to do about it
};
/// Of a graph that runs where its file is.
GraphFolders graph_folders(const Source& graph, const LoadOptions& options);
/// Of a graph that a client sent to a server, whose --data-root is `roots`.
GraphFolders graph_folders_of_server(std::string own, std::string place, std::vector<std::string> roots);

class GraphCheckpoints final : public CheckpointAccess {
 public:
  explicit GraphCheckpoints(GraphFolders folders) : folders_(std::move(folders)) {}

  Result<Tensor> read(const std::string& prefix, const std::string& key, const std::string& part,
                      Parallel& parallel) override;
  Status write(const std::string& prefix, std::span<const CheckpointPart> tensors) override;
  Status write_file(const std::string& name, std::span<const CheckpointPart> tensors) override;
  Status merge(std::span<const std::string> prefixes, const std::string& to, bool remove_folders,
               bool missing_ok) override;
  Result<std::string> read_file(const std::string& name) override;
  const std::string& folder() const override { return folders_.own; }

 private:
  /// Where the checkpoint lies; PermissionDenied: elsewhere than the graph may touch, or one of its files is.
  Result<std::string> place_of(const std::string& prefix) const;
  std::string in_folder(const std::string& name) const;
  Status check_files(std::string_view what, const std::string& name, const std::string& place) const;
  Result<TensorBundle*> open(const std::string& prefix);
  using Writer = Status (*)(const std::string&, std::span<const TensorToSave>);
  Status write_with(Writer writer, const std::string& name, std::span<const CheckpointPart> tensors);

  const GraphFolders folders_;
  std::mutex mutex_;
  std::string open_prefix_;           // guarded by mutex_
  std::optional<TensorBundle> open_;  // guarded by mutex_: the one that was read last
};

}  // namespace emplace
