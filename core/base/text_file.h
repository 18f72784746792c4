/// Writing a text into a file that a person named, with the system's words where that fails.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

/// InvalidArgument if there can be no such file, Unavailable if it takes no more: the disk is full.
Status write_text_file(const std::string& path, std::string_view text, bool append = false);

}  // namespace emplace
