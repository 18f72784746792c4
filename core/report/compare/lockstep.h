/// Lockstep: two runs of one graph, each on a thread of its own, go from node to node together. What a node made on
/// side A is kept until side B has made the same node's outputs, is compared there, and freed: beside both sides' own
/// memory there is one node's outputs, a few where the sides' orders differ.
///
/// Unless errors are to flow, B's outputs then become A's: every node of B gets A's inputs, and what is found at a node
/// is its own error.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/report/compare/node_difference.h"
#include "core/run/observer.h"

namespace emplace {

struct LockstepOptions {
  Tolerance tolerance;
  bool flow = false;        // errors flow: B keeps what it made
  bool to_the_end = false;  // else both sides stop at the first node that is out of tolerance
};

/// Thread-safe: one thread runs A, another one B.
class Lockstep {
 public:
  /// The graphs must outlive it; nodes are the same if they have one name.
  Lockstep(const Graph& a, const Graph& b, const LockstepOptions& options);
  Lockstep(const Lockstep&) = delete;
  Lockstep& operator=(const Lockstep&) = delete;

  /// For the sessions.
  RunObserver& observer_a() { return side_a_; }
  RunObserver& observer_b() { return side_b_; }
  /// A side's run has ended, well or not; the other one no longer waits for it.
  void ended_a();
  void ended_b();
  /// Did a node end both runs? Then they return CANCELLED.
  bool stopped() const;

  /// After both ended.
  NodeDifferences& found() { return found_; }

 private:
  using Key = std::pair<uint32_t, int64_t>;  // which node, and how many times it ran before

  /// What a side sees. Its own thread only.
  class SideObserver final : public RunObserver {
   public:
    SideObserver(Lockstep& all, const Graph& graph, const Graph& other, bool is_a);
    Status finished(const ObservedInstruction& what, std::span<const Tensor> outputs) override;
    bool has_replaced() override { return std::exchange(replaced_, false); }

   private:
    Lockstep& all_;
    const bool is_a_;
    std::vector<NodeId> node_in_a_;  // by node: A's node of the same name; kNoNode: A has none, or B
    std::vector<int64_t> times_;     // by node
    bool replaced_ = false;
  };

  Status offer(const Key& key, std::span<const Tensor> outputs);
  std::optional<std::vector<Tensor>> take(const Key& key);
  /// Returns whether outputs of `b` were replaced.
  bool compare(const Key& key, const std::vector<Tensor>& a, std::span<const Tensor> b);
  static Status stop_of_both();

  const LockstepOptions options_;
  NodeDifferences found_;  // B's thread only, until both have ended
  const Graph& graph_;     // A's
  SideObserver side_a_, side_b_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::map<Key, std::vector<Tensor>> held_;  // made by A, not yet by B
  std::optional<Key> wanted_;                // B waits for it
  bool a_ended_ = false, b_ended_ = false, stopped_ = false;
};

}  // namespace emplace
