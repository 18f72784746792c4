/// Writing to file descriptors: everything, or why not; to the console, whole.
#pragma once

#include <string>
#include <string_view>

namespace emplace {

/// A descriptor for writing behind what `path` has, or -1 with errno. For somebody to read from a pipe it waits until
/// the time is up or a signal arrives: EINTR, as stop_requested() tells.
int open_to_append(const std::string& path, int more_flags = 0);

/// In one write(2) if it is a file and the system takes it all. 0, or the errno of what failed: EINTR where nobody
/// reads (a full pipe, a terminal that was stopped) and stop_requested(), a fifth of a second after that at the latest.
int write_all(int file, std::string_view bytes);

/// The same to standard output or standard error, which may be one file: what one call writes is not torn by what
/// another thread writes to either.
int write_console(int file, std::string_view bytes);

}  // namespace emplace
