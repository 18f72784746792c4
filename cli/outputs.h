/// What becomes of fetched tensors: printed, part of a document, files, comparison with references.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/saved_outputs.h"
#include "core/base/json_writer.h"
#include "core/base/status.h"
#include "core/run_request.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// As NumPy prints them, with their names if there are several.
void print_outputs(const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs);

/// The document's member "outputs". `drain` as in write_json_elements().
void write_outputs(JsonWriter& json, const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs,
                   const std::function<void()>& drain);

/// Flags that no run can satisfy: --save to a name that is neither an array file nor a folder, --expect without a
/// value.
Status check_output_flags(const OutputOptions& options);

/// --save, and --expect NAME=@FILE. To blame are, in this order: a file that cannot be written, an expectation that
/// cannot be read (usage), outputs that differ (a line each).
Status use_outputs(const OutputOptions& options, SavedOutputs& saved, const std::vector<Fetch>& fetches,
                   const std::vector<Tensor>& outputs);

}  // namespace emplace
