/// Program: the part of a graph that one step runs, cut by device: every value lies in one memory, every edge stays
/// inside a device, and what crosses is a copy instruction. Made by partition() (core/partition/partition.h); the
/// launch plan is made from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/device/task_map.h"
#include "core/graph/graph.h"

namespace emplace {

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = ~ValueId{0};
using InstructionId = uint32_t;
inline constexpr InstructionId kNoInstruction = ~InstructionId{0};

/// A tensor in one memory.
struct PlacedValue {
  Endpoint tensor;
  DeviceId device = kNoDevice;  // the part of the graph that it belongs to
  DeviceId home = kNoDevice;    // whose memory holds it: a GPU, or `host` (CPUs, and what GPU kernels keep on the host)
  DType dtype = DType::kInvalid;            // a reference: the value is a handle
  InstructionId producer = kNoInstruction;  // kNoInstruction: fed
};

enum class InstructionKind : uint8_t {
  kNode,
  kConstant,  // its value is known for good: never launched
  kCopy,      // one input, one output, another memory
  kLoop,      // instructions up to body_end are its frame
  // With other tasks, last of all.
  kSend,     // to another task: its input, or (of a control edge) none but that it runs
  kReceive,  // from another task: its output, or none; dead if what was sent is
};

struct Instruction {
  InstructionKind kind = InstructionKind::kNode;
  Control control = Control::kNone;
  bool may_be_dead = false;  // below a Switch: runs only if all inputs (a Merge: one) are alive
  bool in_loop = false;
  DeviceId device = kNoDevice;
  NodeId node = kNoNode;       // of a copy: the first reader; of a loop: an Enter of it
  uint32_t first_operand = 0;  // inputs, then outputs
  uint32_t num_inputs = 0;
  uint32_t num_outputs = 0;
  uint32_t first_control = 0;  // instructions that come before, and whose death is this one's
  uint32_t num_controls = 0;
  InstructionId body_end =
      kNoInstruction;  // of a loop: its Enters from the next instruction to `entered`, then the body
  InstructionId entered = kNoInstruction;
};

constexpr bool is_transfer(const Instruction& s) { return s.kind >= InstructionKind::kSend; }

/// What a kSend sends, or a kReceive waits for: a copy of the whole program, of which this is one task's part.
struct Transfer {
  InstructionId instruction = kNoInstruction;
  uint32_t copy = 0;  // number, the same at both ends
  TaskId peer = kNoTask;
};

/// A node of a collective whose others are on several tasks: its place among all of them.
struct MeetingMember {
  InstructionId instruction = kNoInstruction;
  int rank = 0;
};

struct Rounds;

struct Program {
  std::vector<PlacedValue> values;
  std::vector<Instruction>
      instructions;  // in an order in which they can run; the frame of a loop follows its kLoop instruction
  std::vector<ValueId> operands;
  std::vector<InstructionId> controls;
  std::vector<ValueId> fetches;  // as requested
  std::vector<ValueId> feeds;    // as requested; kNoValue: nobody reads it
  size_t num_constant_feeds = SIZE_MAX;
  InstructionId guard = kNoInstruction;  // makes the request's guard; a program with loops has none
  DeviceId host = kNoDevice;             // the CPU whose memory stands for all host memory
  bool has_loops = false;
  int64_t num_copies = 0;                // between devices (copy_kind.h)
  std::vector<Transfer> transfers;       // ascending by instruction; empty: no other task takes part
  std::vector<MeetingMember> members;    // of collectives among tasks; ascending by instruction
  std::shared_ptr<const Rounds> rounds;  // of the transfers (core/partition/rounds.h); null: each goes by itself
  std::vector<float> ranks;              // by instruction: of ready ones the highest goes first; empty: not known

  std::span<const ValueId> inputs(const Instruction& s) const {
    return {operands.data() + s.first_operand, s.num_inputs};
  }
  std::span<const ValueId> outputs(const Instruction& s) const {
    return {operands.data() + s.first_operand + s.num_inputs, s.num_outputs};
  }
  std::span<const InstructionId> controls_of(const Instruction& s) const {
    return {controls.data() + s.first_control, s.num_controls};
  }
};

}  // namespace emplace
