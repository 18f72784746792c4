#include "cli/signals.h"

#include <csignal>

#include "cli/lost_file.h"
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
