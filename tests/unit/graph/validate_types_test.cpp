// Types of nodes: what validate() infers, and what it refuses in which words (TensorFlow's where it has some).
#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "core/op/attr_text.h"
#include "tests/unit/graph/hand_made_graph.h"

using namespace emplace;

namespace {
AttrValue type_attr(DType t) { return AttrValue::of(t); }
std::string attr_names(const NodeType& type) {
  std::string out;
  for (const auto& [name, value] : type.attrs) append(out, out.empty() ? "" : " ", name, "=", summarize_attr(*value));
  return out;
}
}  // namespace

TEST_CASE("attrs that the inputs tell are inferred, the rest gets its default, in that order after the written ones") {
  HandMadeGraph g;
  g.placeholder("a", DType::kDouble, {2, 3});
  g.node("m", "MatMul", {"a", "a"}, {{"transpose_b", AttrValue::of(true)}, {"_x", AttrValue::of(int64_t{1})}});
  g.node("p", "Pack", {"a", "a", "a"});
  g.node("i", "IdentityN", {"a", "p"});
  CHECK(g.problems() == "");
  CHECK(attr_names(g.type("m")) == "transpose_b=true _x=1 T=DT_DOUBLE transpose_a=false grad_a=false grad_b=false");
  CHECK(attr_names(g.type("p")) == "N=3 T=DT_DOUBLE axis=0");
  CHECK(attr_names(g.type("i")) == "T=[DT_DOUBLE, DT_DOUBLE]");
  CHECK(g.type("i").output_types.size() == 2);
  CHECK(std::vector<uint16_t>(g.type("p").input_args.begin(), g.type("p").input_args.end()) ==
        std::vector<uint16_t>{0, 0, 0});
}

TEST_CASE("nodes with equal op, attrs and input types share one type") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {2});
  g.node("r1", "Relu", {"a"});
  g.node("r2", "Relu", {"r1"});
  g.placeholder("b", DType::kInt32, {2});
  g.node("r3", "Relu", {"b"});
  CHECK(g.problems() == "");
  CHECK(&g.type("r1") == &g.type("r2"));
  CHECK(&g.type("r1") != &g.type("r3"));
}

TEST_CASE("a list of types in the middle of the arguments is inferred; a number beside it has its default") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {1, 2, 2, 1});
  g.node("c", "_FusedConv2D", {"a", "a", "a"},
         {{"strides", AttrValue::list_of<int64_t>(AttrKind::kInt, {1, 1, 1, 1})},
          {"padding", AttrValue::of(std::string("SAME"))},
          {"num_args", AttrValue::of(int64_t{1})}});
  g.problems();
  REQUIRE(g.type("c").input_args.size() == 3);
  CHECK(summarize_attr(*g.type("c").view().find("TArgs")) == "[DT_FLOAT]");
}

TEST_CASE("a constant says its dtype; a stated dtype that does not agree is a problem of the run, not of the types") {
  HandMadeGraph g;
  g.vector<int32_t>("c", {1, 2});
  g.node("d", "Const", {}, {{"dtype", type_attr(DType::kFloat)}, {"value", AttrValue::of(Tensor::scalar(int32_t{1}))}});
  CHECK(g.problems() ==
        "Type mismatch between value (int32) and dtype (float) for '{{node d}} = Const[dtype=DT_FLOAT, "
        "value=Tensor<type: int32 shape: [] values: 1>]()' with input shapes: .\n");
  CHECK(g.type("c").output_types[0] == DType::kInt32);
}

TEST_CASE("unknown ops and attrs are named with the nearest known one") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {2, 2});
  g.node("s", "Sofmax", {"a"});
  g.node("m", "MatMul", {"a", "a"}, {{"tranpose_a", AttrValue::of(true)}});
  g.node("q", "Qqqqqqqqqqqq", {"a"});
  CHECK(g.problems() ==
        "unknown op 'Sofmax' [did you mean 'Softmax'?]\n"
        "unknown op 'Qqqqqqqqqqqq' ['emplace ops' lists the ops that emplace runs]\n");
}

TEST_CASE("one problem does not make others: what hangs on a broken node is left alone") {
  HandMadeGraph g;
  g.node("s", "Sofmax");
  g.node("r", "Relu", {"s"});
  g.node("m", "MatMul", {"r", "s:7"});
  g.vector<float>("c", {1});
  g.node("add", "AddV2", {"c", "m"});
  g.node("shape", "Shape", {"s"});
  CHECK(g.problems() == "unknown op 'Sofmax' [did you mean 'Softmax'?]\n");
}

TEST_CASE("wrong numbers of inputs") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {2});
  g.node("x", "AddV2", {"a"});
  g.node("y", "Relu", {"a", "a"});
  g.node("z", "AddN", {"a"}, {{"N", AttrValue::of(int64_t{2})}});
  g.node("d", "DynamicStitch", {"a", "a", "a"});
  g.node("n", "NoOp", {"a"});
  CHECK(g.problems() ==
        "node 'x' (AddV2): has 1 input, AddV2 takes 2 [AddV2(x:T, y:T) -> (z:T)]\n"
        "node 'y' (Relu): has 2 inputs, Relu takes 1 [Relu(features:T) -> (activations:T)]\n"
        "node 'z' (AddN): has 1 input, AddN takes 2 [AddN(inputs:N*T) -> (sum:T)]\n"
        "node 'd' (DynamicStitch): has 3 inputs, which DynamicStitch cannot share out "
        "[DynamicStitch(indices:N*int32, data:N*T) -> (merged:T)]\n"
        "node 'n' (NoOp): has 1 input, NoOp takes none [NoOp() -> ()]\n");
}

TEST_CASE("attr values of another type, out of range or not allowed are refused in TensorFlow's words") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {2});
  g.placeholder("i", DType::kInt32, {2});
  g.node("x", "Relu", {"a"}, {{"T", AttrValue::of(int64_t{3})}});
  g.node("y", "Softmax", {"i"});
  g.node("z", "AddN", {}, {{"N", AttrValue::of(int64_t{0})}, {"T", type_attr(DType::kFloat)}});
  g.node("l", "IdentityN", {}, {{"T", AttrValue({AttrKind::kNone, true}, {})}});
  g.node("r", "Relu", {"a"}, {{"T", type_attr(make_ref(DType::kFloat))}});
  g.node("b", "BiasAdd", {"a", "a"}, {{"data_format", AttrValue::of(std::string("X"))}});
  g.node("c", "Cast", {"a"});
  CHECK(g.problems() ==
        "node 'x' (Relu): AttrValue had value with type 'int' when 'type' expected for attr 'T'\n"
        "node 'y' (Softmax): Value for attr 'T' of int32 is not in the list of allowed values: half, bfloat16, float, "
        "double "
        "['T' follows from the inputs: Softmax(logits:T) -> (softmax:T)]\n"
        "node 'z' (AddN): Value for attr 'N' of 0 must be at least minimum 1\n"
        "node 'l' (IdentityN): Length for attr 'T' of 0 must be at least minimum 1\n"
        "node 'r' (Relu): AttrValue must not have reference type value of float_ref for attr 'T'\n"
        "node 'b' (BiasAdd): Value for attr 'data_format' of \"X\" is not in the list of allowed values: \"NHWC\", "
        "\"NCHW\"\n"
        "node 'c' (Cast): NodeDef missing attr 'DstT' from Cast [attr 'DstT' is a type]\n");
}

TEST_CASE("inputs of the wrong type, and outputs that do not exist, are refused in TensorFlow's words") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {2});
  g.placeholder("i", DType::kInt32, {2});
  g.node("x", "AddV2", {"a", "i"});
  g.node("y", "Relu", {"a"}, {{"T", type_attr(DType::kDouble)}});
  g.node("z", "Relu", {"a:1"});
  CHECK(g.problems() ==
        "Input 1 of node x was passed int32 from i:0 incompatible with expected float. [AddV2 node 'x' takes float32 "
        "here; a Cast converts]\n"
        "Input 0 of node y was passed float from a:0 incompatible with expected double. [Relu node 'y' takes float64 "
        "here; a Cast converts]\n"
        "Node 'z': Connecting to invalid output 1 of source node a which has 1 outputs.\n");
}

TEST_CASE("a reference feeds what wants a value; a value feeds no reference") {
  HandMadeGraph g;
  g.node("v", "VariableV2", {}, {{"dtype", type_attr(DType::kFloat)}, {"shape", AttrValue::of(Shape{2})}});
  g.vector<float>("c", {1, 2});
  g.node("read", "Identity", {"v"});
  g.node("assign", "Assign", {"v", "c"});
  g.node("bad", "Assign", {"c", "c"});
  CHECK(
      g.problems() ==
      "Input 0 of node bad was passed float from c:0 incompatible with expected float_ref. ['c' is not a variable, so "
      "Assign cannot write to it]\n");
  CHECK(g.type("read").output_types[0] == DType::kFloat);
  CHECK(g.type("read").input_types[0] == DType::kFloat);
  CHECK(g.type("assign").input_types[0] == make_ref(DType::kFloat));
}

TEST_CASE("a loop's back edge has the type of the Merge; other cycles are refused") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {2});
  g.node("e", "Enter", {"a"}, {{"frame_name", AttrValue::of(std::string("f"))}});
  NodeId merge = g.node("m", "Merge", {"e", "e"});
  NodeId next = g.node("n", "NextIteration", {"m"});
  g.close_loop(merge, 1, next);
  CHECK(g.problems() == "");
  CHECK(attr_names(g.type("m")) == "T=DT_FLOAT N=2");
  CHECK(g.shape("m") == Shape::unknown());

  HandMadeGraph typed;
  typed.placeholder("a", DType::kFloat, {2});
  NodeId m = typed.node("m", "Merge", {"a", "a"});
  typed.node("c", "Cast", {"m"}, {{"DstT", type_attr(DType::kInt32)}});
  typed.close_loop(m, 1, typed.node("n", "NextIteration", {"c"}));
  CHECK(typed.problems() ==
        "Input 1 of node m was passed int32 from n:0 incompatible with expected float. [Merge node 'm' takes float32 "
        "here; a Cast converts]\n");

  HandMadeGraph cycle;
  cycle.placeholder("a", DType::kFloat, {2});
  NodeId r = cycle.node("r", "Relu", {"a"});
  cycle.close_loop(r, 0, cycle.node("s", "Relu", {"r"}));
  CHECK(cycle.problems() == "node 'r' (Relu): input 's' closes a cycle [only a Merge may read what comes after it]\n");
}

TEST_CASE("a number of outputs that no memory holds is a problem, not an attempt") {
  HandMadeGraph g;
  g.placeholder("a", DType::kFloat, {2});
  g.node("u", "Unpack", {"a"}, {{"num", AttrValue::of(int64_t{1} << 40)}});
  CHECK(g.problems() == "node 'u' (Unpack): has 1099511627776 outputs 'output'; at most 1048576 are possible\n");
  HandMadeGraph many;
  many.placeholder("a", DType::kFloat, {2});
  for (int i = 0; i < 70; ++i) {
    many.node(cat("u", i), "Unpack", {"a"}, {{"num", AttrValue::of(int64_t{1} << 20)}});
  }
  CHECK(many.problems().find("more than 67108864") != std::string::npos);
}

TEST_CASE("an op that its GraphDef's version no longer has is refused, an older graph may use it") {
  HandMadeGraph g;
  g.placeholder("a", DType::kComplex64, {2});
  g.node("f", "BatchFFT", {"a"});
  CHECK(g.problems() == "");
  g.file.producer = 1000;
  CHECK(g.problems() ==
        "node 'f' (BatchFFT): Op BatchFFT is not available in GraphDef version 1000. "
        "It has been removed in version 15. Use FFT.\n");
}

TEST_CASE("a function of the library is called like an op") {
  HandMadeGraph g;
  OpSignature f;
  f.name = "Twice";
  f.attrs.push_back({"T", {AttrKind::kType, false}, {}, {}, {}});
  f.inputs.push_back({"x", DType::kInvalid, 0, -1, -1, false});
  f.outputs.push_back({"y", DType::kInvalid, 0, -1, -1, false});
  g.file.library["Twice"].signature = f;
  g.placeholder("a", DType::kHalf, {2});
  g.node("t", "Twice", {"a"});
  CHECK(g.problems() == "");
  CHECK(g.type("t").signature == nullptr);
  CHECK(g.type("t").output_types[0] == DType::kHalf);
}

TEST_CASE("literals take the type that their argument asks for") {
  auto settled = [](auto make) {
    HandMadeGraph g;
    make(g);
    std::string problems = g.problems();
    if (!problems.empty()) return problems;
    const NodeType& type = g.type("l");
    return cat(dtype_name(type.output_types[0]), " ", summarize_attr(*type.view().find("value")));
  };
  Tensor one = Tensor::scalar(int64_t{1}), half_one = Tensor::scalar(0.5);
  SECTION("that of the op") {
    CHECK(settled([&](HandMadeGraph& g) {
            g.placeholder("c", DType::kBool, {});
            g.literal("l", 0, Tensor::scalar(true));
            g.node("x", "LogicalAnd", {"l", "c"});
          }) == "bool Tensor<type: bool shape: [] values: 1>");
  }
  SECTION("that of another input") {
    CHECK(settled([&](HandMadeGraph& g) {
            g.placeholder("a", DType::kDouble, {2});
            g.literal("l", 1, one);
            g.node("x", "AddV2", {"a", "l"});
          }) == "float64 Tensor<type: double shape: [] values: 1>");
  }
  SECTION("that of another literal which states it") {
    CHECK(settled([&](HandMadeGraph& g) {
            g.node("stated", "Const");
            g.literal("l", 0, one);
            g.node("x", "AddV2", {"l", "stated"});
            g.file.graph.literals_.push_back({1, 3, 1, Tensor::scalar(half(2.f)), true});
            g.file.graph.literals_[1].constant = 0;
          }) == "float16 Tensor<type: half shape: [] values: 1>");
  }
  SECTION("the attr's default") {
    CHECK(settled([&](HandMadeGraph& g) {
            g.placeholder("a", DType::kDouble, {2, 2});
            g.literal("l", 1, one);
            g.node("x", "Sum", {"a", "l"});
          }) == "int32 Tensor<type: int32 shape: [] values: 1>");
  }
  SECTION("float32 otherwise, if that is allowed") {
    CHECK(settled([&](HandMadeGraph& g) {
            g.literal("l", 0, one);
            g.node("x", "Relu", {"l"});
          }) == "float32 Tensor<type: float shape: [] values: 1>");
    CHECK(settled([&](HandMadeGraph& g) {
            g.placeholder("a", DType::kFloat, {2});
            g.literal("l", 1, one);
            g.node("x", "Gather", {"a", "l"});
          }) == "int32 Tensor<type: int32 shape: [] values: 1>");
  }
  SECTION("a value that the type cannot hold is a problem") {
    CHECK(settled([&](HandMadeGraph& g) {
            g.placeholder("a", DType::kInt32, {2});
            g.literal("l", 1, half_one);
            g.node("x", "AddV2", {"a", "l"});
          }) == "node 'x' (AddV2): input 1: the literal 0.5 is not of type int32\n");
    CHECK(settled([&](HandMadeGraph& g) {
            g.placeholder("a", DType::kInt8, {2});
            g.literal("l", 1, Tensor::scalar(int64_t{128}));
            g.node("x", "AddV2", {"a", "l"});
          }) == "node 'x' (AddV2): input 1: the literal 128 is not of type int8\n");
    CHECK(settled([&](HandMadeGraph& g) {
            g.placeholder("a", DType::kFloat, {2});
            g.literal("l", 1, Tensor::scalar(std::string("x")));
            g.node("x", "AddV2", {"a", "l"});
          }) == "node 'x' (AddV2): input 1: the literal text is not of type float32\n");
  }
}
