/// Writing to file descriptors: everything, or why not; to the console, whole.
#pragma once

#include <string_view>

namespace emplace {

/// In one write(2) if the system takes it all. 0, or the errno of what failed.
int write_all(int file, std::string_view bytes);

/// The same to standard output or standard error, which may be one file: what one call writes is not torn by what
/// another thread writes to either.
int write_console(int file, std::string_view bytes);

}  // namespace emplace
