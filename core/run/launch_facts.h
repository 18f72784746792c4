/// StepFacts: what a step launches, told in nodes and words, for whoever asks what a plan does without running it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/plan/plan.h"

namespace emplace {

/// One kernel of a step.
struct LaunchFacts {
  std::vector<NodeId> nodes;  // all that it does, in that order
  DeviceId device = kNoDevice;
  bool begins_with_product = false;         // the first node's; the others are done to its rows while they are in cache
  std::string how;                          // of the first node's kernel, see DescribedKernel
  std::string loops;                        // of the elementwise nodes, if there are several nodes
  NotJoined not_joined = NotJoined::kNone;  // why the first node is not part of the kernel before it
};

struct StepFacts {
  std::vector<LaunchFacts> launches;  // in launch order, those outside of loops
  std::vector<NodeId> once;           // worked out with the plan: constants alone decide them
  std::vector<NodeId> not_launched;   // constants, other names of what is there (Identity, Reshape), what does nothing
};

class Session;
/// Of the step that a session was made for; nothing where another process has it.
StepFacts step_facts(const Session& session);

}  // namespace emplace
