/// Schedule: which instructions of a program must follow which, and whether running independent ones beside each other
/// is worth it. Edges only ever lead from smaller to larger instruction ids, so running in id order is always a valid
/// order and gives the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan.h"

namespace emplace {

class Schedule {
 public:
  /// Edges of data, control and state. A fused group is one node, named by its first instruction.
  Schedule(const Graph& graph, const Program& program, const Plan& plan);

  /// Is there enough independent work for more than one thread? By rough costs: bytes and products of the shapes.
  bool worth_it() const;
  /// By InstructionId: chains of dependent instructions share a lane. Memory that changes hands inside a lane only does
  /// not make instructions of different lanes wait for each other.
  std::vector<uint8_t> lanes() const;
  static constexpr int kLanes = 4;

  /// After the memory plan: who writes a piece of memory waits for all who use what lay there before.
  void order_memory();
  /// Who empties a slot waits for its other readers.
  void order_releases(const std::vector<std::vector<ValueId>>& releases);
  /// After the last edge.
  void finish();

  // After finish(). Nodes are instructions; those inside a group or a loop's body have no node of their own.
  uint32_t num_nodes() const { return static_cast<uint32_t>(nodes_.size()); }
  InstructionId instruction(uint32_t node) const { return nodes_[node]; }
  uint32_t num_sources(uint32_t node) const { return num_sources_[node]; }
  std::span<const uint32_t> targets(uint32_t node) const {
    return {targets_.data() + first_target_[node], first_target_[node + 1] - first_target_[node]};
  }
  /// Nodes with a larger rank are better started first: more work follows, by the program's ranks or rough costs.
  double rank(uint32_t node) const { return rank_[node]; }

 private:
  uint32_t node_of(InstructionId id) const { return node_of_[id]; }
  void add_edge(uint32_t from, uint32_t to);
  void add_steps();
  void add_data_edges();
  void add_state_edges();
  void find_users();
  double estimate_ns(InstructionId id) const;
  double bytes(ValueId v) const;

  const Graph& graph_;
  const Program& program_;
  const Plan& plan_;
  std::vector<InstructionId> nodes_;
  std::vector<uint32_t> node_of_;       // by InstructionId
  std::vector<double> cost_ns_, rank_;  // by node
  std::vector<std::pair<uint32_t, uint32_t>> edges_;
  std::vector<std::vector<uint32_t>> users_;  // by buffer: nodes that read or write it, by any name
  std::vector<uint32_t> first_target_, targets_, num_sources_;
};

}  // namespace emplace
