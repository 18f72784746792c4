/// How the GPUs of a session work.
#pragma once

#include <cstdint>

namespace emplace {

enum class GpuExec : uint8_t {
  kAuto,   // recorded after the first step where that is possible
  kEager,  // launch by launch
  kGraph,  // recorded; what cannot be is an error
};

struct GpuRunOptions {
  GpuExec exec = GpuExec::kAuto;
  bool deterministic = false;     // only algorithms that give the same bytes on every run
  bool tf32 = false;              // products of float matrices may round their inputs
  bool sync_every_node = false;   // wait for every node, so that a failure names it
  bool verbose = false;           // kernels say on stderr which library they take, and why
};

}  // namespace emplace
