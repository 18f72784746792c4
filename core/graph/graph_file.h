/// GraphFile: everything a graph file says: the graph, and what to do with it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/host_memory.h"
#include "core/graph/graph.h"
#include "core/op/op_table.h"

namespace emplace {

/// `config` of the file: the part of TensorFlow's ConfigProto that emplace knows. Unset members were not written.
struct FileConfig {
  std::optional<bool> allow_soft_placement;
  std::optional<bool> log_device_placement;
  std::map<std::string, int> device_count;
  std::optional<int> inter_op_parallelism_threads, intra_op_parallelism_threads;
  std::optional<double> per_process_gpu_memory_fraction;
  std::optional<bool> allow_growth;
  std::optional<std::string> visible_device_list;
  struct VirtualDevices {
    std::vector<double> memory_limit_mb;
    std::vector<int> priority, device_ordinal;
  };
  std::vector<VirtualDevices> virtual_devices;
  std::optional<int> num_virtual_devices_per_gpu;
  std::optional<int64_t> host_memory_limit;  // bytes
  std::optional<bool> require_gpu;
};

/// A name as written in `fetch`, `feed`, ...: resolved against the graph later, with its place for messages.
struct NamedRef {
  std::string name;  // "n", "n:1"
  int64_t position = kNoPosition;
};

/// A function of the `library`: signature and body.
struct Function {
  OpSignature signature;
  std::unique_ptr<Graph> body;  // _Arg and _Retval nodes at its ends
};

/// A variable that the file writes in short form (op "Variable" with initial_value).
struct FileVariable {
  NodeId variable = kNoNode;
  NodeId assign = kNoNode;
  NodeId read = kNoNode;
  bool trainable = true;
  /// The output that initialises it, if another node of the file makes that value: then type and shape of the variable
  /// may be open until validate() knows those of the value. Its node has a smaller id than the variable.
  Endpoint initial_value{};
};

struct GraphFile {
  std::shared_ptr<const Source> source;
  std::unique_ptr<OpTable> ops;  // built-in tables and the file's op_def, kernel_def
  Graph graph;
  std::vector<NamedRef> fetch, target, init;
  bool has_fetch = false, has_init = false;
  std::vector<std::pair<NamedRef, Tensor>> feed;
  std::map<std::string, std::string>
      signature_names;  // of a TF.js model: what it calls its inputs and outputs -> tensor
  std::vector<FileVariable> variables;
  FileConfig config;
  std::map<std::string, Function> library;
  std::map<std::string, std::map<int, std::string>> cluster;  // job -> task -> host:port
  int producer = 0, min_consumer = 0;
  std::vector<int> bad_consumers;
  Problems warnings;                       // what validate() found odd, though TensorFlow accepts it
  std::string_view train_json, data_json;  // the text of `train` and `data`, in the source: for the training stage
  /// `config`, `op_def`, `kernel_def`, `library` and `cluster` as the source spells them, for whoever writes the file
  /// again.
  std::vector<std::pair<std::string_view, std::string_view>> declared_text;
  HostShare memory{HostUse::kGraph};  // what the nodes take of the heap; the text counts by itself
};

/// Where files named in a graph may lie: the graph file's own folder, and what --allow-path adds.
struct LoadOptions {
  std::vector<std::string> allowed_paths;
  /// Bytes that values may take beyond what the file spells out (a splat, zeros): 2 GiB, as much as a whole GraphDef
  /// can hold in protobuf. A file of a few bytes cannot ask for more.
  int64_t max_fill_bytes = int64_t{2} << 30;
};

/// Reads a graph file (GraphDef JSON, its hand-written form, or a TF.js model.json). Problems are collected; the
/// result is usable for validate() only if there are none.
std::unique_ptr<GraphFile> load(std::shared_ptr<const Source> source, const LoadOptions& options, Problems& problems);

/// Ops known, arity and attrs right, types and shapes inferred, no cycle; literals get their element types. Adds
/// every problem it finds, and to file.warnings what is none to TensorFlow. Afterwards Graph::type() and
/// Graph::output_shape() may be used. `contradictions` gets what TensorFlow notices only when it runs a graph, and what
/// therefore keeps nobody from placing it: shapes that do not fit, constants whose value is not of the type that they
/// say. Null: `problems` does.
void validate(GraphFile& file, Problems& problems, Problems* contradictions = nullptr);

}  // namespace emplace
