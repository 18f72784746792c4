#include "cli/signals.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "core/base/descriptor.h"
#include "core/base/stop.h"

namespace emplace {
namespace {

std::atomic<bool> stop{false};
std::atomic<int> caught{0}, caught_afar{0};

void handle(int signal) {
  if (caught.exchange(signal) != 0) {  // the second one
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  stop = true;
  request_stop();
}

void catch_signal(int signal) {
  struct sigaction action = {};
  action.sa_handler = handle;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

/// SIGBUS: a mapped file was truncated by another process, or its disk fails. The read cannot be resumed: say so and
/// exit.
void tell_lost_file(int signal, siginfo_t* info, void*) {
  constexpr int kDataInvalid = 3;
  constexpr std::string_view kText =
      "error: a file was cut by another process, or cannot be read, while it was in use\n";
  if (info->si_code != BUS_ADRERR) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  static_cast<void>(write_all(STDERR_FILENO, kText));
  ::_exit(kDataInvalid);
}

void catch_lost_files() {
  struct sigaction action = {};
  action.sa_sigaction = tell_lost_file;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

void catch_signals() {
  catch_lost_files();
  catch_signal(SIGINT);
  catch_signal(SIGTERM);
  struct sigaction before = {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) catch_signal(SIGHUP);  // nohup wants it ignored
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is a failed write
}

const std::atomic<bool>& stop_flag() { return stop; }

int caught_signal() { return caught != 0 ? caught : caught_afar; }

void stop_from_afar(int signal) {
  caught_afar = signal;
  stop = true;
  request_stop();
}

}  // namespace emplace
