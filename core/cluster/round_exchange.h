/// RoundExchange: rounds of copies between tasks (core/partition/rounds.h) by collectives of MPI: all-to-all takes
/// gradients to where they are added, in the order of the replicas, and all-gather takes the means to all. So the bytes
/// are those of one process, which MPI's own sum does not keep.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/cluster/message_passing.h"
#include "core/partition/rounds.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// Of one session. One thread at a time, that which runs the task's part of a step.
class RoundExchange {
 public:
  /// `rank_of`: by task of the session. REQUIRES: all ranks of the job, each once; `ranks` outlives it.
  RoundExchange(MessagePassing& ranks, std::vector<int> rank_of, TaskId self);
  ~RoundExchange();

  /// A program with these rounds runs from now on.
  void begin(std::shared_ptr<const Rounds> rounds);
  /// It has run. What was cut short makes all that follows fail.
  void end();
  bool carries(uint32_t copy) const { return runs_ && rounds_->round_of.contains(copy); }
  /// Copies the value; the last one of a round begins it.
  Status put(uint32_t copy, const Tensor& value);
  /// Why to wait no longer; OK: go on.
  using Stopped = std::function<Status()>;
  /// Waits for the round. The tensor keeps the memory that all of the round came in.
  Result<Tensor> take(uint32_t copy, const Stopped& stopped);
  /// Before end(): waits until nothing is under way. Whoever stops it cuts rounds short.
  void finish(const Stopped& stopped);

  /// Rounds, in all programs.
  int64_t begun() const { return begun_; }

 private:
  /// Where each item stands in what goes out or comes in, and by rank, how much.
  struct Parts {
    std::vector<int> bytes, at;
    size_t size = 0;
    std::unordered_map<uint32_t, size_t> place;  // of this task's copies
  };
  struct Layout {
    Parts out, in;  // of a round to all, `in` is all of it
    size_t puts = 0;
  };
  struct State {
    Tensor out, in;
    size_t to_put = 0;
    int64_t number = 0;
    bool begun = false, ended = false;
  };

  Parts place(const Round& round, bool outgoing) const;
  Layout lay_out(const Round& round) const;
  Status start_ready();
  Status start(size_t round);
  Status make_room(size_t round);
  bool has_ended(State& state);

  MessagePassing& ranks_;
  const std::vector<int> rank_of_;
  const TaskId self_;
  std::shared_ptr<const Rounds> rounds_;  // the last
  bool runs_ = false;
  std::vector<Layout> layouts_;  // by round
  std::vector<State> states_;    // likewise
  size_t next_ = 0;              // to be begun
  int64_t begun_ = 0;
  Status broken_;
};

}  // namespace emplace
