/// Plan: what is known of a program before its first kernel runs: shapes, small values that shapes depend on, and a
/// place in its device's block for every tensor whose shape is settled. The peak is known from here on.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/partition/program.h"

namespace emplace {

/// Where a value's bytes are.
enum class Storage : uint8_t {
  kSlot,   // found by each step anew: pool, variables, strings
  kBlock,  // at `offset` of its device's block
  kFixed,  // a constant, a feed, or worked out by the plan: at `known` for good
  kTile,   // nowhere: a fused group hands it on in registers
};

struct ValuePlan {
  Storage storage = Storage::kSlot;
  Shape shape = Shape::unknown();
  const Tensor* known = nullptr;  // host memory; set for every kFixed value
  bool varies = false;            // fed: its place is fixed, the elements are those of the step
  bool arrives =
      false;  // of a kSlot value: a variable's, whose declared shape its readers rely on (core/run/arrivals.h)
  ValueId same_as = kNoValue;  // of one that arrives: an earlier read of the same value, in whose slot it is
  int64_t offset = 0;
  ValueId buffer = kNoValue;  // of a kBlock value: whose bytes it shares (itself, if it has its own)
  InstructionId last_use =
      0;  // of a buffer: the last instruction that needs its bytes; of a kSlot value: its last reader
};

/// How much of an instruction is left for run time.
enum class InstructionMode : uint8_t {
  kSkip,     // nothing: constants, outputs that share an input's bytes
  kDirect,   // the kernel, on tensors that are bound once, or arrive
  kPlanned,  // shapes settled, but an input is in a slot or the instruction may be dead
  kDynamic,  // shapes from the rule, at each change
};

/// The block of one device, and what kernels take beside it.
struct DevicePlan {
  int64_t bytes = 0;
  int64_t scratch = 0;                                    // at one time
  int64_t optional = 0;                                   // of it: what the step does without
  int64_t kept = 0;                                       // from the first step on
  std::vector<std::pair<ValueId, int64_t>> live_at_peak;  // largest first
};

/// Elementwise instructions that follow each other over equally many elements, run tile by tile; perhaps ending in a
/// reduction of all elements, or beginning with a product (MatMul, Conv2D) whose rows they take as they are finished,
/// and behind a product perhaps ending in what reads such rows (MaxPool). Shapes and registers:
/// core/run/fused_kernel.h.
struct FusedGroup {
  InstructionId head = kNoInstruction;      // the product
  std::vector<InstructionId> instructions;  // ascending, head, reduction and follower excluded
  InstructionId reduction = kNoInstruction;
  InstructionId follower = kNoInstruction;  // reads rows of the head or of the instructions; only behind a head
  int64_t elements = 0;
  InstructionId first() const { return head == kNoInstruction ? instructions.front() : head; }
  InstructionId last() const {
    return follower != kNoInstruction ? follower : reduction != kNoInstruction ? reduction : instructions.back();
  }
};

/// Why an instruction is not done by the kernel of what runs before it.
enum class NotJoined : uint8_t {
  kNone,            // it is
  kFirst,           // nothing elementwise and no product runs right before it
  kNotElementwise,  // it is none for these shapes
  kOtherDevice,
  kOtherSize,  // it has another number of elements
  kReadsNone,  // it reads nothing that the kernel made, and there is more than a tile of that
  kFactors,    // the kernel makes what it has to know beforehand
  kFull,       // the kernel has as many steps as a kernel may
};

struct Plan {
  std::vector<ValuePlan> values;       // by ValueId
  std::vector<InstructionMode> modes;  // by InstructionId
  std::vector<DevicePlan> devices;     // by DeviceId
  std::vector<FusedGroup> groups;      // ascending
  std::vector<NotJoined> not_joined;   // by InstructionId; empty: nobody looked for groups
  std::deque<Tensor> tensors;          // owns what `known` points to
  std::vector<ValueId> worked_out;     // with the plan, because constants alone decide them
  std::vector<ValueId> kept;           // of these, what a step reads

  /// In whose slot a value is found.
  ValueId source(ValueId v) const { return values[v].same_as == kNoValue ? v : values[v].same_as; }
};

}  // namespace emplace
