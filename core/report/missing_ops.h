/// `emplace ops --missing`: what of some graph files cannot run, counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/json_writer.h"
#include "core/graph/graph_file.h"

namespace emplace {

/// Why a node does not run, or not everywhere, worst first.
enum class Lack : uint8_t {
  kUnknown,   // nobody knows the op
  kOnnxOp,    // an op of ONNX, or of another of its domains, that is not read
  kOp,        // TensorFlow's, without a kernel here
  kTypes,     // with a kernel, but none for these types
  kGpuKernel  // TensorFlow has a kernel for GPUs, emplace for the CPU only
};

/// An op of a file of ONNX; its domain is empty for ONNX's own.
struct MissingOnnxOp {
  std::string domain, op;
  int64_t opset = 0, nodes = 0;
};

class MissingOps {
 public:
  /// The file's nodes, those of functions as well. Is there one that runs nowhere? REQUIRES: validate() was called,
  /// whatever it found.
  bool add(const GraphFile& file);
  /// A file that could not be read. `unread`: what of it is known to be missing, by which it counts as read.
  void add_failed(const std::vector<MissingOnnxOp>& unread);

  /// A row for each op and its types: those in the most files first, then with the most nodes, then by name.
  std::string text() const;
  /// Members of a document.
  void write(JsonWriter& json) const;

 private:
  struct Key {
    Lack lack;
    std::string op, type;  // type: of the op's kernel attr, for kTypes and kGpuKernel
    std::string domain{};  // with `opset`: for kOnnxOp
    int64_t opset = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Row {
    int64_t nodes = 0, files = 0;
    int64_t last_file = -1;
  };
  void count(const GraphFile& file, const Graph& graph, bool typed);
  void count(Lack lack, std::string_view op, std::string_view type = {});
  void count(Key key, int64_t nodes);
  std::vector<std::pair<const Key*, const Row*>> sorted() const;

  std::map<Key, Row> rows_;
  int64_t files_ = 0, failed_ = 0;
  int64_t incomplete_ = 0;  // files with something that runs nowhere
};

}  // namespace emplace
