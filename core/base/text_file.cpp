#include "core/base/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/cat.h"

namespace emplace {

Status write_text_file(const std::string& path, std::string_view text, bool append) {
  auto failure = [&path] { return cat("cannot write '", path, "': ", std::strerror(errno)); };
  std::FILE* file = std::fopen(path.c_str(), append ? "ab" : "wb");
  if (file == nullptr) return invalid_argument(failure());
  bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  Status status = whole ? ok_status() : unavailable(failure()).blamed(Blame::kWrite);
  if (std::fclose(file) != 0 && whole) status = unavailable(failure()).blamed(Blame::kWrite);
  return status;
}

}  // namespace emplace
