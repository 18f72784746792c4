/// Bodies: the bodies of functions as lowering copies them: read and typed once, however often they are called.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/graph_file.h"

namespace emplace {

/// What a node is to lowering, by its op.
enum class FunctionalOp : uint8_t {
  kNone,
  kIf,
  kCase,
  kWhile,
  kCall,        // PartitionedCall, StatefulPartitionedCall
  kNativeCall,  // the op is a function's name
  kArgument,
  kResult,
  kEnter,
};

/// Nodes of a body that change something, as TensorFlow's function optimizer sees them.
struct SideEffects {
  std::vector<NodeId> nodes;
  bool behind_controls = true;  // all of them, if the control results run
  bool behind_results = true;   // if the results are computed
  bool dead_results = false;    // a result may be one that a Switch did not choose

  static SideEffects of(const GraphFile& file, const Graph& body, std::span<const NodeId> results,
                        std::span<const NodeId> control_results);
};

struct Body {
  struct Item {  // a node of the body, with numbers of the graph that it is copied to
    uint32_t op = 0, device = 0, attr_set = 0;
    FunctionalOp kind = FunctionalOp::kNone;
    bool has_class = false;
  };
  std::string_view function;  // its name
  const Graph* graph = nullptr;
  std::vector<Item> items;        // by node
  std::vector<uint32_t> ends;     // by node: index of the argument or result that it is
  std::vector<NodeId> arguments;  // by index
  std::vector<NodeId> results;
  std::vector<NodeId> control_results;  // what runs whenever the function is called
  bool stays_call = false;              // marked not to be inlined
  SideEffects effects;
};

class Bodies {
 public:
  /// Bodies are copied to `target`; those made for a call are kept in `instances`, which outlives the target.
  Bodies(const GraphFile& file, Graph& target, std::vector<std::unique_ptr<Graph>>& instances)
      : file_(file), target_(target), instances_(instances) {}

  /// `call` lives as long as this. NotFound: there is no such function.
  Result<const Body*> find(const FuncValue& call);
  /// By text id of the target graph.
  FunctionalOp kind_of(uint32_t op) {
    return op < kinds_.size() && kinds_[op] >= 0 ? static_cast<FunctionalOp>(kinds_[op]) : look_at(op);
  }

 private:
  FunctionalOp look_at(uint32_t op);
  Result<std::unique_ptr<Body>> read(const FuncValue& call);

  const GraphFile& file_;
  Graph& target_;
  std::vector<std::unique_ptr<Graph>>& instances_;
  std::unordered_map<const FuncValue*, const Body*> by_call_;
  std::map<std::string, std::unique_ptr<Body>> by_text_;
  std::vector<int8_t> kinds_;  // by text id; -1: not looked at
};

}  // namespace emplace
