/// FunctionDefLibrary in protobuf's JSON mapping.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/graph/graph_file.h"

namespace emplace {

/// Of functions that were made here and not read from a file. REQUIRES: all bodies are there and validated.
std::string library_json(const std::map<std::string, Function>& library);

/// A library as `written` by hand, whose types, attrs and inputs may be in short form; `library` is what was read of
/// it, validated. Whatever else it holds stays.
std::string library_message_json(std::string_view written, const std::map<std::string, Function>& library);

}  // namespace emplace
