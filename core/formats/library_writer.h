/// FunctionDefLibrary in JSON, of functions that were made here and not read from a file.
#pragma once

#include <map>
#include <string>

#include "core/graph/graph_file.h"

namespace emplace {

/// REQUIRES: all bodies are there and validated, and their attrs are of no call.
std::string library_json(const std::map<std::string, Function>& library);

}  // namespace emplace
