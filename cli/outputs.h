/// What becomes of fetched tensors beside being printed: files, and comparison with references.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/run_request.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// Flags that no run can satisfy: --save to a name that is neither an array file nor a folder, --expect without a value.
Status check_output_flags(const std::vector<std::string>& save, const std::vector<std::string>& expect);

/// --save: each of `targets` is FILE.npz (all outputs by name), FILE.npy (the one output) or a folder (a .npy each).
Status save_outputs(const std::vector<std::string>& targets, const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs);

/// --expect NAME=@FILE. FailedPrecondition with a line per output that differs; InvalidArgument or NotFound if an
/// expectation cannot be read or names what is not fetched.
Status check_expectations(const std::vector<std::string>& expectations, double rtol, double atol,
                          const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs);

}  // namespace emplace
