#include "core/place/overrides.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/base/cat.h"
#include "tests/unit/place/place_fixture.h"

using namespace emplace;

namespace {

constexpr const char* kTower = R"(
    {"name": "tower_0/a", "op": "NoOp", "device": "/gpu:0"},
    {"name": "tower_1/a", "op": "NoOp", "device": "/job:localhost/gpu:1"},
    {"name": "sum", "op": "NoOp"})";

Status resolve(PlacedGraph& g, const RequestRules& rules) {
  std::vector<std::string> warnings;
  return resolve_requests(g.file->graph, rules, g.options, warnings);
}

std::string request(const PlacedGraph& g, std::string_view node) {
  return std::string(requested_device(g.file->graph, g.options, g.id(node)));
}

}  // namespace

TEST_CASE("--place: the last rule that matches the whole name wins") {
  PlacedGraph g(kTower, "CPU:0 GPU:0 GPU:1");
  REQUIRE(resolve(g, {.place = {R"(tower_\d/.*=cpu:0)", "tower_1/a=/device:GPU:1", "su.=GPU:1"}}).ok());
  CHECK(request(g, "tower_0/a") == "/cpu:0");
  CHECK(request(g, "tower_1/a") == "/device:GPU:1");
  g.place();
  CHECK(g.device("sum") == "GPU:1");
  CHECK(g.reason("sum") == "override");
}

TEST_CASE("--place: a rule without a match, a bad regex and a bad device are errors") {
  PlacedGraph g(kTower);
  CHECK(resolve(g, {.place = {"tower=/cpu:0"}}).message().find("no node's name is 'tower'") != std::string::npos);
  CHECK(resolve(g, {.place = {"tower(=/cpu:0"}}).message().find("is not a regular expression") != std::string::npos);
  CHECK(resolve(g, {.place = {"sum=/foo:0"}}).message().find("is not a device name") != std::string::npos);
  CHECK(resolve(g, {.place = {"sum"}}).code() == Code::kInvalidArgument);
}

TEST_CASE("--place-gradients takes the gradients of what a rule matches along, and without it that is told") {
  constexpr const char* kTrained = R"(
    {"name": "enc/mm", "op": "NoOp"}, {"name": "enc/mm_grad/x", "op": "NoOp"},
    {"name": "gradients/enc/mm_grad/MatMul", "op": "NoOp"}, {"name": "gradients/enc/mm_grad/tuple/group", "op": "NoOp"},
    {"name": "gradients_1/gradients/enc/mm_grad/MatMul_grad/MatMul", "op": "NoOp"},
    {"name": "gradients/enc/mmm_grad/MatMul", "op": "NoOp"}, {"name": "gradients_x/enc/mm_grad/Mul", "op": "NoOp"})";
  PlacedGraph g(kTrained);
  std::vector<std::string> warnings;
  REQUIRE(resolve_requests(g.file->graph, {.place = {"enc/mm=/cpu:0"}}, g.options, warnings).ok());
  CHECK(g.options.overrides.size() == 1);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "--place does not take along 3 nodes of the gradients of what it matches; --place-gradients does");

  REQUIRE(resolve(g, {.place = {"enc/mm=/cpu:0"}, .place_gradients = true}).ok());
  CHECK(g.options.overrides.size() == 4);
  for (const char* name : {"gradients/enc/mm_grad/MatMul", "gradients/enc/mm_grad/tuple/group",
                           "gradients_1/gradients/enc/mm_grad/MatMul_grad/MatMul"})
    CHECK(request(g, name) == "/cpu:0");

  warnings.clear();
  REQUIRE(resolve_requests(g.file->graph, {.place_gradients = true}, g.options, warnings).ok());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] == "--place-gradients changes nothing: it is of --place, which is not given");
}

TEST_CASE("--map-device renames what requests name, --clear-devices drops them") {
  PlacedGraph g(kTower);
  REQUIRE(resolve(g, {.map_device = {"GPU:1=GPU:0"}}).ok());
  CHECK(request(g, "tower_1/a") == "/job:localhost/device:GPU:0");
  CHECK(request(g, "tower_0/a") == "/gpu:0");
  CHECK(request(g, "sum").empty());

  REQUIRE(resolve(g, {.clear_devices = true, .place = {"sum=/cpu:0"}}).ok());
  CHECK(request(g, "tower_1/a").empty());
  CHECK(request(g, "sum") == "/cpu:0");
}

TEST_CASE("a saved placement is read back, and a foreign one refused") {
  PlacedGraph g(kTower, "CPU:0 GPU:0 GPU:1");
  g.place();
  const std::string path =
      (std::filesystem::temp_directory_path() / cat("emplace_placement_", getpid(), ".json")).string();
  std::ofstream(path) << save_placement(g.file->graph, g.devices, g.placement);
  const auto nodes = read_placement(g.file->graph, path);
  REQUIRE(nodes.ok());
  REQUIRE(nodes->size() == 3);
  CHECK((*nodes)[0] == std::pair(g.id("tower_0/a"), std::string("/job:localhost/replica:0/task:0/device:GPU:0")));

  std::ofstream(path) << R"({"placement": [{"name": "other", "device": "/cpu:0"}, {"name": "sum"}]})";
  const auto foreign = read_placement(g.file->graph, path);
  CHECK(foreign.status().message().find("the graph has no node 'other'") != std::string::npos);
  CHECK(foreign.status().message().find("needs a name and a device") != std::string::npos);
  std::ofstream(path) << "[]";
  CHECK(!read_placement(g.file->graph, path).ok());
  std::remove(path.c_str());
}

TEST_CASE("the placement's hash depends on names and devices, not on the order of nodes") {
  PlacedGraph g(R"({"name": "a", "op": "NoOp"}, {"name": "b", "op": "NoOp", "device": "/cpu:0"})");
  PlacedGraph h(R"({"name": "b", "op": "NoOp", "device": "/cpu:0"}, {"name": "a", "op": "NoOp"})");
  PlacedGraph moved(R"({"name": "a", "op": "NoOp"}, {"name": "b", "op": "NoOp"})");
  const auto hash = [](PlacedGraph& p) {
    p.place();
    return placement_hash(p.file->graph, p.devices, p.placement);
  };
  const std::string one = hash(g);
  CHECK(one.size() == 16);
  CHECK(one == hash(h));
  CHECK(one != hash(moved));
}
