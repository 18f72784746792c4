/// Launch: one entry of a launch list (core/run/launch_list.h), and of what GPUs make of it (core/run/gpu_launcher.h).
#pragma once

#include "core/op/kernel.h"
#include "core/partition/program.h"

namespace emplace {

struct Launch {
  Kernel* kernel;  // null: the frame interpreter runs the instruction
  KernelContext* context;
  InstructionId instruction;  // of several in one: the first
};

}  // namespace emplace
