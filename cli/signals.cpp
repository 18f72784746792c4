#include "cli/signals.h"

#include <csignal>

namespace emplace {
namespace {

std::atomic<bool> stop{false};
std::atomic<int> caught{0};

void handle(int signal) {
  caught = signal;
  stop = true;
}

}  // namespace

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the next one is not caught
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is a failed write
}

const std::atomic<bool>& stop_flag() { return stop; }

int caught_signal() { return caught; }

}  // namespace emplace
