/// InputFile: the bytes of a file that a person or a graph named, whatever stands behind the name: what never ends is
/// refused or bounded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

struct InputOptions {
  /// Whoever names a pipe on a command line means to write into it; a graph file is data, and may name files only.
  bool pipes = true;
  int64_t most_bytes = INT64_MAX;  // InvalidArgument for more
};

/// Immutable; any thread may read it.
class InputFile {
 public:
  /// `path` "-" is standard input. NotFound, PermissionDenied or InvalidArgument with the system's own words, "PATH:
  /// ..."; stop_status()'s where a signal or the deadline ends the waiting for a pipe. Devices other than terminals
  /// and /dev/null, and sockets, are refused.
  static Result<std::shared_ptr<const InputFile>> open(const std::string& path, const InputOptions& options = {});

  virtual ~InputFile() = default;
  std::string_view bytes() const { return bytes_; }

 protected:
  std::string_view bytes_;
};

}  // namespace emplace
