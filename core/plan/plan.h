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
  kFixed,  // a constant, a feed, or worked out by the plan: `known` for good
};

struct ValuePlan {
  Storage storage = Storage::kSlot;
  Shape shape = Shape::unknown();
  const Tensor* known = nullptr;  // host memory; set for every kFixed value
  int64_t offset = 0;
  ValueId buffer = kNoValue;      // of a kBlock value: whose bytes it shares (itself, if it has its own)
  StepId last_use = 0;            // of a buffer: the last step that needs its bytes; of a kSlot value: its last reader
};

/// How much of a step is left for run time.
enum class StepMode : uint8_t {
  kSkip,     // nothing: constants, outputs that share an input's bytes
  kDirect,   // the kernel, on tensors that are bound once
  kPlanned,  // shapes settled, but an input is in a slot or the step may be dead
  kDynamic,  // shapes from the rule, at each change
};

/// The block of one device.
struct DevicePlan {
  int64_t bytes = 0;
  std::vector<std::pair<ValueId, int64_t>> live_at_peak;  // largest first
};

struct Plan {
  std::vector<ValuePlan> values;   // by ValueId
  std::vector<StepMode> modes;     // by StepId
  std::vector<DevicePlan> devices; // by DeviceId
  std::deque<Tensor> tensors;      // owns what `known` points to
};

/// `feeds` are the request's. Errors of shape rules carry the node's name.
Result<Plan> make_plan(const GraphFile& file, const DeviceSet& devices, const Program& program,
                       const std::vector<Tensor>& feeds);

/// "\n\t [[{{node NAME}}]]" behind the message, as TensorFlow does.
Status attach_node(Status status, std::string_view node_name);

}  // namespace emplace
