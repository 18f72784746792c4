#include "core/cluster/token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "core/base/cat.h"

namespace emplace {
namespace {

constexpr size_t kDigits = 32;

std::string new_token() {
  static constexpr char kHex[] = "0123456789abcdef";
  std::random_device device;
  std::string token;
  while (token.size() < kDigits) token += kHex[device() & 15U];
  return token;
}

Result<std::string> default_file(const char* (*environment)(const char*)) {
  const auto set = [&](const char* name) {
    const char* value = environment(name);
    return std::string(value ? value : "");
  };
  if (const std::string folder = set("XDG_RUNTIME_DIR"); !folder.empty()) return folder + "/emplace/token";
  if (const std::string home = set("HOME"); !home.empty()) return home + "/.emplace/token";
  return invalid_argument("neither XDG_RUNTIME_DIR nor HOME is set: say where the token is with --token-file");
}

/// Whole or not at all, whoever else makes it at the same time.
Status make_file(const std::string& file) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::filesystem::create_directories(folder, ignored);
  static_cast<void>(chmod(folder.c_str(), 0700));
  const std::string draft = cat(file, ".", getpid());
  const int to = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (to < 0) return unavailable(cat("cannot write ", draft, ": ", std::strerror(errno)));
  const std::string token = new_token();
  const bool written = write(to, token.data(), token.size()) == static_cast<ssize_t>(token.size());
  close(to);
  const bool made = written && (link(draft.c_str(), file.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  unlink(draft.c_str());
  return made ? ok_status() : unavailable(cat("cannot write ", file, ": ", std::strerror(error)));
}

Result<std::string> read_file(const std::string& file) {
  const int from = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (from < 0) return not_found(cat(file, ": ", std::strerror(errno)));
  struct stat facts = {};
  char text[4096];
  const bool known = fstat(from, &facts) == 0;
  const ssize_t length = read(from, text, sizeof text);
  close(from);
  if (!known || length < 0) return invalid_argument(cat(file, " cannot be read"));
  if ((facts.st_mode & 077) != 0)
    return invalid_argument(cat(file, ": others can read this token; make it yours alone: chmod 600 ", file));
  std::string token(text, static_cast<size_t>(length));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.size() < kDigits) return invalid_argument(cat(file, ": a token has at least ", kDigits, " characters"));
  return token;
}

}  // namespace

Result<std::string> cluster_token(const std::string& file, const char* (*environment)(const char*)) {
  if (!file.empty()) return read_file(file);
  ASSIGN_OR_RETURN(const std::string own, default_file(environment));
  if (access(own.c_str(), F_OK) != 0) RETURN_IF_ERROR(make_file(own));
  return read_file(own);
}

}  // namespace emplace
