/// What tells machines apart whose measured times differ.
#pragma once

#include <string>

namespace emplace {

/// "Intel(R) Xeon(R) ..., 2 processors".
std::string machine_name();

}  // namespace emplace
