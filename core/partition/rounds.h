/// Rounds: copies between tasks that a network may carry by a collective of its own: in a round, every task sends each
/// other what it has for it. They are gradients on their way to where they are added, bucket by bucket
/// (core/partition/bucket_order.h), and the means on their way back.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "core/partition/program.h"

namespace emplace {

struct Round {
  struct Item {
    uint32_t copy = 0;  // number, as Transfer has it
    TaskId from = kNoTask, to = kNoTask;
    ValueId value = kNoValue;  // of the whole program: some go to several tasks
    DType dtype = DType::kInvalid;
    Shape shape;
    size_t bytes() const { return static_cast<size_t>(shape.num_elements()) * dtype_size(dtype); }
  };
  std::vector<Item> items;  // ascending by copy
  bool to_all = false;      // what a task sends, it sends to all others
};

/// All of a program, the same on each of its tasks, in the order in which each task begins them.
struct Rounds {
  std::vector<Round> all;
  std::unordered_map<uint32_t, uint32_t> round_of;  // by copy
};

/// Those of a program that is cut for all tasks. Whoever runs its part in order and begins each round once it has made
/// all that it sends in it, and in those before, waits for nobody who waits for it. What is no part of a round goes by
/// itself: what may be dead or has an open shape, and a bucket whose readers stand before what others send in it. Null:
/// there are none.
std::shared_ptr<const Rounds> find_rounds(const Graph& graph, const Program& whole, const TaskMap& tasks);

}  // namespace emplace
