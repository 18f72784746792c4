/// What both CTC decoders read: [time, batch, classes] and how long each sequence is.
#pragma once

#include "core/op/kernel.h"

namespace emplace {

/// InvalidArgument or FailedPrecondition, in TensorFlow's words.
Status check_ctc_inputs(const KernelContext& c);

}  // namespace emplace
