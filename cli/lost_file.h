/// A mapped file that another process cuts, or whose disk fails, while it is in use: the read cannot be resumed, and
/// the process ends there (SIGBUS), with what to say about it.
#pragma once

#include <string>

namespace emplace {

/// Installs the handler: the file's name goes to standard error, the exit code is that of damaged data.
void catch_lost_files();

/// What the handler writes to standard output, around the message: a document that is made before, since a handler may
/// take no memory. Before other threads begin.
void set_lost_file_document(std::string before, std::string after);

}  // namespace emplace
