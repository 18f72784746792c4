#include "cuda/kernel_cache.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/cat.h"

namespace emplace::cuda {
namespace {

/// FNV-1a (Fowler, Noll, Vo), from a start of one's own.
std::string hash(std::string_view text, uint64_t start) {
  for (unsigned char c : text) start = (start ^ c) * 0x100000001b3u;
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016" PRIx64, start);
  return hex;
}
std::string long_hash(std::string_view text) {
  return hash(text, 0xcbf29ce484222325u) + hash(text, 0x9e3779b97f4a7c15u);
}

std::optional<std::filesystem::path> folder() {
  if (const char* own = std::getenv("EMPLACE_CACHE_DIR"))
    return *own ? std::optional<std::filesystem::path>(own) : std::nullopt;
  if (const char* caches = std::getenv("XDG_CACHE_HOME"); caches && *caches)
    return std::filesystem::path(caches) / "emplace";
  if (const char* home = std::getenv("HOME"); home && *home) return std::filesystem::path(home) / ".cache" / "emplace";
  return {};
}

}  // namespace

// A file is the hash of the code, and the code.
std::optional<std::string> find_kernel(std::string_view key) {
  const auto where = folder();
  if (!where) return {};
  std::ifstream file(*where / (long_hash(key) + ".cubin"), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  constexpr size_t kHash = 32;
  if (text.size() <= kHash || long_hash(std::string_view(text).substr(kHash)) != text.substr(0, kHash)) return {};
  return text.substr(kHash);
}

void keep_kernel(std::string_view key, std::string_view code) {
  const auto where = folder();
  if (!where) return;
  std::error_code error;
  std::filesystem::create_directories(*where, error);
  const std::filesystem::path path = *where / (long_hash(key) + ".cubin"),
                              part = *where / cat(long_hash(key), ".", getpid());
  {
    std::ofstream file(part, std::ios::binary);
    file << long_hash(code) << code;
    if (!file.flush()) {
      std::filesystem::remove(part, error);
      return;
    }
  }
  std::filesystem::rename(part, path, error);
}

}  // namespace emplace::cuda
