/// Which build of the program this is: what files that it writes say, and what tells tables of costs apart.
#pragma once

#include <string>

namespace emplace {

/// "emplace 0.1.0 (commit 012345678)".
std::string program_version();

}  // namespace emplace
