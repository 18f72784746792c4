// The rules of TensorFlow's placer, one small graph each.
#include <catch2/catch.hpp>

#include "core/place/candidate_sets.h"
#include "core/place/name_table.h"
#include "tests/unit/place/place_fixture.h"

using namespace emplace;

namespace {

constexpr const char* kFiveDevices = "CPU:0 GPU:0 GPU:1 GPU:2 GPU:10";
// Two outputs, no inputs, kernels everywhere: neither generator nor consumer.
std::string source(const std::string& name, const std::string& more) {
  return R"({"name": ")" + name + R"(", "op": "NoOp")" + more + "}";
}

constexpr const char* kConstRelu30 = R"(
    {"name": "c", "op": "Const", "attr": {"value": [1.0, 2.0]}},
    {"name": "r", "op": "Relu", "input": ["c"], "device": "/cpu:30"})";

}  // namespace

TEST_CASE("a missing device under soft placement: type and id are dropped together") {
  PlacedGraph g(kConstRelu30, kFiveDevices);
  g.soft().place();
  CHECK(g.device("r") == "GPU:0");
  CHECK(g.device("c") == "GPU:0");
  CHECK(g.order() == "r c");
  CHECK(g.reason("r") == "soft_no_device");
  CHECK(g.reason("c") == "generator_with_consumer");
}

TEST_CASE("a missing device: the error lists devices sorted as texts") {
  PlacedGraph g(kConstRelu30, kFiveDevices);
  const Status status = g.failure();
  CHECK(status.code() == Code::kInvalidArgument);
  const std::string task = "/job:localhost/replica:0/task:0/device:";
  CHECK(status.message() ==
        "Cannot assign a device for operation r: {{node r}} was explicitly assigned to /cpu:30 but available "
        "devices are [ " +
            task + "CPU:0, " + task + "GPU:0, " + task + "GPU:1, " + task + "GPU:10, " + task +
            "GPU:2 ]. Make sure the device specification refers to a valid device.\n\t [[r]]");
  REQUIRE(g.offenders.size() == 1);
  CHECK(g.offenders[0] == "r (Relu): asks for /cpu:30; there is no such device");
}

TEST_CASE("requests that differ within a colocation group") {
  const std::string nodes = source("a", R"(, "device": "/gpu:1")") + "," +
                            source("b", R"(, "device": "/gpu:2", "attr": {"_class": ["loc:@a"]})");
  SECTION("are an error without soft placement") {
    PlacedGraph g(nodes, kFiveDevices);
    CHECK(
        g.failure().message() ==
        "Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}}: Cannot merge devices with incompatible "
        "ids: '/device:GPU:2' and '/device:GPU:1'\n\t [[{{node b}}]]");
    REQUIRE(g.offenders.size() == 1);
    CHECK(g.offenders[0] ==
          "b (NoOp): asks to be colocated with 'a', but they cannot be together\n"
          "    'b' (NoOp) asks for /gpu:2\n"
          "    'a' (NoOp) asks for /gpu:1\n"
          "    'b' and 'a' are in one colocation group (_class)");
  }
  SECTION("lose what they disagree about with it") {
    PlacedGraph g(nodes, kFiveDevices);
    g.soft().place();
    CHECK(g.device("a") == "GPU:0");
    CHECK(g.device("b") == "GPU:0");
    CHECK(g.reason("b") == "colocated");
  }
}

TEST_CASE("the source of a reference edge wins over the request of its consumer") {
  PlacedGraph g(R"(
      {"name": "v", "op": "VariableV2", "device": "/gpu:1", "attr": {"dtype": "float32", "shape": []}},
      {"name": "c", "op": "Const", "attr": {"value": 1.0}},
      {"name": "assign", "op": "Assign", "input": ["v", "c"], "device": "/gpu:2"})",
                kFiveDevices);
  g.log().place();
  CHECK(g.device("v") == "GPU:1");
  CHECK(g.device("assign") == "GPU:1");
  CHECK(g.device("c") == "GPU:1");
  CHECK(g.order() == "v assign c");
  CHECK(g.reason("assign") == "reference_edge");
  REQUIRE(g.placement.notes.size() == 1);
  CHECK(g.placement.notes[0].second ==
        "Ignoring device specification /device:GPU:2 for node 'assign' because the input edge from 'v' is a reference "
        "connection and already has a device field set to /device:GPU:1");
}

TEST_CASE("equal devices are taken in the order of their names as texts") {
  PlacedGraph g(source("x", R"(, "device": "/device:GPU:*")"), "CPU:0 GPU:2 GPU:10");
  g.place();
  CHECK(g.device("x") == "GPU:10");
  CHECK(g.reason("x") == "partial_request");
}

TEST_CASE("a metadata op is placed before its constant, which then follows it") {
  PlacedGraph g(
      R"({"name": "c", "op": "Const", "attr": {"value": [1.0]}}, {"name": "s", "op": "Shape", "input": ["c"]})");
  g.place();
  CHECK(g.order() == "s c");
  CHECK(g.device("c") == "GPU:0");
}

TEST_CASE("a constant goes to its consumers only if they agree") {
  const std::string nodes = R"(
      {"name": "c", "op": "Const", "attr": {"value": "text"}},
      {"name": "f", "op": "Const", "attr": {"value": 1.0}},
      {"name": "a", "op": "DecodeRaw", "input": ["c"], "attr": {"out_type": "float32"}},
      {"name": "n", "op": "NoOp", "input": ["^f"], "device": "/cpu:0"})";
  SECTION("one consumer, by a control edge") {
    PlacedGraph g(nodes);
    g.place();
    CHECK(g.device("f") == "CPU:0");
    CHECK(g.reason("f") == "generator_with_consumer");
    CHECK(g.reason("a") == "only_kernel");
    CHECK(g.reason("c") == "only_kernel");
  }
  SECTION("two on different devices") {
    PlacedGraph g(nodes + R"(, {"name": "r", "op": "Relu", "input": ["f"]})");
    g.place();
    CHECK(g.device("f") == "GPU:0");
    CHECK(g.reason("f") == "default");
  }
}

TEST_CASE("a resource ties its readers to the device of its variable") {
  const std::string reader = R"(
      {"name": "v", "op": "VarHandleOp", "device": "/gpu:1", "attr": {"dtype": "float32", "shape": []}},
      {"name": "read", "op": "ReadVariableOp", "input": ["v"], "device": "/cpu:0", "attr": {"dtype": "float32"}})";
  PlacedGraph g(reader, kFiveDevices);
  g.place();
  CHECK(g.device("read") == "GPU:1");
  CHECK(g.reason("read") == "resource_edge");
  CHECK(g.text("read") ==
        "a resource edge ties it to 'v', which asks for /gpu:1; its own request, /cpu:0, does not count");
  CHECK(g.candidates("read") ==
        "CPU:0 group_request, GPU:0 not_requested, GPU:1 chosen, GPU:2 not_requested, GPU:10 not_requested");
}

TEST_CASE("a variable without a kernel where it is asked for") {
  const std::string nodes =
      R"({"name": "v", "op": "VariableV2", "device": "/gpu:0", "attr": {"dtype": "int32", "shape": []}})";
  SECTION("is an error") {
    PlacedGraph g(nodes);
    CHECK(
        g.failure().message().starts_with("Cannot assign a device for operation v: Could not satisfy explicit device "
                                          "specification '/gpu:0' because no supported kernel for GPU devices is "
                                          "available.\nColocation Debug Info:\n"));
  }
  SECTION("moves under soft placement, and says why") {
    PlacedGraph g(nodes);
    g.soft().place();
    CHECK(g.device("v") == "CPU:0");
    CHECK(g.reason("v") == "soft_moved_with_resource");
    CHECK(g.candidates("v") == "CPU:0 chosen, GPU:0 no_kernel");
    REQUIRE(g.placement.notes.size() == 1);
    CHECK(g.placement.notes[0].second.starts_with(
        "Failed to place the graph without changing the devices of some resources."));
  }
}

TEST_CASE("job and task are never relaxed") {
  PlacedGraph g(source("x", R"(, "device": "/job:worker/gpu:0")"));
  g.soft();
  CHECK(g.failure().message().find("was explicitly assigned to /job:worker/gpu:0 but available devices are") !=
        std::string::npos);
}

TEST_CASE("a _class merge that fails under soft placement leaves the merged names behind") {
  // Rule 2.12.1: a is CPU-only on task 1, b GPU-only; the would-be root keeps the other's task.
  PlacedGraph g(
      R"(
      {"name": "a", "op": "DecodeRaw", "input": ["s"], "device": "/job:w/task:1", "attr": {"out_type": "float32"}},
      {"name": "s", "op": "Placeholder", "attr": {"dtype": "string", "shape": []}},
      {"name": "x", "op": "Placeholder", "attr": {"dtype": "float32", "shape": []}},
      {"name": "b", "op": "Relu", "input": ["x"], "attr": {"_class": ["loc:@a"]}})",
      "/job:w/replica:0/task:0/device:GPU:0 /job:w/replica:0/task:1/device:GPU:0 /job:w/replica:0/task:1/device:CPU:0");
  g.soft().place();
  CHECK(g.device("b") == "/job:w/replica:0/task:1/device:CPU:0");
}

TEST_CASE("a node placed beforehand keeps its device and pins its group") {
  PlacedGraph g(source("a", "") + "," + source("b", R"(, "attr": {"_class": ["loc:@a"]})"), kFiveDevices);
  const std::string gpu2 = "/job:localhost/replica:0/task:0/device:GPU:2";
  g.assign("b", gpu2).place();
  CHECK(g.device("a") == "GPU:2");
  CHECK(g.device("b") == "GPU:2");
  CHECK(g.reason("b") == "assigned");
  CHECK(g.reason("a") == "colocated");

  PlacedGraph unknown(source("a", ""));
  unknown.assign("a", gpu2);
  const Status status = unknown.failure();
  CHECK(status.code() == Code::kInternal);
  CHECK(status.message().starts_with("Assigned device '" + gpu2 + "' does not match any device."));
}

TEST_CASE("a plain text in _class is ignored with a note") {
  PlacedGraph g(source("a", R"(, "attr": {"_class": {"s": "bG9jOkBi"}})"));
  g.place();
  REQUIRE(g.placement.notes.size() == 1);
  CHECK(g.placement.notes[0].second ==
        "The value for colocation attribute '_class' must be a list of strings, not a single string: {name:'a' id:2 op "
        "device:{requested: '', assigned: ''} def:{{{node a}} = NoOp[_class=\"loc:@b\"]()}}");
}

TEST_CASE("every offender is named, and the first error is TensorFlow's") {
  PlacedGraph g(source("a", R"(, "device": "/gpu:7")") + "," + source("b", "") + "," +
                source("c", R"(, "device": "/gpu:8")"));
  CHECK(g.failure().message().starts_with("Cannot assign a device for operation a: "));
  CHECK(g.offenders == std::vector<std::string>{"a (NoOp): asks for /gpu:7; there is no such device",
                                                "c (NoOp): asks for /gpu:8; there is no such device"});
}

TEST_CASE("no devices at all") {
  PlacedGraph g(source("a", ""), "");
  const Status status = g.failure();
  CHECK(status.code() == Code::kFailedPrecondition);
  CHECK(status.message() == "No devices are registered");
}

TEST_CASE("what speaks for and against devices is known of one placement, not of the next") {
  PlacedGraph cpu(R"({"name": "c", "op": "NoOp", "device": "/cpu:0"})"),
      gpu(R"({"name": "g", "op": "NoOp", "device": "/gpu:0"})");
  cpu.place(), gpu.place();
  CandidateSets sets;
  CHECK(sets.at(sets.of(cpu.placement, cpu.id("c"))) == std::vector{Verdict::kCandidate, Verdict::kNotRequested});
  CHECK(sets.at(sets.of(gpu.placement, gpu.id("g"))) == std::vector{Verdict::kNotRequested, Verdict::kCandidate});
}

TEST_CASE("requests that differ in the replica alone are two") {
  NameTable names;
  const auto first = names.parse("/replica:0/device:GPU:0"), second = names.parse("/replica:1/device:GPU:0");
  CHECK(first != second);
  CHECK(first != names.parse("/device:GPU:0"));
  CHECK(names.at(*second).replica == 1);
}

TEST_CASE("of a node that was placed beforehand twice, the last counts") {
  PlacedGraph g(R"({"name": "n", "op": "NoOp"})");
  const std::string task = "/job:localhost/replica:0/task:0/device:";
  g.assign("n", task + "CPU:0").assign("n", task + "GPU:0").place();
  CHECK(g.device("n") == "GPU:0");
  CHECK(g.candidates("n") == "CPU:0 group_request, GPU:0 chosen");
}
