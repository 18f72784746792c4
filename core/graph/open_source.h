/// Opens a graph file whose name came from the command line or from another file.
#pragma once

#include <memory>
#include <string>

#include "core/base/input_file.h"
#include "core/graph/source.h"

namespace emplace {

/// `path` "-" is standard input. Errors are InputFile's.
Result<std::shared_ptr<const Source>> open_source(const std::string& path, const InputOptions& options);

}  // namespace emplace
