// load(): what a graph file may say, and what the graph is then.
#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "tests/unit/formats/loading.h"

using namespace emplace;

TEST_CASE("nodes, inputs, controls, attrs and devices are read") {
  Loaded f(R"({"node": [
    {"name": "a", "op": "Const", "device": "/cpu:0", "attr": {"value": [[1, 2, 3], [4, 5, 6]]}},
    {"name": "b", "op": "Const", "attr": {"value": {"dtype": "float32", "shape": [3, 2], "data": [1, 2, 3, 4, 5, 6]}}},
    {"name": "c", "op": "MatMul", "input": ["a", "b:0", "^a", "^a"], "device": "/device:GPU:0", "attr": {"transpose_a": true}}
  ], "fetch": ["c"], "target": ["a"], "init": []})");
  REQUIRE(f.errors() == "");
  const Graph& g = f->graph;
  REQUIRE(g.num_nodes() == 3);
  NodeId c = g.find("c");
  CHECK(g.op(c) == "MatMul");
  CHECK(g.requested_device(c) == "/device:GPU:0");
  REQUIRE(g.inputs(c).size() == 2);
  CHECK(g.inputs(c)[1] == Endpoint{g.find("b"), 0});
  CHECK(g.controls(c).size() == 1);
  CHECK(f.attr("c", "transpose_a").get<bool>());
  const Tensor& value = f.attr("a", "value").get<Tensor>();
  CHECK(value.dtype() == DType::kFloat);
  CHECK(value.shape() == Shape{2, 3});
  CHECK(value.data<float>()[5] == 6);
  CHECK(f->fetch.at(0).name == "c");
  CHECK(f->target.at(0).name == "a");
  CHECK(f->has_init);
}
