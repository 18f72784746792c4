#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "core/graph/graph_editor.h"
#include "tests/unit/formats/loading.h"

namespace emplace {
namespace {

/// A loaded and validated file under an editor.
struct Edited {
  explicit Edited(std::string text) : loaded(std::move(text)) {
    Problems problems;
    validate(*file(), problems);
    REQUIRE(loaded.errors() + problems.to_string(*file()->source) == "");
    edit.emplace(*file());
  }
  GraphFile* file() { return loaded.operator->(); }
  Graph& graph() { return file()->graph; }
  Endpoint at(std::string_view name, uint32_t slot = 0) { return {graph().find(name), slot}; }
  std::string finish() {
    Problems problems;
    edit->finish(problems);
    return problems.to_string(*file()->source);
  }
  std::string line(std::string_view name) {
    std::string out;
    NodeId id = graph().find(name);
    if (id == kNoNode) return "none";
    for (const Endpoint& e : graph().inputs(id)) append(out, out.empty() ? "" : " ", graph().name(e.node), ":", e.slot);
    for (const Endpoint& e : graph().controls(id)) append(out, out.empty() ? "^" : " ^", graph().name(e.node));
    return out;
  }

  Loaded loaded;
  std::optional<GraphEditor> edit;
};

constexpr const char* kSmall = R"({"node": [
    {"name": "w", "op": "Variable", "initial_value": [[1, 2], [3, 4]], "device": "/cpu:0"},
    {"name": "x", "op": "Placeholder", "attr": {"dtype": "float32", "shape": [-1, 2]}},
    {"name": "y", "op": "MatMul", "input": ["x", "w"]},
    {"name": "loss", "op": "Mean", "input": ["y", [0, 1]]}]})";

}  // namespace

TEST_CASE("an added node has its type and shape at once, and is there after finish") {
  Edited e(kSmall);
  Endpoint square = e.edit->add_output({.name = "sq", .op = "Square", .inputs = {e.at("y")}});
  CHECK(e.edit->type(square) == DType::kFloat);
  CHECK(e.edit->shape(square).to_string() == "[?,2]");
  Endpoint shape = e.edit->add_output({.name = "shape", .op = "Shape", .inputs = {square}});
  CHECK(e.edit->value(shape) == nullptr);
  CHECK(e.edit->value(e.at("loss/reduction_indices"))->num_elements() == 2);
  CHECK(e.finish() == "");
  CHECK(e.line("sq") == "y:0");
  CHECK(e.graph().output_shape(e.edit->new_id(square)).to_string() == "[?,2]");
}

TEST_CASE("names are made unique as TensorFlow does") {
  Edited e(kSmall);
  CHECK(e.edit->names().unique("gradients") == "gradients");
  CHECK(e.edit->names().unique("gradients") == "gradients_1");
  CHECK(e.edit->names().unique("loss") == "loss_1");
  CHECK(e.edit->names().unique("LOSS") == "LOSS_2");
  CHECK(e.edit->names().unique("y_1") == "y_1");
  CHECK(e.edit->names().unique("y") == "y_2");
}

TEST_CASE("colocation takes the groups and the device of the other node") {
  Edited e(kSmall);
  NodeId a =
      e.edit->add({.name = "a", .op = "Neg", .inputs = {e.at("w/read")}, .colocate_with = {e.at("w/read").node}});
  NodeId b = e.edit->add({.name = "b", .op = "Neg", .inputs = {e.at("y")}, .colocate_with = {e.at("y").node, a}});
  CHECK(e.finish() == "");
  CHECK(e.graph().attrs(e.edit->new_id(a)).texts("_class") == std::vector<std::string>{"loc:@w"});
  CHECK(e.graph().attrs(e.edit->new_id(b)).texts("_class") == std::vector<std::string>{"loc:@w", "loc:@y"});
  CHECK(e.graph().requested_device(e.edit->new_id(b)) == "/cpu:0");
}

TEST_CASE("a node that now reads a new one comes after it") {
  Edited e(kSmall);
  Endpoint neg = e.edit->add_output({.name = "neg", .op = "Neg", .inputs = {e.at("y")}});
  NodeId wait = e.edit->add({.name = "wait", .op = "NoOp"});
  e.edit->set_input(e.at("loss").node, 0, neg);
  e.edit->add_control(e.at("y").node, wait);
  e.edit->add_control(e.at("y").node, wait);
  CHECK(e.finish() == "");
  CHECK(e.line("loss") == "neg:0 loss/reduction_indices:0");
  CHECK(e.line("y") == "x:0 w/read:0 ^wait");
  CHECK(e.graph().find("wait") < e.graph().find("y"));
  CHECK(e.graph().find("neg") < e.graph().find("loss"));
  CHECK(e.graph().name(e.file()->variables[0].read) == "w/read");
}

TEST_CASE("a cycle is a problem") {
  Edited e(kSmall);
  Endpoint neg = e.edit->add_output({.name = "neg", .op = "Neg", .inputs = {e.at("loss")}});
  e.edit->set_input(e.at("y").node, 0, neg);
  CHECK(e.finish().find("these nodes wait for each other: y -> ") != std::string::npos);
}

TEST_CASE("a clone reads its own copies, and what is not copied from where it was") {
  Edited e(kSmall);
  std::vector<NodeId> nodes;
  for (const char* name : {"loss", "w", "w/initial_value", "w/Assign", "w/read", "y"}) nodes.push_back(e.at(name).node);
  auto copies = e.edit->clone(nodes, [](std::string_view name) { return cat("tower_1/", name); });
  REQUIRE(copies.size() == 6);
  CHECK(e.graph().name(copies[0]) == "tower_1/loss");
  CHECK(e.finish() == "");
  CHECK(e.line("tower_1/y") == "x:0 tower_1/w/read:0");
  CHECK(e.line("tower_1/loss") == "tower_1/y:0 loss/reduction_indices:0");
  CHECK(e.graph().attrs(e.graph().find("tower_1/w/read")).texts("_class") ==
        std::vector<std::string>{"loc:@tower_1/w"});
}

TEST_CASE("a clone of a loop is another loop") {
  Edited e(R"({"node": [{"name": "x", "op": "Const", "attr": {"value": 1}},
                        {"name": "enter", "op": "Enter", "input": ["x"], "attr": {"frame_name": "loop"}}]})");
  const NodeId enter[] = {e.at("enter").node};
  e.edit->clone(enter, [](std::string_view name) { return cat("tower_1/", name); });
  CHECK(e.finish() == "");
  CHECK(e.graph().attrs(e.graph().find("enter")).text("frame_name") == "loop");
  CHECK(e.graph().attrs(e.graph().find("tower_1/enter")).text("frame_name") == "tower_1/loop");
}

TEST_CASE("a removed node is gone; who reads it is a problem") {
  Edited e(kSmall);
  NodeId wait = e.edit->add({.name = "wait", .op = "NoOp", .controls = {e.at("loss").node}});
  e.edit->remove(e.at("loss").node);
  CHECK(e.finish() == "");
  CHECK(e.line("loss") == "none");
  CHECK(e.line("wait") == "");
  CHECK(e.edit->new_id(wait) == e.graph().find("wait"));

  Edited bad(kSmall);
  bad.edit->remove(bad.at("y").node);
  CHECK(bad.finish() ==
        "g.json:5:14: node 'loss' reads 'y', which was removed\n"
        "    {\"name\": \"loss\", \"op\": \"Mean\", \"input\": [\"y\", [0, 1]]}]}\n"
        "             ^\n");
}

TEST_CASE("inputs are redirected, nodes renamed, attrs and devices set") {
  Edited e(kSmall);
  Endpoint neg = e.edit->add_output({.name = "neg", .op = "Neg", .inputs = {e.at("w/read")}});
  e.edit->set_input(e.at("y").node, 0, neg);
  e.edit->rename(e.at("loss").node, "old_loss");
  e.edit->set_device(neg.node, "/gpu:1");
  e.edit->set_attr(e.at("y").node, "transpose_b", AttrValue::of(true));
  CHECK(e.graph().find("loss") == kNoNode);
  CHECK(e.finish() == "");
  CHECK(e.line("y") == "neg:0 w/read:0");
  CHECK(e.line("old_loss") == "y:0 loss/reduction_indices:0");
  CHECK(e.graph().attrs(e.graph().find("y")).flag("transpose_b"));
  CHECK(e.graph().requested_device(e.graph().find("neg")) == "/gpu:1");
}

TEST_CASE("what cannot be added fails once and passes through") {
  Edited e(kSmall);
  Endpoint bad =
      e.edit->add_output({.name = "bad", .op = "MatMul", .inputs = {e.at("y"), e.at("loss/reduction_indices")}});
  Endpoint after = e.edit->add_output({.name = "after", .op = "Neg", .inputs = {bad}});
  CHECK(e.edit->type(after) == DType::kInvalid);
  CHECK_FALSE(e.edit->status().ok());
  CHECK(e.edit->add({.name = "last", .op = "Neg", .inputs = {Endpoint{}}}) == kNoNode);
  CHECK(e.finish().find("Input 1 of node bad was passed int32") != std::string::npos);
}

TEST_CASE("a validated file may be validated again") {
  Edited e(R"({"node": [
      {"name": "p", "op": "Placeholder", "attr": {"dtype": "float64", "shape": [2]}},
      {"name": "a", "op": "Add", "input": ["p", 0.5]},
      {"name": "v", "op": "Variable", "initial_value": "a"}]})");
  CHECK(e.finish() == "");
  CHECK(e.graph().output_type(e.at("a/y")) == DType::kDouble);
  CHECK(e.graph().output_shape(e.at("v")).to_string() == "[2]");
}

}  // namespace emplace
