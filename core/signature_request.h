/// Translates a request whose feeds and fetches are a signature's keys into one that names the graph's tensors.
#pragma once

#include <optional>
#include <string>

#include "core/formats/meta_graph.h"
#include "core/graph/graph_file.h"
#include "core/pipeline_options.h"

namespace emplace {

/// A MetaGraph or SavedModel as one command uses it.
struct GraphModel {
  MetaGraph meta;
  std::string key;                     // of the signature
  std::optional<Signature> signature;  // nothing: none was chosen
  bool whole = false;                  // the fetches are all of its outputs
};

/// Chooses the signature (RunOptions::signature, else that of a SavedModel which is the default), and says in terms of
/// tensors what `options` say by its keys; without fetches and targets, all of its outputs are fetched. Its defaults
/// become feeds of `file`. Nothing if the file is no MetaGraph and no signature is wanted. A usage error: there is no
/// such signature.
Result<std::optional<GraphModel>> use_signature(GraphFile& file, const std::string& path, RunOptions& options,
                                                Problems& problems);

/// Does the command line, or the file, feed this tensor?
bool is_fed(const std::string& tensor, const GraphFile& file, const RunOptions& options);

/// For a run: is there something to run, and all of the signature fed? A usage error if not.
Status check_signature_run(const GraphModel& model, const std::string& path, const GraphFile& file,
                           const RunOptions& options);

}  // namespace emplace
