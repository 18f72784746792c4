/// The names of the files that are mapped, for whoever meets an address in one: the handler of SIGBUS, which a read
/// gets where another process has cut the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace emplace {

/// Known while it lives, which ends before the mapping does. Of more mappings at once than the table has room for, the
/// last ones have no name. Any thread.
class MappedName {
 public:
  /// `name`: as it may be shown.
  MappedName(const void* begin, size_t size, std::string name);
  ~MappedName();
  MappedName(const MappedName&) = delete;
  MappedName& operator=(const MappedName&) = delete;

 private:
  std::string name_;
  int row_;
};

/// Of the mapping that `address` lies in, or null. Takes no lock and no memory: a signal handler may call it while the
/// mapping is in use.
const char* mapped_name_at(const void* address);

}  // namespace emplace
