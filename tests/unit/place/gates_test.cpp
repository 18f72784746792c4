#include "core/place/gates.h"

#include <catch2/catch.hpp>

#include "tests/unit/place/place_fixture.h"

using namespace emplace;

namespace {

constexpr const char* kNodes = R"(
    {"name": "x", "op": "Placeholder", "device": "/cpu:0", "attr": {"dtype": "float32", "shape": [2]}},
    {"name": "y", "op": "Relu", "input": ["x"], "device": "/gpu:7"})";

std::string broken(PlacedGraph& g, const Gates& gates) {
  return check_gates(*g.file, g.devices, g.options, g.placement, {g.copies().num_across()}, gates).message();
}

}  // namespace

TEST_CASE("gates name what breaks them") {
  PlacedGraph g(kNodes);
  g.soft().place();
  CHECK(broken(g, {.fail_on = {"soft-placement"}}) ==
        "gate: --fail-on soft-placement: 1 node moved by soft placement: y (soft_no_device, GPU:0)");
  CHECK(broken(g, {.fail_on = {"moved"}}) ==
        "gate: --fail-on moved: 1 node not where requested: y (soft_no_device, GPU:0)");
  CHECK(broken(g, {.max_copies = 0}) == "gate: --max-copies 0: 1 tensor crosses devices");
  CHECK(broken(g, {.min_on = {"GPU=95%"}}) == "gate: --min-on GPU=95%: 1 of 2 nodes are on GPU");
  CHECK(broken(g, {.fail_on = {"soft-placement,moved"}, .max_copies = 0}).find('\n') != std::string::npos);
}

TEST_CASE("gates that hold say nothing") {
  PlacedGraph g(kNodes, "CPU:0 GPU:0 GPU:1 GPU:7");
  g.place();
  CHECK(
      broken(g, {.fail_on = {"soft-placement", "moved"}, .max_copies = 1, .min_on = {"GPU=50%", "GPU:7=1", "/cpu:0=1"}})
          .empty());
}

TEST_CASE("gates that cannot be read are refused") {
  PlacedGraph g(kNodes, "CPU:0 GPU:7");
  g.place();
  for (const char* gate : {"GPU", "GPU=", "GPU=x", "GPU=-1", "GPU=101%", "=3", "/foo:0=1", "GPU=5%%"}) {
    INFO(gate);
    CHECK(
        check_gates(*g.file, g.devices, g.options, g.placement, {g.copies().num_across()}, {.min_on = {gate}}).code() ==
        Code::kInvalidArgument);
  }
  CHECK(
      check_gates(*g.file, g.devices, g.options, g.placement, {g.copies().num_across()}, {.fail_on = {"bad"}}).code() ==
      Code::kInvalidArgument);
}
