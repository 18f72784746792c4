/// InputFile: the bytes of a file that a person or a graph named, whatever stands behind the name: what never ends is
/// refused or bounded, and what does not fit into the host's memory is not read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/host_memory.h"
#include "core/base/status.h"

namespace emplace {

struct InputOptions {
  HostUse use = HostUse::kGraph;  // what its bytes count as
  /// Whoever names a pipe on a command line means to write into it; a graph file is data, and may name files only.
  bool pipes = true;
  bool count_mapped = true;        // false: whoever keeps a part of a mapped file counts it
  int64_t most_bytes = INT64_MAX;  // InvalidArgument for more
  /// Nothing that this process writes may take its place: a file that a graph names, which no option tells of.
  bool kept = false;
};

/// Was this file opened as one that is kept? Links lead to the same file.
bool is_kept_file(const std::string& path);
bool is_kept_file(int descriptor);

/// Immutable; any thread may read it.
class InputFile {
 public:
  /// `path` "-" is standard input. NotFound, PermissionDenied or InvalidArgument with the system's own words, "PATH:
  /// ..."; stop_status()'s where a signal or the deadline ends the waiting for a pipe; ResourceExhausted if the limit
  /// of host memory does not allow its size. Devices other than terminals and /dev/null, and sockets, are refused.
  static Result<std::shared_ptr<const InputFile>> open(const std::string& path, const InputOptions& options = {});
  /// Reads standard input to its end; from now on each open("-") gives its bytes. While no other thread opens a file.
  static Status keep_standard_input();

  virtual ~InputFile() = default;
  std::string_view bytes() const { return bytes_; }
  /// The bytes are the file's own pages, which may be written to without changing the file. False: a copy, or a text.
  bool lendable() const { return lendable_; }
  /// The bytes from `begin` to `end` will hardly be read again: whole pages of a mapped file go back to the system.
  virtual void forget([[maybe_unused]] size_t begin, [[maybe_unused]] size_t end) const {}

 protected:
  std::string_view bytes_;
  bool lendable_ = false;
};

}  // namespace emplace
