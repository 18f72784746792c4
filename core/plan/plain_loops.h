/// PlainLoops: loops in which what a node waits for is known before the run: it runs in each iteration, or in all but
/// the last, or in the last one alone. Nobody has to look for dead tensors there, and what only hands tensors on (the
/// greater part of a loop that TensorFlow writes) has nothing to run.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/plan/plan.h"

namespace emplace {

/// When a node of a plain loop runs: always, if there will be another iteration, or if there will be none.
enum class Turn : uint8_t { kNever, kEach, kGoingOn, kLast };

/// What a loop hands from one iteration to the next.
struct LoopVariable {
  ValueId merged = kNoValue;   // in the loop
  ValueId entered = kNoValue;  // at its beginning
  ValueId next = kNoValue;     // where its next value is found; `merged` itself: it stays as it is
  bool takes_entered = false;  // nobody else looks there
  bool takes_next = false;
};

struct PlainLoop {
  InstructionId loop = kNoInstruction;
  ValueId condition = kNoValue;  // where the scalar is that says whether there will be another iteration
  InstructionId decides = kNoInstruction;
  std::vector<LoopVariable> variables;  // by their Merges' order
  std::vector<Turn> turns;              // by instruction of the body, from `entered` of the loop on
};

/// Loops on CPUs, outside of other loops and of branches, and without branches of their own; ascending. What comes out
/// of them is never dead, nor is what follows: where all of the program is on CPUs of one task, it says so from now on.
std::vector<PlainLoop> find_plain_loops(const Graph& graph, const DeviceSet& devices, Program& program);

/// Gives values in these loops the names of those that they are. What hands on a tensor is not launched then, so nobody
/// may watch the step. After choose_storage().
void name_loop_values(const Graph& graph, const Program& program, Plan& plan, std::vector<PlainLoop>& loops);

/// The loop that begins with this instruction; null: it is not among them.
const PlainLoop* find_loop(const std::vector<PlainLoop>& loops, InstructionId id);

}  // namespace emplace
