#include "core/base/output_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/base/folder_lock.h"
#include "core/base/stop.h"
#include "core/base/text_file.h"

using namespace emplace;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/emplace-output-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(path), {})); }
  std::string path;
};

std::string content(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Files grow to so many bytes only, as on a full disk.
struct FullDisk {
  explicit FullDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    old = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old);
  }
  rlimit before = {};
  void (*old)(int) = SIG_DFL;
};

}  // namespace

TEST_CASE("an output's name stands for the old content until the new one is whole") {
  Folder folder;
  const std::string path = folder.file("a");
  REQUIRE(write_text_file(path, "old").ok());
  {
    auto file = OutputFile::open(path);
    REQUIRE(file.ok());
    REQUIRE(file->write("new").ok());
    CHECK(content(path) == "old");
    CHECK(folder.files() == 1);  // it has no name yet
    SECTION("committed") {
      REQUIRE(file->commit().ok());
      CHECK(content(path) == "new");
    }
    SECTION("settled, then abandoned") {
      REQUIRE(file->settle().ok());
      file->abandon();
      CHECK(content(path) == "old");
    }
    SECTION("abandoned") {}
  }
  CHECK(folder.files() == 1);
}

TEST_CASE("a full disk leaves the old output") {
  Folder folder;
  const std::string path = folder.file("a");
  REQUIRE(write_text_file(path, "old").ok());
  for (auto growth : {OutputFile::Growth::kUnseen, OutputFile::Growth::kSeen}) {
    FullDisk disk(4);
    auto file = OutputFile::open(path, growth);
    REQUIRE(file.ok());
    CHECK(file->write("much more than that").code() == Code::kUnavailable);
    CHECK(file->commit().message() == "cannot write '" + path + "': File too large");
  }
  CHECK(content(path) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("an output that is watched grows under a name of its own, for one writer") {
  Folder folder;
  const std::string path = folder.file("a");
  auto file = OutputFile::open(path, OutputFile::Growth::kSeen);
  REQUIRE(file.ok());
  REQUIRE(file->write("line\n").ok());
  CHECK(content(path + ".part") == "line\n");
  CHECK(OutputFile::open(path, OutputFile::Growth::kSeen).status().code() == Code::kFailedPrecondition);
  CHECK(content(path + ".part") == "line\n");
  REQUIRE(file->commit().ok());
  CHECK(content(path) == "line\n");
  CHECK(OutputFile::open(path, OutputFile::Growth::kSeen).ok());
}

TEST_CASE("an output that has a name goes with its folder") {
  for (auto growth : {OutputFile::Growth::kUnseen, OutputFile::Growth::kSeen}) {
    for (bool commits : {true, false}) {
      Folder folder;
      const std::string before = folder.file("before"), after = folder.file("after");
      fs::create_directory(before);
      auto file = OutputFile::open(before + "/a", growth);
      REQUIRE(file.ok());
      REQUIRE(file->write("new").ok());
      REQUIRE(file->settle().ok());
      fs::rename(before, after);
      if (commits)
        CHECK(file->commit().ok());
      else
        file->abandon();
      CHECK(content(after + "/a") == (commits ? "new" : ""));
      CHECK(std::distance(fs::directory_iterator(after), {}) == (commits ? 1 : 0));
    }
  }
}

TEST_CASE("an output keeps its mode, and symbolic links lead to it") {
  Folder folder;
  const std::string path = folder.file("a"), link = folder.file("link"), dangling = folder.file("dangling");
  REQUIRE(write_text_file(path, "old").ok());
  ::chmod(path.c_str(), 0600);
  fs::create_symlink("a", link);
  fs::create_symlink("b", dangling);
  REQUIRE(write_text_file(link, "new").ok());
  REQUIRE(write_text_file(dangling, "other").ok());
  CHECK(fs::is_symlink(link));
  CHECK(content(path) == "new");
  CHECK(content(folder.file("b")) == "other");
  struct stat info = {};
  ::stat(path.c_str(), &info);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("an output that cannot be is refused before anything is written") {
  Folder folder;
  auto message = [](const std::string& path) { return OutputFile::open(path).status().message(); };
  CHECK(message(folder.path) == "cannot write '" + folder.path + "': Is a directory");
  CHECK(message(folder.file("no/a")) == "cannot write '" + folder.file("no/a") + "': No such file or directory");
  REQUIRE(write_text_file(folder.file("a"), "").ok());
  CHECK(message(folder.file("a/b")) == "cannot write '" + folder.file("a/b") + "': Not a directory");
  CHECK(OutputFile::open("").status().code() == Code::kInvalidArgument);
  CHECK(write_text_file("/dev/null", "text").ok());
  CHECK(write_text_file("/dev/full", "text").code() == Code::kUnavailable);
}

TEST_CASE("a locked folder tells who uses it, and is free again afterwards") {
  Folder folder;
  {
    auto lock = FolderLock::take(folder.path);
    REQUIRE(lock.ok());
    const Status second = FolderLock::take(folder.path).status();
    CHECK(second.code() == Code::kFailedPrecondition);
    CHECK(second.message() == "'" + folder.path + "' is in use by process " + std::to_string(::getpid()));
  }
  CHECK(FolderLock::take(folder.path).ok());
}

TEST_CASE("a deadline passes") {
  CHECK(stop_status().ok());
  set_deadline(1e-9);
  CHECK(stop_status().code() == Code::kDeadlineExceeded);
  CHECK(stop_requested());
  set_deadline(3600);
  CHECK(stop_status().ok());
  set_deadline(0);
  CHECK_FALSE(stop_requested());
}
