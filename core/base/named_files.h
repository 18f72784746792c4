/// NamedFiles: what a command reads and writes, so that it writes over nothing that it reads, and nothing twice.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace emplace {

/// Files are known by what they are, not by their names: links lead to the same one. Only regular files count.
class NamedFiles {
 public:
  /// `what` is for messages: "the graph", "--restore".
  void reads(const std::string& path, const std::string& what);
  /// The checkpoints in it.
  void reads_checkpoints(const std::string& folder, const std::string& what);
  /// InvalidArgument: it is read, or another option writes it, or there can be no such file.
  Status writes(const std::string& path, const std::string& option);
  /// The same of all that is written, after more was found to be read: files that a graph names, too.
  Status clash() const;

 private:
  struct Written {
    std::string option, path;
  };
  std::map<std::string, std::string> read_;  // who, by identity
  std::vector<Written> written_;
};

}  // namespace emplace
