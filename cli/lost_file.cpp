#include "cli/lost_file.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/mapped_names.h"

namespace emplace {
namespace {

constexpr int kDataInvalid = 3;
constexpr std::string_view kCut = ": cut by another process, or no longer readable, while it was in use";

struct MadeDocument {
  std::string before, after;
};

MadeDocument& made_document() {
  static MadeDocument made;
  return made;
}

/// A text in memory of its own, since a handler may take no other. What is beyond its end is left out.
class HandlerText {
 public:
  void add(std::string_view text) {
    const size_t n = std::min(text.size(), sizeof bytes_ - size_);
    std::memcpy(bytes_ + size_, text.data(), n);
    size_ += n;
  }
  /// As a JSON string holds it; of a name that may be shown, only these two have to be escaped.
  void add_escaped(std::string_view text) {
    for (const char& c : text) {
      if (c == '"' || c == '\\') add("\\");
      add({&c, 1});
    }
  }
  std::string_view text() const { return {bytes_, size_}; }

 private:
  char bytes_[16384];
  size_t size_ = 0;
};

void tell_lost_file(int signal, siginfo_t* info, void*) {
  if (info->si_code != BUS_ADRERR) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  const char* known = mapped_name_at(info->si_addr);
  const std::string_view name = known ? known : "a mapped file";
  HandlerText line;
  line.add("error: ");
  line.add(name);
  line.add(kCut);
  line.add("\n");
  static_cast<void>(write_all(STDERR_FILENO, line.text()));
  if (!made_document().before.empty()) {
    HandlerText json;
    json.add(made_document().before);
    json.add_escaped(name);
    json.add(kCut);
    json.add(made_document().after);
    static_cast<void>(write_all(STDOUT_FILENO, json.text()));
  }
  ::_exit(kDataInvalid);
}

}  // namespace

void catch_lost_files() {
  made_document();
  struct sigaction action = {};
  action.sa_sigaction = tell_lost_file;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

void set_lost_file_document(std::string before, std::string after) {
  made_document() = {std::move(before), std::move(after)};
}

}  // namespace emplace
