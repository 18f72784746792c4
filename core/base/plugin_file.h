/// Plug-ins of emplace as files: where one lies, and opening it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

bool file_exists(const std::string& path);

/// The plug-in of this name beside the program, or in ../lib; empty: there is none.
std::string plugin_beside_program(std::string_view name);

/// dlopen() of a file whose name has a slash. Unavailable: it is no regular file, cut off, or cannot be loaded; `what`
/// ("the CUDA plug-in") begins the message. It stays loaded.
Result<void*> open_plugin_file(const std::string& file, std::string_view what);

}  // namespace emplace
