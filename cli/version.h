/// What `emplace --version` says.
#pragma once

#include <string>

namespace emplace {

/// Version and commit; the processor's level that kernels are chosen for; where the CUDA plug-in is. Opens nothing.
std::string version_text();

}  // namespace emplace
