// load(): what a graph file may say, and what the graph is then.
#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "tests/unit/formats/loading.h"

using namespace emplace;

namespace {

std::string input_names(Loaded& f, const char* node) {
  const Graph& g = f->graph;
  std::string out;
  for (const Endpoint& e : g.inputs(g.find(node)))
    append(out, out.empty() ? "" : " ", g.name(e.node), e.slot ? cat(":", e.slot) : "");
  for (const Endpoint& e : g.controls(g.find(node))) append(out, out.empty() ? "^" : " ^", g.name(e.node));
  return out;
}

}  // namespace

TEST_CASE("nodes, inputs, controls, attrs and devices are read") {
  Loaded f(R"(// a comment
  {"node": [
    {"name": "c", "op": "MatMul", "input": ["a", "b:0", "^a", "^a"], "device": "/device:GPU:0", "attr": {"transpose_a": true}},
    {"name": "a", "op": "Const", "device": "/cpu:0", "attr": {"value": [[1, 2, 3], [4, 5, 6]]}},
    {"name": "b", "op": "Const", "attr": {"value": [[1], [2]]}, "experimentalDebugInfo": {"originalNodeNames": ["x"]}}
  ], "fetch": ["c"], "target": ["a"], "init": []} /* the end */)");
  REQUIRE(f.errors() == "");
  const Graph& g = f->graph;
  REQUIRE(g.num_nodes() == 3);
  CHECK(g.name(0) == "a");
  CHECK(g.op(g.find("c")) == "MatMul");
  CHECK(g.requested_device(g.find("c")) == "/device:GPU:0");
  CHECK(g.requested_device(g.find("b")).empty());
  CHECK(input_names(f, "c") == "a b ^a");
  CHECK(f.attr("c", "transpose_a").get<bool>());
  CHECK(f->fetch.at(0).name == "c");
  CHECK(f->target.at(0).name == "a");
  CHECK(f->has_init);
  CHECK(g.find("nobody") == kNoNode);
  CHECK(Loaded("{}")->graph.num_nodes() == 0);
  CHECK_FALSE(Loaded("{}")->has_fetch);
}

TEST_CASE("keys are snake_case or lowerCamelCase, null is absence") {
  Loaded f(
      R"({"config": {"allowSoftPlacement": true, "gpu_options": {"perProcessGpuMemoryFraction": 0.5, "allow_growth": null}}, "fetch": null, "opDef": []})");
  REQUIRE(f.errors() == "");
  CHECK(f->config.allow_soft_placement == true);
  CHECK(f->config.per_process_gpu_memory_fraction == 0.5);
  CHECK_FALSE(f->config.allow_growth.has_value());
  CHECK_FALSE(f->has_fetch);
}

TEST_CASE("config is the part of ConfigProto that emplace knows; the rest of it is read over") {
  Loaded f(
      R"({"config": {"log_device_placement": true, "device_count": {"GPU": 2, "CPU": "1"}, "inter_op_parallelism_threads": 3, "intra_op_parallelism_threads": 4,
    "graph_options": {"optimizer_options": {}}, "gpu_options": {"visible_device_list": "1,0", "allow_growth": true,
    "experimental": {"virtual_devices": [{"memory_limit_mb": [1024, 2048.5], "priority": [1, 2]}, {}], "use_unified_memory": false}}}})");
  REQUIRE(f.errors() == "");
  const FileConfig& c = f->config;
  CHECK(c.device_count.at("GPU") == 2);
  CHECK(c.device_count.at("CPU") == 1);
  CHECK(c.inter_op_parallelism_threads == 3);
  CHECK(c.visible_device_list == "1,0");
  REQUIRE(c.virtual_devices.size() == 2);
  CHECK(c.virtual_devices[0].memory_limit_mb == std::vector<double>{1024, 2048.5});
  CHECK(c.virtual_devices[0].priority == std::vector<int>{1, 2});
}

TEST_CASE("a block gives its device and scope to its nodes; blocks nest") {
  Loaded f(R"({"node": [
    {"name": "x", "op": "Placeholder"},
    {"node": [
      {"name": "a", "op": "Relu", "input": ["x"]},
      {"name": "b", "op": "Relu", "input": ["a", "^a"], "device": "/cpu:0"},
      {"scope": "deep", "device": "/job:w/task:1", "node": [
        {"name": "c", "op": "AddN", "input": ["a", "x", "t/a", "c2:1"]},
        {"name": "c2", "op": "Relu", "attr": {"_class": ["loc:@c", "loc:@a", "loc:@other", "plain"]}}]}
    ], "device": "/gpu:1", "scope": "t"},
    {"name": "after", "op": "Relu", "input": ["t/deep/c"]}]})");
  REQUIRE(f.errors() == "");
  const Graph& g = f->graph;
  CHECK(g.requested_device(g.find("t/a")) == "/gpu:1");
  CHECK(g.requested_device(g.find("t/b")) == "/device:CPU:0");
  CHECK(g.requested_device(g.find("t/deep/c")) == "/job:w/task:1/device:GPU:1");
  CHECK(g.requested_device(g.find("after")).empty());
  CHECK(input_names(f, "t/a") == "x");
  CHECK(input_names(f, "t/b") == "t/a ^t/a");
  CHECK(input_names(f, "t/deep/c") == "t/a x t/a t/deep/c2:1");
  CHECK(f.attr("t/deep/c2", "_class").get<std::vector<std::string>>() ==
        std::vector<std::string>{"loc:@t/deep/c", "loc:@t/a", "loc:@other", "plain"});
}

TEST_CASE("a literal input is a Const of its own, named after the argument") {
  Loaded f(R"({"node": [
    {"name": "x", "op": "Placeholder", "device": "/gpu:0"},
    {"name": "m", "op": "Mean", "input": ["x", [0, 1]], "device": "/gpu:1"},
    {"name": "s", "op": "ConcatV2", "input": [[1.5], "x", {"dtype": "int64", "data": 0}], "attr": {"N": 2}},
    {"name": "u", "op": "NobodyKnows", "input": ["x", true]}]})");
  REQUIRE(f.errors() == "");
  const Graph& g = f->graph;
  CHECK(input_names(f, "m") == "x m/reduction_indices");
  CHECK(input_names(f, "s") == "s/values_0 x s/axis");
  CHECK(input_names(f, "u") == "x u/input_1");
  CHECK(g.requested_device(g.find("m/reduction_indices")) == "/gpu:1");
  REQUIRE(g.literals_.size() == 4);
  for (const Literal& l : g.literals_) {
    CHECK(g.op(l.constant) == "Const");
    CHECK(g.inputs(l.consumer)[l.input].node == l.constant);
    CHECK(l.constant < l.consumer);
  }
  CHECK(g.literals_[0].value.dtype() == DType::kInt64);
  CHECK(g.literals_[1].value.dtype() == DType::kDouble);
  CHECK(g.literals_[2].typed);
  CHECK(g.literals_[3].value.dtype() == DType::kBool);
}

TEST_CASE("feeds take the type of their placeholder") {
  Loaded f(R"({"feed": {"p": [1, 2], "q:0": 3, "r": {"dtype": "uint8", "data": 4}},
               "node": [{"name": "p", "op": "Placeholder", "attr": {"dtype": "int32"}}, {"name": "q", "op": "Placeholder"}]})");
  REQUIRE(f.errors() == "");
  REQUIRE(f->feed.size() == 3);
  CHECK(f->feed[0].second.dtype() == DType::kInt32);
  CHECK(f->feed[1].first.name == "q:0");
  CHECK(f->feed[1].second.dtype() == DType::kFloat);
  CHECK(f->feed[2].second.dtype() == DType::kUInt8);
}

TEST_CASE("versions are read and checked") {
  Loaded f(R"({"versions": {"producer": 2474, "minConsumer": 12, "badConsumers": [1, 2]}})");
  REQUIRE(f.errors() == "");
  CHECK(f->producer == 2474);
  CHECK(f->min_consumer == 12);
  CHECK(f->bad_consumers == std::vector<int>{1, 2});
  CHECK(Loaded(R"({"versions": {"min_consumer": 2475}})").problems().count() == 1);
  CHECK(Loaded(R"({"versions": {"bad_consumers": [2474]}})").problems().count() == 1);
}

TEST_CASE("a cluster is a ClusterDef or lists of addresses") {
  for (
      const char* text :
      {R"({"cluster": {"job": [{"name": "worker", "tasks": {"0": "a:1", "1": "b:2"}}, {"name": "ps", "tasks": {"0": "c:3"}}]}})",
       R"({"cluster": {"worker": ["a:1", "b:2"], "ps": ["c:3"]}})"}) {
    Loaded f(text);
    REQUIRE(f.errors() == "");
    CHECK(f->cluster.at("worker").at(1) == "b:2");
    CHECK(f->cluster.at("ps").size() == 1);
  }
}

TEST_CASE("train and data are kept as they stand") {
  Loaded f(R"({"train": {"loss": "l", "x": [1, {}]}, "data": {"train": {"file": "a.csv"}}})");
  REQUIRE(f.errors() == "");
  CHECK(f->train_json == R"({"loss": "l", "x": [1, {}]})");
  CHECK(f->data_json == R"({"train": {"file": "a.csv"}})");
}

TEST_CASE("functions become graphs with arguments and results; calls know them") {
  Loaded f(R"({"node": [{"name": "call", "op": "twice", "input": [[1, 2]]}],
    "library": {"function": [{
      "signature": {"name": "twice", "inputArg": [{"name": "x", "typeAttr": "T"}], "outputArg": [{"name": "y", "typeAttr": "T"}], "attr": [{"name": "T", "type": "type"}]},
      "nodeDef": [{"name": "parts", "op": "Split", "input": ["zero:output:0", "x"], "attr": {"num_split": {"i": "2"}, "T": {"placeholder": "T"}}},
                  {"name": "zero", "op": "Const", "attr": {"value": {"dtype": "int32", "data": 0}}},
                  {"name": "sum", "op": "AddV2", "input": ["parts:output:1", "x", "^zero"], "attr": {"T": {"placeholder": "T"}}}],
      "ret": {"y": "sum:z:0"}, "controlRet": {}, "attr": {"_noinline": {"b": true}}}]}})");
  REQUIRE(f.errors() == "");
  CHECK(f->graph.find("call/x") != kNoNode);
  const Function& twice = f->library.at("twice");
  const Graph& g = *twice.body;
  CHECK(g.num_nodes() == 5);
  CHECK(g.op(g.find("x")) == "_Arg");
  CHECK(Attrs(g.written_attrs(g.find("x"))).find("T")->type().kind == AttrKind::kPlaceholder);
  CHECK(g.inputs(g.find("sum"))[0] == Endpoint{g.find("parts"), 1});
  CHECK(g.inputs(g.find("y_RetVal"))[0] == Endpoint{g.find("sum"), 0});
  Loaded bad(R"({"library": {"function": [{"signature": {"name": "f", "outputArg": [{"name": "y", "type": 1}]},
    "nodeDef": [{"name": "c", "op": "Const"}], "ret": {"y": "c:wrong:0"}}]}})");
  CHECK(bad.error() == "op 'Const' has no output 'wrong'");
}
