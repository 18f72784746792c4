#include "cli/run_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/base/cat.h"
#include "core/base/stop.h"

extern char** environ;

namespace emplace {
namespace {

constexpr size_t kMostSaid = size_t{1} << 20;
constexpr int kTookTooLong = 124;

/// Reads until the end of the process, the deadline, or the request to stop.
bool listen_to(int from, double timeout_s, std::string& said) {
  constexpr int kPatienceMs = 100;  // between two looks at whether to stop
  const auto start = std::chrono::steady_clock::now();
  char buffer[1 << 14];
  for (;;) {
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (stop_requested() || (timeout_s > 0 && passed >= timeout_s)) return false;
    const double left_ms = timeout_s > 0 ? (timeout_s - passed) * 1000 + 1 : kPatienceMs;
    pollfd ready{from, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(std::min<double>(left_ms, kPatienceMs))) <= 0) continue;
    const ssize_t n = read(from, buffer, sizeof(buffer));
    if (n == 0 || (n < 0 && errno != EINTR)) return true;
    if (n > 0) said.append(buffer, static_cast<size_t>(n));
    if (said.size() > 2 * kMostSaid) said.erase(0, said.size() - kMostSaid);
  }
}

}  // namespace

Result<ProcessEnd> run_process(const std::vector<std::string>& words, double timeout_s) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return unavailable(cat("no pipe: ", std::strerror(errno)));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  posix_spawn_file_actions_adddup2(&files, ends[1], 2);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, words[0].c_str(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  ProcessEnd end;
  if (failed != 0) {
    close(ends[0]);
    return unavailable(cat("cannot start ", words[0], ": ", std::strerror(failed)));
  }
  const bool ended = listen_to(ends[0], timeout_s, end.said);
  close(ends[0]);
  if (!ended) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  RETURN_IF_ERROR(stop_status());
  end.code = !ended ? kTookTooLong : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}

}  // namespace emplace
