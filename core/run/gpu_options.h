/// How the GPUs of a session work.
#pragma once

namespace emplace {

struct GpuRunOptions {
  bool deterministic = false;     // only algorithms that give the same bytes on every run
  bool tf32 = false;              // products of float matrices may round their inputs
  bool sync_every_node = false;   // wait for every node, so that a failure names it
};

}  // namespace emplace
