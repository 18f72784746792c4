/// BoundInstruction: a node's kernel and what it sees while it runs.
#pragma once

#include <memory>
#include <vector>

#include "core/op/kernel.h"

namespace emplace {

struct BoundInstruction {
  std::unique_ptr<Kernel> kernel;   // null: nothing to run
  KernelContext context;            // inputs and outputs: this instruction's part of the program's operands
  std::vector<Shape> prepared_for;  // input shapes of the last prepare(), where only a run knows them
  std::vector<Shape> settled;       // what the shape rule makes of these, if nothing else decides
  bool prepared = false;
  bool rehearsed = false;                   // prepare() has seen the shapes, and will be called again with the inputs
  class GpuNodeKernel* gpu_node = nullptr;  // `kernel`, if it is a node's on a GPU
  class GpuCopyKernel* gpu_copy = nullptr;  // `kernel`, if it is a copy that a GPU makes
  bool records = false;                     // a GPU's, and does the same at each step: may be part of a recording
  bool gives_way = false;                   // a GPU's, and does without its workspace where there is no memory for it
};

}  // namespace emplace
