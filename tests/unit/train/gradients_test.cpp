#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "core/train/gradient_fetch.h"
#include "core/train/gradients.h"
#include "tests/unit/formats/loading.h"

namespace emplace {
namespace {

/// A graph with gradients; its nodes as "name: Op(inputs)".
struct WithGradients {
  WithGradients(std::string text, std::string_view loss, std::vector<std::string_view> xs,
                const GradientOptions& options = {})
      : loaded(std::move(text)) {
    Problems problems;
    validate(*file(), problems);
    REQUIRE(loaded.errors() + problems.to_string(*file()->source) == "");
    GraphEditor edit(*file());
    std::vector<Endpoint> tensors;
    for (std::string_view x : xs) tensors.push_back({edit.graph().find(x), 0});
    auto made = add_gradients(edit, {edit.graph().find(loss), 0}, tensors, options);
    error = made.status().message();
    if (!made.ok()) return;
    gradients = made.take();
    edit.finish(problems);
    REQUIRE(problems.to_string(*file()->source) == "");
    for (Endpoint& e : gradients.of) e = edit.new_id(e);
  }
  GraphFile* file() { return loaded.operator->(); }
  std::string node(std::string_view name) {
    const Graph& g = file()->graph;
    const NodeId id = g.find(name);
    if (id == kNoNode) return "none";
    std::string inputs;
    for (const Endpoint& e : g.inputs(id))
      append(inputs, inputs.empty() ? "" : " ", g.name(e.node), e.slot > 0 ? cat(":", e.slot) : "");
    for (const Endpoint& e : g.controls(id)) append(inputs, inputs.empty() ? "^" : " ^", g.name(e.node));
    return cat(g.op(id), "(", inputs, ")");
  }
  std::string gradient(size_t i) { return std::string(file()->graph.name(gradients.of[i].node)); }

  Loaded loaded;
  Gradients gradients;
  std::string error;
};

constexpr const char* kMlp = R"({"node": [
    {"name": "x", "op": "Placeholder", "attr": {"dtype": "float32", "shape": [-1, 2]}},
    {"name": "w", "op": "Variable", "initial_value": [[1, 2], [3, 4]]},
    {"name": "b", "op": "Variable", "initial_value": [1, 2]},
    {"name": "mul", "op": "MatMul", "input": ["x", "w"]},
    {"name": "add", "op": "BiasAdd", "input": ["mul", "b"]},
    {"name": "act", "op": "Relu", "input": ["add"]},
    {"name": "loss", "op": "Sum", "input": ["act", [0, 1]]}]})";

}  // namespace

TEST_CASE("gradient nodes have TensorFlow's names, structure and colocation") {
  WithGradients g(kMlp, "loss", {"w", "b"});
  CHECK(g.error == "");
  CHECK(g.node("gradients/grad_ys_0") == "Fill(gradients/Shape gradients/grad_ys_0/Const)");
  CHECK(g.node("gradients/loss_grad/Reshape") == "Reshape(gradients/grad_ys_0 gradients/loss_grad/Reshape/shape)");
  CHECK(g.node("gradients/loss_grad/Tile") == "Tile(gradients/loss_grad/Reshape gradients/loss_grad/Shape)");
  CHECK(g.node("gradients/act_grad/ReluGrad") == "ReluGrad(gradients/loss_grad/Tile act)");
  CHECK(g.node("gradients/add_grad/BiasAddGrad") == "BiasAddGrad(gradients/act_grad/ReluGrad)");
  CHECK(g.node("gradients/mul_grad/MatMul_1") == "MatMul(x gradients/act_grad/ReluGrad)");
  CHECK(g.gradient(0) == "gradients/mul_grad/MatMul_1");
  CHECK(g.gradient(1) == "gradients/add_grad/BiasAddGrad");
  const Graph& graph = g.file()->graph;
  CHECK(graph.attrs(graph.find("gradients/act_grad/ReluGrad")).texts("_class") == std::vector<std::string>{"loc:@act"});
}

TEST_CASE("only what the variables need is built") {
  WithGradients g(kMlp, "loss", {"w"});
  CHECK(g.node("gradients/add_grad/BiasAddGrad") == "none");
  CHECK(g.node("gradients/mul_grad/MatMul") == "none");
}

TEST_CASE("without colocation nodes carry no groups") {
  WithGradients g(kMlp, "loss", {"w"}, {.colocate = false});
  const Graph& graph = g.file()->graph;
  CHECK(graph.attrs(graph.find("gradients/act_grad/ReluGrad")).find("_class") == nullptr);
}

TEST_CASE("gated gradients of one op wait for each other") {
  WithGradients g(kMlp, "loss", {"w", "b"}, {.gate = true});
  CHECK(g.node("gradients/add_grad/tuple/group_deps") ==
        "NoOp(^gradients/act_grad/ReluGrad ^gradients/add_grad/BiasAddGrad)");
  CHECK(g.node("gradients/add_grad/tuple/control_dependency") ==
        "Identity(gradients/act_grad/ReluGrad ^gradients/add_grad/tuple/group_deps)");
  CHECK(g.gradient(1) == "gradients/add_grad/tuple/control_dependency_1");
  CHECK(g.node("gradients/mul_grad/tuple/group_deps") == "none");
}

TEST_CASE("gradients of several readers are added up") {
  WithGradients g(R"({"node": [
      {"name": "a", "op": "Variable", "initial_value": [1, 2]},
      {"name": "y", "op": "Mul", "input": ["a", "a"]}]})",
                  "y", {"a"});
  CHECK(g.node("gradients/AddN") == "AddN(gradients/y_grad/Mul gradients/y_grad/Mul_1)");
}

TEST_CASE("a variable that the loss does not depend on has no gradient, and why") {
  WithGradients g(R"({"node": [
      {"name": "a", "op": "Variable", "initial_value": [1, 2]},
      {"name": "b", "op": "Variable", "initial_value": [1, 2]},
      {"name": "y", "op": "Neg", "input": ["a"]}]})",
                  "y", {"a", "b"});
  CHECK(g.gradients.why_not[0] == "");
  CHECK(g.gradients.of[1].node == kNoNode);
  CHECK(g.gradients.why_not[1] == "'y' (Neg) does not depend on 'b'");
}

TEST_CASE("names of gradients are read") {
  auto name = parse_gradient_name("gradients(loss:1, scope/w )");
  REQUIRE(name);
  CHECK(name->loss == "loss:1");
  CHECK(name->x == "scope/w");
  CHECK_FALSE(parse_gradient_name("gradients/loss"));
  CHECK_FALSE(parse_gradient_name("gradients(loss)"));
}

}  // namespace emplace
