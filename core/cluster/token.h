/// The secret that the tasks of a cluster share: who has it may run graphs there.
#pragma once

#include <string>

#include "core/base/status.h"

namespace emplace {

/// The content of `file`, else of $XDG_RUNTIME_DIR/emplace/token or ~/.emplace/token, which is made (128 random bits,
/// mode 0600) by who comes first. InvalidArgument: a file that others can read, or with less than 32 digits in it.
Result<std::string> cluster_token(const std::string& file, const char* (*environment)(const char*));

}  // namespace emplace
