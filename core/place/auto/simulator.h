/// How long one step takes: what the executor does with an assignment, event by event. A device has lanes that hold one
/// node each; a copy takes the engine of its GPU and direction, or that GPU's lane where copies do not overlap; where
/// devices share threads, there are no more nodes and copies at once than those; a tensor goes once to each memory; of
/// what is ready the highest upward rank goes first.
#pragma once

#include <vector>

#include "core/place/auto/problem.h"

namespace emplace::autoplace {

/// A row of a schedule: a node, or a copy of a tensor.
struct Slot {
  bool copy = false;
  uint32_t what = 0;          // the node, or the tensor
  uint16_t from = 0, to = 0;  // of a node both are its device
  double start_us = 0, end_us = 0;
  int64_t waited_for = -1;  // the row whose end let this one start; -1: it started at once
};

/// Not thread-safe: keeps its memory from one run to the next.
class Simulator {
 public:
  explicit Simulator(const Problem& problem);

  /// The step's time. As soon as it is known to be `limit` or more, some number from there on.
  double run(const Assignment& at, double limit = kNever);
  /// The same, with every row in order of its start.
  double schedule(const Assignment& at, std::vector<Slot>& rows);

  /// Of the last run, by node: the longest way from its start to the end, waiting for nobody.
  const std::vector<double>& ranks() const { return ranks_; }

 private:
  struct Task {
    double rank = 0, us = 0;
    uint32_t what = 0;  // node, or tensor
    bool copy = false;
    uint16_t from = 0, to = 0;
    uint64_t onward = 0;  // of a copy to the host: where it goes from there
    int64_t row = -1, waited_for = -1;
  };
  struct Event {
    double time;
    uint32_t task;
    bool operator<(const Event& o) const { return time != o.time ? time > o.time : task > o.task; }
  };
  struct Resource {
    int free = 0;
    bool limited = false, dirty = false;
    std::vector<uint32_t> waiting;  // a heap of tasks by rank
  };

  double upward_ranks(const Assignment& at);
  void begin(const Assignment& at);
  double play(double limit);
  uint32_t resource_of(const Task& task) const;
  void make_ready(uint32_t task);
  bool start_ready(double now, double limit);
  bool start_on_threads(double now, double limit);
  bool start_first(uint32_t id, double now, double limit);
  void start(uint32_t task, double now);
  void finish(uint32_t task);
  void send(uint32_t tensor, uint16_t from);
  void add_copy(uint32_t tensor, uint16_t from, uint16_t to, uint64_t onward, double rank_behind);
  void deliver(uint32_t tensor, uint16_t where, int64_t row);
  bool before(uint32_t a, uint32_t b) const;

  const Problem& p_;
  const Assignment* at_ = nullptr;
  std::vector<double> ranks_, us_;  // by node; what it takes where it is
  std::vector<uint32_t> missing_;   // inputs that are not there yet, by node
  std::vector<Task> tasks_;         // nodes first, then copies as they come up
  std::vector<Resource> resources_;
  int idle_threads_ = 0;  // of those that all devices share
  std::vector<uint32_t> dirty_;
  std::vector<Event> events_;
  std::vector<int64_t> last_row_;  // by resource: the row that left it last; then of threads
  std::vector<double> rank_at_;    // by memory, of the tensor that is being sent
  std::vector<Slot>* rows_ = nullptr;
};

}  // namespace emplace::autoplace
