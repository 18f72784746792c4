/// ScratchFolder: a folder that is gone at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace emplace {

/// Empty path: none could be made.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "emplace-XXXXXX").string();
    if (!error && mkdtemp(name.data())) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace emplace
