#include "core/train/checkpoint_folder.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

using namespace emplace;
namespace fs = std::filesystem;

namespace {

const RunIdentity kRun = {"graph", 3, "data"};

struct Folder {
  Folder() {
    char name[] = "/tmp/emplace-checkpoints-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }

  CheckpointFolder open(int64_t keep = 0) const {
    Result<CheckpointFolder> folder = CheckpointFolder::open(path, keep);
    REQUIRE(folder.ok());
    return folder.take();
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) names.insert(entry.path().filename().string());
    names.erase(".lock");
    return names;
  }
  std::string path;
};

Checkpoint at_step(int64_t step, const RunIdentity& run = kRun) {
  Checkpoint c;
  c.step = step;
  c.seed = run.seed;
  c.graph_file = "g.json";
  c.graph_sha256 = run.graph_sha256;
  c.data = run.data;
  const float value[] = {static_cast<float>(step)};
  c.variables.emplace_back("w", Tensor::of<float>({1}, value));
  return c;
}

void save_all(const Folder& folder, std::initializer_list<int64_t> steps, const RunIdentity& run = kRun) {
  CheckpointFolder f = folder.open();
  REQUIRE(f.claim(run, nullptr, true).ok());
  for (int64_t step : steps) REQUIRE(f.save(at_step(step, run)).ok());
}

std::set<std::string> pairs(std::initializer_list<const char*> steps) {
  std::set<std::string> names;
  for (const char* step : steps) {
    names.insert(std::string("step-000000") + step + ".json");
    names.insert(std::string("step-000000") + step + ".npz");
  }
  return names;
}

}  // namespace

TEST_CASE("a folder keeps the highest steps of its run") {
  Folder folder;
  CheckpointFolder f = folder.open(2);
  REQUIRE(f.claim(kRun, nullptr, false).ok());
  for (int64_t step : {1, 2, 3}) REQUIRE(f.save(at_step(step)).ok());
  CHECK(folder.files() == pairs({"02", "03"}));
}

TEST_CASE("a run that begins anew is refused where checkpoints are, and changes nothing") {
  Folder folder;
  save_all(folder, {10, 20});
  const auto before = folder.files();
  CheckpointFolder f = folder.open(1);
  const Status refused = f.claim(kRun, nullptr, false);
  CHECK(refused.code() == Code::kFailedPrecondition);
  CHECK(refused.message() == "'" + folder.path +
                                 "' holds checkpoints of this run: --restore latest goes on from step 20, --overwrite "
                                 "begins anew and replaces them; or name another folder");
  CHECK(folder.files() == before);
}

TEST_CASE("another graph, another seed and other data are other runs") {
  Folder folder;
  save_all(folder, {10});
  const Checkpoint last = at_step(10);
  CheckpointFolder f = folder.open();
  CHECK(f.claim(kRun, &last, false).ok());
  CHECK_FALSE(f.claim({"other", 3, "data"}, &last, false).ok());
  CHECK_FALSE(f.claim({"graph", 4, "data"}, &last, false).ok());
  CHECK_FALSE(f.claim({"graph", 3, "other"}, &last, false).ok());
}

TEST_CASE("what is newer than the restored checkpoint is not lost") {
  Folder folder;
  save_all(folder, {10, 20, 30});
  const Checkpoint middle = at_step(20);
  CheckpointFolder f = folder.open(2);
  CHECK(f.claim(kRun, &middle, false).message().find("holds newer checkpoints than that of step 20") !=
        std::string::npos);
  REQUIRE(f.claim(kRun, &middle, true).ok());
  CHECK(folder.files() == pairs({"10", "20", "30"}));  // until there is a new one
  REQUIRE(f.save(at_step(25)).ok());
  CHECK(folder.files() == pairs({"10", "20", "25"}));
  std::vector<std::string> damaged;
  CHECK(f.newest(damaged)->step == 25);
}

TEST_CASE("overwriting goes before, however low its steps are, and lets the others go with its first save") {
  Folder folder;
  save_all(folder, {10, 20}, {"other", 1, ""});
  CheckpointFolder f = folder.open(5);
  REQUIRE(f.claim(kRun, nullptr, true).ok());
  REQUIRE(f.save(at_step(10)).ok());
  CHECK(folder.files() == pairs({"10"}));
  std::vector<std::string> damaged;
  CHECK(f.newest(damaged)->graph_sha256 == "graph");
  CHECK(f.newest(damaged)->run_number == 2);
}

TEST_CASE("an overwriting that was interrupted goes on with the newer run") {
  Folder folder, old;
  save_all(old, {50});
  save_all(folder, {10});
  CheckpointFolder f = folder.open();
  REQUIRE(f.claim(kRun, nullptr, true).ok());
  REQUIRE(f.save(at_step(5)).ok());
  fs::copy(old.path + "/step-00000050.npz", folder.path);  // as if it had not been removed yet
  fs::copy(old.path + "/step-00000050.json", folder.path);
  std::vector<std::string> damaged;
  const std::optional<Checkpoint> newest = f.newest(damaged);
  REQUIRE(newest);
  CHECK(newest->step == 5);
  CHECK(f.claim(kRun, &*newest, false).ok());
  CHECK(load_checkpoint(folder.path)->step == 5);
}

TEST_CASE("files that are nobody's checkpoint stay") {
  Folder folder;
  for (const char* name : {"step-00000002.npz", "notes.txt", "step-1.npz", "model.json"})
    std::ofstream(folder.path + "/" + name) << name;
  CheckpointFolder f = folder.open(1);
  REQUIRE(f.claim(kRun, nullptr, false).ok());
  for (int64_t step : {1, 2, 3}) REQUIRE(f.save(at_step(step)).ok());
  auto wanted = pairs({"03"});
  wanted.merge(std::set<std::string>{"step-00000002.npz.~1~", "notes.txt", "step-1.npz", "model.json"});
  CHECK(folder.files() == wanted);
}

TEST_CASE("a pair of two runs is no checkpoint") {
  Folder folder, other;
  save_all(folder, {7});
  CheckpointFolder f = other.open();
  REQUIRE(f.claim(kRun, nullptr, false).ok());
  Checkpoint c = at_step(7);
  c.variables[0].second.data<float>()[0] = 8;
  REQUIRE(f.save(c).ok());
  fs::copy_file(other.path + "/step-00000007.npz", folder.path + "/step-00000007.npz",
                fs::copy_options::overwrite_existing);
  CHECK(load_checkpoint(folder.path).status().message().find("found the checksum") != std::string::npos);
}

TEST_CASE("a damaged checkpoint is in nobody's way, and does not count") {
  Folder folder;
  save_all(folder, {10, 20, 30});
  std::ofstream(folder.path + "/step-00000030.npz") << "half";
  CheckpointFolder f = folder.open(2);
  std::vector<std::string> damaged;
  const std::optional<Checkpoint> newest = f.newest(damaged);
  REQUIRE(newest);
  CHECK(newest->step == 20);
  REQUIRE(f.claim(kRun, &*newest, false).ok());
  REQUIRE(f.save(at_step(25)).ok());
  CHECK(folder.files() == pairs({"20", "25", "30"}));
  REQUIRE(f.save(at_step(30)).ok());
  std::set<std::string> want = pairs({"25", "30"});
  want.insert({"step-00000030.json.~1~", "step-00000030.npz.~1~"});
  CHECK(folder.files() == want);
}

TEST_CASE("a folder is one process's at a time") {
  Folder folder;
  CheckpointFolder f = folder.open();
  CHECK(CheckpointFolder::open(folder.path, 0).status().code() == Code::kFailedPrecondition);
}
