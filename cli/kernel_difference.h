/// Where TensorFlow's kernels and those that emplace can execute make a difference to a placement.
#pragma once

#include "core/base/log.h"
#include "core/pipeline.h"

namespace emplace {

/// One line on the log: which nodes the other choice of --kernels would place elsewhere, or has no kernel for; silence
/// if there are none. `runs`: the nodes that a run needs have kernels, or it would not have come so far.
void say_kernel_difference(const Placed& placed, bool runs, Log& log);

}  // namespace emplace
