// Variables in short form stand for what tf.Variable builds (TensorFlow 2.21, tf.compat.v1, inside
// tf.device('/gpu:0')).
#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "tests/unit/formats/loading.h"

using namespace emplace;

namespace {

std::string describe(Loaded& f) {
  const Graph& g = f->graph;
  std::string out;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    append(out, g.name(id), " = ", g.op(id), "(");
    bool first = true;
    for (const Endpoint& e : g.inputs(id)) append(out, first ? "" : ", ", g.name(e.node)), first = false;
    append(out, ") ", g.requested_device(id));
    const AttrValue* group = Attrs(g.written_attrs(id)).find("_class");
    if (group) append(out, " ", group->get<std::vector<std::string>>().at(0));
    out += "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("a reference variable: initial value, variable, Assign, read") {
  Loaded f(R"({"node": [{"name": "w", "op": "Variable", "initial_value": [[0.1, 0.2]], "device": "/gpu:0"},
                        {"name": "y", "op": "Neg", "input": ["w"]},
                        {"name": "z", "op": "AssignAdd", "input": ["w", "y"]}]})");
  REQUIRE(f.errors() == "");
  CHECK(describe(f) ==
        "w/initial_value = Const() /gpu:0\n"
        "w = VariableV2() /gpu:0\n"
        "w/Assign = Assign(w, w/initial_value) /gpu:0 loc:@w\n"
        "w/read = Identity(w) /gpu:0 loc:@w\n"
        "y = Neg(w/read) \n"
        "z = AssignAdd(w, y) \n");
  CHECK(f.attr("w", "dtype").get<DType>() == DType::kFloat);
  CHECK(f.attr("w", "shape").get<Shape>() == Shape{1, 2});
  CHECK(f.attr("w/Assign", "T").get<DType>() == DType::kFloat);
  CHECK(f.attr("w/initial_value", "value").get<Tensor>().num_elements() == 2);
  REQUIRE(f->variables.size() == 1);
  CHECK(f->variables[0].variable == f->graph.find("w"));
  CHECK(f->variables[0].assign == f->graph.find("w/Assign"));
  CHECK(f->variables[0].trainable);
}

TEST_CASE("a resource variable: initializer without device, handle, IsInitialized, Assign, Read") {
  Loaded f(
      R"({"node": [{"name": "w", "op": "Variable", "resource": true, "trainable": false, "initial_value": {"dtype": "int32", "data": 0}, "device": "/gpu:0"},
                        {"name": "y", "op": "Neg", "input": ["w"]},
                        {"name": "z", "op": "AssignAddVariableOp", "input": ["w", "y"]}]})");
  REQUIRE(f.errors() == "");
  CHECK(describe(f) ==
        "w/Initializer/initial_value = Const()  loc:@w\n"
        "w = VarHandleOp() /gpu:0 loc:@w\n"
        "w/IsInitialized/VarIsInitializedOp = VarIsInitializedOp(w) /gpu:0\n"
        "w/Assign = AssignVariableOp(w, w/Initializer/initial_value) /gpu:0\n"
        "w/Read/ReadVariableOp = ReadVariableOp(w) /gpu:0\n"
        "y = Neg(w/Read/ReadVariableOp) \n"
        "z = AssignAddVariableOp(w, y) \n");
  CHECK(f.attr("w", "shared_name").get<std::string>() == "w");
  CHECK(f.attr("w", "shape").get<Shape>() == Shape{});
  CHECK(f.attr("w/Assign", "dtype").get<DType>() == DType::kInt32);
  CHECK_FALSE(f->variables[0].trainable);
}

TEST_CASE("another node may make the initial value; the variable comes after it") {
  Loaded f(
      R"({"node": [{"scope": "s", "node": [{"name": "w", "op": "Variable", "initial_value": "t:0", "attr": {"dtype": "float32", "shape": [2]}}]},
                        {"name": "t", "op": "TruncatedNormal", "input": [[2]]}]})");
  REQUIRE(f.errors() == "");
  CHECK(describe(f) ==
        "t/shape = Const() \n"
        "t = TruncatedNormal(t/shape) \n"
        "s/w = VariableV2() \n"
        "s/w/Assign = Assign(s/w, t)  loc:@s/w\n"
        "s/w/read = Identity(s/w)  loc:@s/w\n");
  CHECK(f.attr("s/w", "shape").get<Shape>() == Shape{2});
}

TEST_CASE("a variable takes type and shape from the value that initialises it") {
  for (const char* resource : {"false", "true"}) {
    Loaded f(cat(R"({"node": [
      {"name": "c", "op": "Const", "attr": {"value": {"dtype": "float64", "shape": [2, 3], "fill": 1}}},
      {"name": "v", "op": "Variable", "resource": )",
                 resource, R"(, "initial_value": "u2"},
      {"name": "u", "op": "Variable", "resource": )",
                 resource, R"(, "initial_value": "c"},
      {"name": "u2", "op": "Mul", "input": ["u", 2]},
      {"name": "y", "op": "Neg", "input": ["v"]}]})"));
    REQUIRE(f.errors() == "");
    Problems problems;
    validate(*f.operator->(), problems);
    REQUIRE(problems.to_string(*f->source) == "");
    const Graph& g = f->graph;
    CHECK(g.output_type({g.find("y"), 0}) == DType::kDouble);
    CHECK(g.output_shape({g.find("y"), 0}) == Shape{2, 3});
  }
}

TEST_CASE("wrong variables are told") {
  auto error = [](const char* node) { return Loaded(cat("{\"node\": [", node, "]}")).error(); };
  CHECK(error(R"({"name": "w", "op": "Const", "initial_value": 1})") == "initial_value on a node of op 'Const'");
  CHECK(error(R"({"name": "w", "op": "Variable", "initial_value": "t"})") ==
        "no node is named 't', which 'w/Assign' reads");
  CHECK(error(R"({"name": "w", "op": "Variable", "initial_value": "^t"})") == "initial_value '^t' names no tensor");
  CHECK(error(R"({"name": "w", "op": "Variable", "initial_value": "w"})")
            .starts_with("these nodes wait for each other: w"));
  CHECK(error(R"({"name": "w", "op": "Variable", "initial_value": 1, "input": ["^w"]})") ==
        "a variable with initial_value and inputs");
  CHECK(error(R"({"name": "w", "op": "Variable", "initial_value": 1}, {"name": "w/read", "op": "NoOp"})") ==
        "a second node named 'w/read'");
}
