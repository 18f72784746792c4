#include "core/base/input_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/base/stop.h"

namespace emplace {
namespace {

struct InputFolder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("emplace_in_" + std::to_string(std::rand()));
  InputFolder() { std::filesystem::create_directory(path); }
  ~InputFolder() { std::filesystem::remove_all(path); }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
  std::string pipe(const std::string& name) const {
    REQUIRE(::mkfifo((path / name).c_str(), 0600) == 0);
    return (path / name).string();
  }
};

std::string refusal(const std::string& path, InputOptions options = {}) {
  const auto file = InputFile::open(path, options);
  return file.ok() ? "read" : file.status().message();
}

}  // namespace

TEST_CASE("input: files are read, small ones as copies, large ones mapped") {
  InputFolder folder;
  CHECK(InputFile::open(folder.put("small", "abc")).take()->bytes() == "abc");
  const std::string text(1 << 20, 'x');
  CHECK(InputFile::open(folder.put("large", text)).take()->bytes() == text);
  CHECK(InputFile::open(folder.put("empty", "")).take()->bytes().empty());
}

TEST_CASE("input: what is no file, and what may never end, is refused by name") {
  InputFolder folder;
  CHECK(refusal("/dev/zero") == "/dev/zero is a device; wanted a file or a pipe");
  CHECK(refusal("/dev/urandom", {.pipes = false}) == "/dev/urandom is a device; wanted a file");
  CHECK(refusal("/dev/null") == "read");
  CHECK(refusal(folder.path.string()).ends_with(": Is a directory"));
  CHECK(refusal((folder.path / "none").string()).ends_with(": No such file or directory"));
  CHECK(refusal(folder.pipe("pipe"), {.pipes = false}).ends_with("pipe is a pipe; wanted a file"));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = (folder.path / "s").string();
  std::strncpy(address.sun_path, name.c_str(), sizeof address.sun_path - 1);
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(refusal(name).ends_with("s is a socket; wanted a file or a pipe"));
  ::close(fd);
  CHECK(refusal(folder.put("long", std::string(5000, 'x')), {.most_bytes = 4096}).find("more than the 4.0 KiB") !=
        std::string::npos);
}

TEST_CASE("input: waiting for a pipe ends with the deadline; a writer is waited for") {
  InputFolder folder;
  const std::string pipe = folder.pipe("pipe");
  set_deadline(0.05);
  CHECK(InputFile::open(pipe).status().code() == Code::kDeadlineExceeded);
  set_deadline(0);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    std::ofstream(pipe) << "late";
  });
  CHECK(InputFile::open(pipe).take()->bytes() == "late");
  writer.join();
}

}  // namespace emplace
