/// The notice that a placement would differ if only kernels that emplace can execute counted, or all of TensorFlow's.
#pragma once

#include "core/base/log.h"
#include "core/pipeline.h"

namespace emplace {

/// One line on the log: which nodes the other choice of --kernels would place elsewhere, or has no kernel for; silence
/// if there are none. `runs`: the nodes that a run needs have kernels, or it would not have come so far.
void say_kernel_difference(const Placed& placed, bool runs, Log& log);

}  // namespace emplace
