#include "core/train/variable_readers.h"

#include <algorithm>

#include "core/op/loose_inputs.h"

namespace emplace {
namespace {

class VariableReaders {
 public:
  explicit VariableReaders(const Graph& g)
      : g_(g),
        reads_(g.num_nodes(), ReadAs::kRows),
        handle_of_(g.num_nodes(), kNoNode),
        value_of_(g.num_nodes(), kNoNode) {}

  void add(NodeId id) {
    has_control_ = has_control_ || g_.traits(id).control != Control::kNone;
    const std::span<const Endpoint> inputs = g_.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const NodeId from = inputs[i].node;
      if (from >= id) continue;  // back to the start of a loop, which hands on no handle
      if (const NodeId variable = handle_of_[from]; variable != kNoNode) add_handle(id, i, variable);
      if (const NodeId variable = value_of_[from]; variable != kNoNode) add_value(id, i, variable);
    }
  }
  void add_variable(NodeId id) {
    // What VariableV2 puts out is its value as well as its handle.
    (g_.output_type({id, 0}) == DType::kResource ? handle_of_ : value_of_)[id] = id;
  }
  void add_fetch(const Endpoint& e) {
    if (const NodeId variable = value_of_[e.node]; variable != kNoNode) reads_[variable] = ReadAs::kAligned;
  }
  /// Who may be dead, or runs in a loop, is not counted on: as for constants (core/plan/loose_readers.h).
  std::vector<ReadAs> take() {
    if (has_control_) std::replace(reads_.begin(), reads_.end(), ReadAs::kLoose, ReadAs::kAligned);
    return std::move(reads_);
  }

 private:
  void add_handle(NodeId id, size_t input, NodeId variable) {
    const OpTraits& traits = g_.traits(id);
    if (traits.identity) {
      handle_of_[id] = variable;
    } else if (input == 0 && traits.reads_variable) {
      value_of_[id] = variable;
    } else if (input != 0 || !traits.leaves_state) {
      reads_[variable] = ReadAs::kAligned;
    }
  }
  void add_value(NodeId id, size_t input, NodeId variable) {
    const NodeType& type = g_.type(id);
    if (type.traits->identity) {
      value_of_[id] = variable;
    } else {
      const bool loose = reads_loose(type.op, input, g_.attrs(variable).type("dtype"));
      reads_[variable] = std::max(reads_[variable], loose ? ReadAs::kLoose : ReadAs::kAligned);
    }
  }

  const Graph& g_;
  std::vector<ReadAs> reads_;
  bool has_control_ = false;
  std::vector<NodeId> handle_of_, value_of_;  // by node: the variable whose handle or value it hands on
};

}  // namespace

std::vector<ReadAs> variable_readers(const Graph& g, const std::vector<char>& needed,
                                     std::span<const Endpoint> fetches) {
  VariableReaders readers(g);
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (g.traits(id).variable) readers.add_variable(id);
    if (needed[id]) readers.add(id);
  }
  for (const Endpoint& e : fetches) readers.add_fetch(e);
  return readers.take();
}

}  // namespace emplace
