#include "core/ops/nn/ctc_inputs.h"

#include "core/base/cat.h"

namespace emplace {

Status check_ctc_inputs(const KernelContext& c) {
  const Shape &inputs = c.input(0).shape(), &lengths = c.input(1).shape();
  if (inputs.rank() != 3) return invalid_argument("inputs is not a 3-Tensor");
  if (inputs.num_elements() == 0) return invalid_argument("inputs must not be empty");
  if (lengths.rank() != 1) return invalid_argument("sequence_length is not a vector");
  if (lengths.dim(0) != inputs.dim(1)) {
    return failed_precondition(cat("len(sequence_length) != batch_size.  len(sequence_length):  ", lengths.dim(0),
                                   " batch_size: ", inputs.dim(1)));
  }
  for (int64_t b = 0; b < lengths.dim(0); ++b) {
    if (c.in<int32_t>(1)[b] > inputs.dim(0))
      return failed_precondition(cat("sequence_length(", b, ") <= ", inputs.dim(0)));
  }
  return ok_status();
}

}  // namespace emplace
