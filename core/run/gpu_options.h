/// How the GPUs of a session work.
#pragma once

#include <cstdint>

#include "core/device/gpu.h"

namespace emplace {

enum class GpuExec : uint8_t {
  kAuto,   // recorded after the first step where that is possible
  kEager,  // launch by launch
  kGraph,  // recorded; what cannot be is an error
};

enum class GpuFuse : uint8_t {
  kAuto,  // elementwise nodes become one kernel where that saves more time than compiling it takes
  kAlways,
  kNever,
};

struct GpuRunOptions {
  GpuExec exec = GpuExec::kAuto;
  bool deterministic = false;    // only algorithms that give the same bytes on every run
  bool tf32 = false;             // products of float matrices may round their inputs
  bool sync_every_node = false;  // wait for every node, so that a failure names it
  GpuLog log;                    // for what is no error: a step that could not be recorded
  GpuFuse fuse = GpuFuse::kAuto;
  int64_t steps_to_come = 1;  // as far as is known
};

}  // namespace emplace
