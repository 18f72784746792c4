/// ByteSink: takes a file's bytes piece by piece, so that nobody needs to hold them all.
#pragma once

#include <functional>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

using ByteSink = std::function<Status(std::string_view)>;

}  // namespace emplace
