/// Writing a text into a file that a person named.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

/// As OutputFile does: the name stands for the old content or the new one. InvalidArgument if there can be no such
/// file, Unavailable if the disk is full or the like.
Status write_text_file(const std::string& path, std::string_view text);

}  // namespace emplace
