/// FolderLock: one process at a time writes into a folder.
#pragma once

#include <string>
#include <utility>

#include "core/base/status.h"

namespace emplace {

/// Held until the object is gone, or the process, however that ends. The file `.lock` in the folder stays: taking it
/// away would let two in.
class FolderLock {
 public:
  FolderLock() = default;
  FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~FolderLock();

  /// FailedPrecondition: another process has it; the message names it. A file system that knows no locks gives one all
  /// the same. InvalidArgument: no file can be written there.
  static Result<FolderLock> take(const std::string& folder);

 private:
  int file_ = -1;
};

}  // namespace emplace
