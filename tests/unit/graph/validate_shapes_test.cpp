// Shapes: what validate() knows before a run, as TensorFlow's shape inference does.
#include <catch2/catch.hpp>

#include "tests/unit/graph/hand_made_graph.h"

using namespace emplace;

namespace {
AttrValue number(int64_t v) { return AttrValue::of(v); }

// x[at] of the vector `from`, as Python writes it.
void element(HandMadeGraph& g, std::string_view name, std::string_view from, int32_t at) {
  std::string begin = cat(name, "/begin"), end = cat(name, "/end"), stride = cat(name, "/stride");
  g.vector<int32_t>(begin, {at});
  g.vector<int32_t>(end, {at + 1});
  g.vector<int32_t>(stride, {1});
  g.node(name, "StridedSlice", {from, begin, end, stride}, {{"shrink_axis_mask", number(1)}});
}
}  // namespace

TEST_CASE("shapes follow from shapes, and equal shapes are kept once") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {-1, 3});
  g.placeholder("b", DType::kFloat, {3, 4});
  g.node("m", "MatMul", {"a", "b"});
  g.node("r", "Relu", {"m"});
  g.node("u", "Placeholder", {}, {{"dtype", AttrValue::of(DType::kFloat)}});
  CHECK(g.problems() == "");
  CHECK(g.shape("m").to_string() == "[?,4]");
  CHECK(g.shape("r").to_string() == "[?,4]");
  CHECK(&g.shape("r") == &g.shape("m"));
  CHECK(g.shape("u") == Shape::unknown());
}

TEST_CASE("an op that emplace cannot run has outputs of unknown shape") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {2});
  g.node("x", "Copy", {"a"});
  CHECK(g.problems() == "");
  CHECK(g.type("x").def == nullptr);
  CHECK(g.shape("x") == Shape::unknown());
}

TEST_CASE("a constant that follows from constants tells a shape") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {2, 3, 4});
  g.vector<int32_t>("one", {2});
  g.vector<int32_t>("two", {12});
  g.constant("axis", Tensor::scalar(int32_t{0}));
  g.node("joined", "ConcatV2", {"one", "two", "axis"});
  g.node("copy", "Identity", {"joined"});
  g.node("y", "Reshape", {"a", "copy"});
  CHECK(g.problems() == "");
  CHECK(g.shape("y").to_string() == "[2,12]");
}

TEST_CASE("the shape of a tensor with an open batch, taken apart and put together, keeps what is known") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {-1, 3, 4});
  g.node("s", "Shape", {"a"});
  element(g, "batch", "s", 0);
  element(g, "height", "s", 1);
  element(g, "width", "s", -1);
  g.constant("ten", Tensor::scalar(int32_t{10}));
  g.node("wanted", "Pack", {"batch", "ten"});
  g.node("known", "Pack", {"height", "width"});
  g.constant("zero", Tensor::scalar(0.f));
  g.node("open", "Fill", {"wanted", "zero"});
  g.node("closed", "Fill", {"known", "zero"});
  g.node("like", "Fill", {"s", "zero"});
  g.node("long", "Cast", {"s"}, {{"DstT", AttrValue::of(DType::kInt64)}});
  g.node("cast", "Fill", {"long", "zero"});
  CHECK(g.problems() == "");
  CHECK(g.shape("open").to_string() == "[?,10]");
  CHECK(g.shape("closed").to_string() == "[3,4]");
  CHECK(g.shape("like").to_string() == "[?,3,4]");
  CHECK(g.shape("cast").to_string() == "[?,3,4]");
}

TEST_CASE("a slice of a partly known vector keeps its entries, whichever way it runs") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {-1, 3, 4, 5});
  g.node("s", "Shape", {"a"});
  g.constant("zero", Tensor::scalar(0.f));
  auto sliced = [&](std::string_view name, int32_t begin, int32_t end, int32_t stride, int64_t begin_mask,
                    int64_t end_mask) {
    std::string b = cat(name, "/b"), e = cat(name, "/e"), s = cat(name, "/s"), cut = cat(name, "/cut");
    g.vector<int32_t>(b, {begin});
    g.vector<int32_t>(e, {end});
    g.vector<int32_t>(s, {stride});
    g.node(cut, "StridedSlice", {"s", b, e, s}, {{"begin_mask", number(begin_mask)}, {"end_mask", number(end_mask)}});
    g.node(name, "Fill", {cut, "zero"});
  };
  sliced("head", 0, 2, 1, 0, 0);
  sliced("tail", -2, 0, 1, 0, 1);
  sliced("back", 0, 0, -1, 1, 1);
  sliced("step", 1, 9, 2, 0, 0);
  sliced("none", 3, 1, 1, 0, 0);
  CHECK(g.problems() == "");
  CHECK(g.shape("head").to_string() == "[?,3]");
  CHECK(g.shape("tail").to_string() == "[4,5]");
  CHECK(g.shape("back").to_string() == "[5,4,3,?]");
  CHECK(g.shape("step").to_string() == "[3,5]");
  CHECK(g.shape("none").to_string() == "[]");
}

TEST_CASE("what depends on the step is not known before it") {
  HandMadeGraph g;
  g.vector<int32_t>("c", {2, 3});
  g.node("default", "PlaceholderWithDefault", {"c"}, {{"shape", AttrValue::of(Shape{2})}});
  g.node("v", "VariableV2", {}, {{"dtype", AttrValue::of(DType::kInt32)}, {"shape", AttrValue::of(Shape{2})}});
  g.constant("zero", Tensor::scalar(0.f));
  g.node("x", "Fill", {"default", "zero"});
  g.node("y", "Fill", {"v", "zero"});
  CHECK(g.problems() == "");
  CHECK(g.shape("x").to_string() == "[?,?]");
  CHECK(g.shape("y").to_string() == "[?,?]");
}

TEST_CASE("a variable's shape goes with its handle") {
  HandMadeGraph g;
  g.node("v", "VarHandleOp", {}, {{"dtype", AttrValue::of(DType::kFloat)}, {"shape", AttrValue::of(Shape{2, 3})}});
  g.node("same", "Identity", {"v"});
  g.node("r", "ReadVariableOp", {"same"}, {{"dtype", AttrValue::of(DType::kFloat)}});
  CHECK(g.problems() == "");
  CHECK(g.shape("r").to_string() == "[2,3]");
}

TEST_CASE("what a shape rule refuses is told in TensorFlow's words") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {2, 3});
  g.node("m", "MatMul", {"a", "a"}, {}, "/cpu:0");
  g.vector<int32_t>("s", {4});
  g.node("r", "Reshape", {"a", "s"});
  g.constant("axis", Tensor::scalar(int32_t{2}));
  g.node("e", "ArgMax", {"a", "axis"});
  g.node("after", "Relu", {"m"});
  std::string found = g.problems();
  CHECK(found.find("Dimensions must be equal, but are 3 and 2 for '{{node m}} = MatMul[T=DT_FLOAT, grad_a=false, "
                   "grad_b=false, transpose_a=false, transpose_b=false, _device=\"/cpu:0\"](a, a)' with input shapes: "
                   "[2,3], [2,3].\n") != std::string::npos);
  CHECK(found.find("Cannot reshape a tensor with 6 elements to shape [4] (4 elements) for '{{node r}} = "
                   "Reshape[T=DT_FLOAT, Tshape=DT_INT32](a, s)' with input shapes: [2,3], [1] and with input tensors "
                   "computed as partial shapes: input[1] = [4].\n") != std::string::npos);
}

TEST_CASE("a chain of any length is followed without a deep stack") {
  HandMadeGraph g;
  g.vector<int32_t>("s", {2, 3});
  std::string last = "s";
  for (int i = 0; i < 3000; ++i) {
    std::string name = cat("i", i);
    g.node(name, "Identity", {last});
    last = name;
  }
  g.constant("zero", Tensor::scalar(0.f));
  g.node("x", "Fill", {last, "zero"});
  CHECK(g.problems() == "");
  CHECK(g.shape("x").rank() == 2);
}
