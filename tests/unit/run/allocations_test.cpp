#include <catch2/catch.hpp>

#include <algorithm>

#include "core/base/cat.h"
#include "core/graph/node_kernel.h"
#include "core/place/placement.h"
#include "core/run/session.h"
#include "core/train/train_options.h"
#include "core/train/training_graph.h"
#include "tests/unit/formats/loading.h"
#include "tests/unit/ops/sample_graph.h"
#include "tests/unit/run/allocation_count.h"
#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// A graph file that is run step after step on one thread.
class Steps {
 public:
  explicit Steps(const std::string& text, int gpus = 0) : loaded_(text), machine_(gpus) {}

  /// Adds what `train` of the file asks for. Before start().
  void train() {
    Problems problems;
    TrainRequest request;
    DataRequest data;
    TrainGraph graph;
    validate(file(), problems);
    read_train_keys(file(), {}, request, data, problems);
    check_train_request(file(), request, problems);
    if (problems.empty()) add_training(file(), request, graph, problems);
    REQUIRE(problems.to_string(*loaded_->source) == "");
    options_.targets = graph.targets;
    init_ = graph.init;
    validated_ = true;
  }
  void feed(std::string_view name, Tensor value) { feeds_.emplace_back(name, std::move(value)); }

  /// False if the file has no such graph, or it does not run.
  bool start() {
    Problems problems;
    if (!validated_ && loaded_.errors() == "") validate(file(), problems);
    if (loaded_.errors() != "" || !problems.empty()) return false;
    auto endpoint = [&](std::string_view name) { return Endpoint{file().graph.find(name), 0}; };
    for (const auto& [name, value] : feeds_) options_.feeds.emplace_back(endpoint(name), value);
    for (const NamedRef& fetch : file().fetch) options_.fetches.push_back(endpoint(fetch.name));
    for (const FileVariable& v : file().variables) init_.push_back(v.assign);
    options_.inter_op_threads = options_.intra_op_threads = 1;
    std::vector<std::string> offenders;
    auto placed = place(file(), machine_.devices, {}, offenders);
    if (!placed.ok()) return false;
    placement_ = placed.take();
    auto session = Session::create(file(), machine_.devices, placement_, options_);
    if (!session.ok()) return false;
    session_ = session.take();
    return session_->run_nodes(init_).ok();
  }

  /// How often `count` steps after some others ask for heap memory.
  int64_t allocations(int count) {
    std::vector<Tensor> outputs;
    for (int i = 0; i < 3; ++i) REQUIRE(session_->step(outputs).message() == "");
    const int64_t before = allocation_count();
    int64_t done = 0;
    for (int i = 0; i < count; ++i) done += session_->step(outputs).ok() ? 1 : 0;
    const int64_t after = allocation_count();
    REQUIRE(done == count);
    return after - before;
  }

 private:
  GraphFile& file() { return *loaded_.operator->(); }

  Loaded loaded_;
  RunCase machine_;
  Placement placement_;
  std::vector<std::pair<std::string, Tensor>> feeds_;
  std::vector<NodeId> init_;
  SessionOptions options_;
  std::unique_ptr<Session> session_;
  bool validated_ = false;
};

int64_t allocations(const std::string& text, int gpus = 0, int count = 20) {
  Steps steps(text, gpus);
  REQUIRE(steps.start());
  return steps.allocations(count);
}

/// Three convolutions, two pools and two dense layers, as a loss over 8 images.
std::string cnn(const std::string& keys, bool resource) {
  std::string nodes =
      R"({"name": "x", "op": "Const", "attr": {"value": {"dtype": "float32", "shape": [8, 28, 28, 1], "fill": 0.5}}})";
  auto variable = [&](const std::string& name, const std::string& shape) {
    append(nodes, R"(, {"name": ")", name, R"(", "op": "Variable", "initial_value": {"dtype": "float32", "shape": [)",
           shape, R"(], "fill": 0.01}, "resource": )", resource ? "true" : "false", "}");
  };
  auto node = [&](const std::string& name, const std::string& op, const std::string& inputs,
                  const std::string& attrs = "") {
    append(nodes, R"(, {"name": ")", name, R"(", "op": ")", op, R"(", "input": [)", inputs, R"(], "attr": {)", attrs,
           "}}");
  };
  auto layer = [&](int i, const std::string& op, const std::string& in, const std::string& shape,
                   const std::string& channels) {
    variable(cat("w", i), shape);
    variable(cat("b", i), channels);
    node(cat("p", i), op, cat('"', in, "\", \"w", i, '"'),
         op == "Conv2D" ? R"("strides": [1, 1, 1, 1], "padding": "VALID")" : "");
    node(cat("s", i), "BiasAdd", cat("\"p", i, "\", \"b", i, '"'));
    node(cat("r", i), "Relu", cat("\"s", i, '"'));
  };
  const std::string pool = R"("ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID")";
  layer(1, "Conv2D", "x", "3, 3, 1, 32", "32");
  node("m1", "MaxPool", R"("r1")", pool);
  layer(2, "Conv2D", "m1", "3, 3, 32, 64", "64");
  node("m2", "MaxPool", R"("r2")", pool);
  layer(3, "Conv2D", "m2", "3, 3, 64, 64", "64");
  node("flat", "Reshape", R"("r3", {"dtype": "int32", "data": [-1, 576]})");
  layer(4, "MatMul", "flat", "576, 64", "64");
  layer(5, "MatMul", "r4", "64, 10", "10");
  node("label", "Const", "", R"("value": {"dtype": "int64", "shape": [8], "fill": 3})");
  node("ce", "SparseSoftmaxCrossEntropyWithLogits", R"("s5", "label")");
  node("loss", "Mean", R"("ce", [0])");
  return cat("{\"node\": [", nodes, "], \"fetch\": [\"loss\"]", keys, "}");
}

}  // namespace

TEST_CASE("kernels ask for no heap memory once they have run") {
  int ran = 0;
  for (std::string_view name : OpLibrary::names()) {
    const OpDef& op = *OpLibrary::find(name);
    for (const std::string& text : op.samples()) {
      SampleGraph sample = sample_graph(op, text);
      sample.text.insert(1, "\"fetch\": [\"y\"], ");
      Steps steps(sample.text);
      for (auto& [x, value] : sample.inputs) steps.feed(x, value);
      if (!steps.start()) continue;  // of a type that the op lacks, or without an output
      ++ran;
      INFO(name << ": " << text);
      CHECK(steps.allocations(3) == 0);
    }
  }
  CHECK(ran >= 250);
}

TEST_CASE("steps ask for no heap memory once they have run") {
  SECTION("a chain of small products") {
    CHECK(allocations(R"({"node": [
      {"name": "a", "op": "Const", "attr": {"value": [[1, 2], [3, 4]]}},
      {"name": "y", "op": "MatMul", "input": ["a", "a"]}, {"name": "z", "op": "Relu", "input": ["y"]}], "fetch": ["y", "z"]})") ==
          0);
  }
  SECTION("variables of both kinds that change") {
    CHECK(allocations(R"({"node": [
      {"name": "count", "op": "Variable", "initial_value": 0.0}, {"name": "step", "op": "AssignAdd", "input": ["count", 1.0]},
      {"name": "w", "op": "Variable", "resource": true, "initial_value": [[0.5, 0.5], [2, 2]]},
      {"name": "add", "op": "AssignAddVariableOp", "input": ["w", [[1, 1], [1, 1]]]},
      {"name": "scaled", "op": "Mul", "input": ["w", "step"]}], "fetch": ["step", "scaled"]})") == 0);
  }
  SECTION("shapes that only the step knows, and branches that are not taken") {
    CHECK(allocations(R"({"node": [
      {"name": "x", "op": "Const", "attr": {"value": [1.0, -2.0, 3.0, 0.0]}},
      {"name": "above", "op": "Greater", "input": ["x", 0.0]}, {"name": "where", "op": "Where", "input": ["above"]},
      {"name": "some", "op": "GatherNd", "input": ["x", "where"]}, {"name": "sum", "op": "Sum", "input": ["some", [0]]},
      {"name": "big", "op": "Greater", "input": ["sum", 3.0]},
      {"name": "s", "op": "Switch", "input": ["some", "big"]},
      {"name": "no", "op": "Neg", "input": ["s"]}, {"name": "yes", "op": "Square", "input": ["s:1"]},
      {"name": "m", "op": "Merge", "input": ["no", "yes"]}], "fetch": ["m"]})") == 0);
  }
  SECTION("a loop") {
    CHECK(allocations(R"({"node": [
      {"name": "e", "op": "Enter", "input": [0.0], "attr": {"frame_name": "f"}},
      {"name": "n", "op": "Enter", "input": [5.0], "attr": {"frame_name": "f", "is_constant": true}},
      {"name": "one", "op": "Enter", "input": [1.0], "attr": {"frame_name": "f", "is_constant": true}},
      {"name": "m", "op": "Merge", "input": ["e", "next"]}, {"name": "less", "op": "Less", "input": ["m", "n"]},
      {"name": "c", "op": "LoopCond", "input": ["less"]}, {"name": "s", "op": "Switch", "input": ["m", "c"]},
      {"name": "more", "op": "AddV2", "input": ["s:1", "one"]}, {"name": "next", "op": "NextIteration", "input": ["more"]},
      {"name": "out", "op": "Exit", "input": ["s"]}], "fetch": ["out"]})") == 0);
  }
  SECTION("copies between two simulated GPUs") {
    CHECK(allocations(R"({"node": [
      {"name": "a", "op": "Const", "device": "/gpu:0", "attr": {"value": [[1, 2], [3, 4]]}},
      {"name": "b", "op": "MatMul", "device": "/gpu:0", "input": ["a", "a"]},
      {"name": "c", "op": "MatMul", "device": "/gpu:1", "input": ["b", "b"]},
      {"name": "d", "op": "AddN", "device": "/cpu:0", "input": ["b", "c"]}], "fetch": ["d"]})",
                      2) == 0);
  }
  SECTION("a convolutional network") { CHECK(allocations(cnn("", false), 0, 5) == 0); }
  SECTION("a training step of it") {
    for (bool resource : {false, true}) {
      Steps steps(cnn(R"(, "train": {"loss": "loss", "optimizer": "adam", "learning_rate": 0.001})", resource));
      steps.train();
      REQUIRE(steps.start());
      CHECK(steps.allocations(5) == 0);
    }
  }
}
