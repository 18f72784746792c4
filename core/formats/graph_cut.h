/// GraphCut: some nodes of a graph as a graph file of their own, for reproductions. What they read from nodes that are
/// left out is fed: a Placeholder with the value that was seen there, or zeros.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph_file.h"

namespace emplace {

/// A handle, or what lives behind one: it can be read from its maker only.
bool is_handle(DType type);

struct CutRequest {
  std::vector<char> kept;                        // by node
  std::vector<Endpoint> fetch;                   // of kept nodes
  std::vector<NodeId> target;                    // likewise
  std::function<Tensor(const Endpoint&)> value;  // of a tensor that is cut off; an invalid one: zeros. May be null.
  std::string values_file;                       // the name that the text gives to the file of large values
  bool drop_devices = false, drop_controls = false, drop_colocation = false;
  std::set<std::pair<NodeId, std::string>> drop_attrs;
  /// What becomes of the value of a kept constant, of what the file feeds, or of what `value` said. May be null.
  std::function<Tensor(const Endpoint&, const Tensor&)> changed;
  std::map<int64_t, int64_t> sizes;  // of dimensions of shapes in attrs: from, to
  bool as_constants = false;         // what would be fed is a Const, for files that feed nothing
};

struct CutGraph {
  std::string text;                                    // the graph file
  std::vector<std::pair<std::string, Tensor>> values;  // for an .npz beside it, if not empty
};

/// Not thread-safe.
class GraphCut {
 public:
  /// `file` must outlive it. REQUIRES: it was validated and has no problem.
  explicit GraphCut(const GraphFile& file);
  ~GraphCut();

  CutGraph cut(const CutRequest& request) const;
  /// Adds what the kept nodes cannot do without: whatever makes handles and references that they read, and what gives
  /// those variables their first values.
  void close(std::vector<char>& kept) const;
  /// The tensors whose values a cut says, as they are: constants, and what is fed.
  std::vector<std::pair<Endpoint, Tensor>> values(const CutRequest& request) const;

 private:
  struct Document;

  const GraphFile& file_;
  std::unique_ptr<const Document> document_;       // all of the graph as JSON
  std::vector<std::vector<NodeId>> first_values_;  // by variable: the nodes that assign to it
};

}  // namespace emplace
