// Attr values: AttrValue messages in every dialect, and plain values by the op's declared types.
#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "tests/unit/formats/loading.h"

using namespace emplace;

namespace {

// One node with this op and these attrs.
struct OneNode {
  OneNode(const char* op, const std::string& attrs)
      : file(cat(R"({"node": [{"name": "n", "op": ")", op, R"(", "attr": )", attrs, "}]}")) {}
  Loaded file;
  const AttrValue& operator[](const char* name) const { return file.attr("n", name); }
};

}  // namespace

TEST_CASE("every kind of AttrValue is read") {
  OneNode n(
      "Any",
      R"({"s": {"s": "TkhXQw=="}, "i": {"i": "-3"}, "j": {"i": 4}, "f": {"f": 0}, "g": {"f": "-Infinity"}, "b": {"b": true}, "t": {"type": "DT_INT32"},
    "u": {"type": 1}, "r": {"type": "DT_FLOAT_REF"}, "shape": {"shape": {"dim": [{"size": "2"}, {"size": -1, "name": "x"}]}}, "unknown": {"shape": {"unknownRank": true}},
    "scalar": {"shape": {}}, "fn": {"func": {"name": "body", "attr": {"T": {"type": "DT_FLOAT"}}}}, "p": {"placeholder": "T"}, "nothing": {}})");
  REQUIRE(n.file.errors() == "");
  CHECK(n["s"].get<std::string>() == "NHWC");
  CHECK(n["i"].get<int64_t>() == -3);
  CHECK(n["j"].get<int64_t>() == 4);
  CHECK(n["f"].get<float>() == 0);
  CHECK(n["g"].get<float>() < -1e38f);
  CHECK(n["b"].get<bool>());
  CHECK(n["t"].get<DType>() == DType::kInt32);
  CHECK(n["u"].get<DType>() == DType::kFloat);
  CHECK(n["r"].get<DType>() == make_ref(DType::kFloat));
  CHECK(n["shape"].get<Shape>() == Shape{2, -1});
  CHECK_FALSE(n["unknown"].get<Shape>().rank_known());
  CHECK(n["scalar"].get<Shape>() == Shape{});
  CHECK(n["fn"].get<FuncValue>().attrs.at(0).second.get<DType>() == DType::kFloat);
  CHECK(n["p"].type().kind == AttrKind::kPlaceholder);
  CHECK(n["nothing"].type().kind == AttrKind::kNone);
}

TEST_CASE("lists: one kind, empty, and the dialect that writes every member and bytes as numbers") {
  OneNode n(
      "Any",
      R"({"a": {"list": {"s": ["Qmlhc0FkZA==", "UmVsdTY"]}}, "b": {"list": {}}, "c": {"list": {"s": [], "i": ["1", 2], "f": [], "b": [], "type": []}},
    "d": {"list": {"type": ["DT_FLOAT", 3]}}, "e": {"s": [78, 72, 87, 67]}, "f": {"list": {"s": [[97], []]}}, "g": {"list": {"shape": [{}, [1, 2]]}}, "h": {"list": {"f": [1, "NaN"]}}})");
  REQUIRE(n.file.errors() == "");
  CHECK(n["a"].get<std::vector<std::string>>() == std::vector<std::string>{"BiasAdd", "Relu6"});
  CHECK(n["b"].type() == AttrType{AttrKind::kNone, true});
  CHECK(n["c"].get<std::vector<int64_t>>() == std::vector<int64_t>{1, 2});
  CHECK(n["d"].get<std::vector<DType>>() == std::vector<DType>{DType::kFloat, DType::kInt32});
  CHECK(n["e"].get<std::string>() == "NHWC");
  CHECK(n["f"].get<std::vector<std::string>>() == std::vector<std::string>{"a", ""});
  CHECK(n["g"].get<std::vector<Shape>>()[1] == Shape{1, 2});
  CHECK(n["h"].get<std::vector<float>>().size() == 2);
}

TEST_CASE("plain values are read by the declared type") {
  OneNode conv(
      "Conv2D",
      R"({"T": "float", "strides": [1, 2, 2, 1], "padding": "SAME", "use_cudnn_on_gpu": true, "data_format": "NHWC", "explicit_paddings": []})");
  REQUIRE(conv.file.errors() == "");
  CHECK(conv["T"].get<DType>() == DType::kFloat);
  CHECK(conv["strides"].get<std::vector<int64_t>>() == std::vector<int64_t>{1, 2, 2, 1});
  CHECK(conv["padding"].get<std::string>() == "SAME");
  CHECK(conv["use_cudnn_on_gpu"].get<bool>());
  CHECK(conv["explicit_paddings"].get<std::vector<int64_t>>().empty());
  OneNode placeholder("Placeholder", R"({"dtype": "DT_INT64", "shape": [2, -1]})");
  CHECK(placeholder["dtype"].get<DType>() == DType::kInt64);
  CHECK(placeholder["shape"].get<Shape>() == Shape{2, -1});
  CHECK_FALSE(OneNode("Placeholder", R"({"dtype": "float32", "shape": null})")["shape"].get<Shape>().rank_known());
  CHECK(OneNode("LeakyRelu", R"({"alpha": 1})")["alpha"].get<float>() == 1);
  OneNode identities("IdentityN", R"({"T": ["float32", "int32"]})");
  CHECK(identities["T"].get<std::vector<DType>>().size() == 2);
  OneNode zero("Conv2D", R"({"use_cudnn_on_gpu": {}, "data_format": {}, "strides": {}})");
  CHECK_FALSE(zero["use_cudnn_on_gpu"].get<bool>());
  CHECK(zero["data_format"].get<std::string>().empty());
  CHECK(zero["strides"].type().list);
}

TEST_CASE("_class is plain text in a plain list and base64 in a message; other private attrs are kept") {
  CHECK(OneNode("Relu", R"({"_class": ["loc:@x"]})")["_class"].get<std::vector<std::string>>()[0] == "loc:@x");
  CHECK(OneNode("Relu", R"({"_class": {"list": {"s": ["bG9jOkB4"]}}})")["_class"].get<std::vector<std::string>>()[0] ==
        "loc:@x");
  OneNode n("Relu",
            R"({"_output_shapes": {"list": {"shape": [{"dim": [{"size": "3"}]}]}}, "_hint": 3, "_text": "DT_FLOAT"})");
  REQUIRE(n.file.errors() == "");
  CHECK(n["_output_shapes"].get<std::vector<Shape>>()[0] == Shape{3});
  CHECK(n["_hint"].get<int64_t>() == 3);
  CHECK(n["_text"].get<std::string>() == "DT_FLOAT");
}

TEST_CASE("without a declaration the value's own form decides") {
  OneNode n(
      "NobodyKnows",
      R"({"T": "float32", "n": 3, "x": 0.5, "b": false, "s": "text", "shape": [1, 2], "value": [1, 2], "l": [1, 2.5], "m": ["a"], "Tin": ["int32"]})");
  REQUIRE(n.file.errors() == "");
  CHECK(n["T"].get<DType>() == DType::kFloat);
  CHECK(n["n"].get<int64_t>() == 3);
  CHECK(n["x"].get<float>() == 0.5f);
  CHECK_FALSE(n["b"].get<bool>());
  CHECK(n["s"].get<std::string>() == "text");
  CHECK(n["shape"].get<Shape>() == Shape{1, 2});
  CHECK(n["value"].get<Tensor>().num_elements() == 2);
  CHECK(n["l"].get<std::vector<float>>() == std::vector<float>{1, 2.5});
  CHECK(n["m"].get<std::vector<std::string>>()[0] == "a");
  CHECK(n["Tin"].get<std::vector<DType>>()[0] == DType::kInt32);
}

TEST_CASE("op_def declares an op's attrs, even after the nodes that use it") {
  std::string node =
      R"("node": [{"name": "n", "op": "Mine", "attr": {"mode": "float32", "T": "int32"}, "input": [[1, 2]]}])";
  std::string op =
      R"("op_def": [{"name": "Mine", "inputArg": [{"name": "rows", "type_attr": "T"}], "output_arg": [{"name": "y", "type": "DT_FLOAT"}],
      "attr": [{"name": "mode", "type": "string", "default_value": "x", "allowed_values": ["x", "float32"]}, {"name": "T", "type": "type"}], "isStateful": true}])";
  for (const std::string& text : {cat("{", node, ",", op, "}"), cat("{", op, ",", node, "}")}) {
    Loaded f(text);
    REQUIRE(f.errors() == "");
    CHECK(f.attr("n", "mode").get<std::string>() == "float32");
    CHECK(f->graph.find("n/rows") != kNoNode);
    const OpSignature* mine = f->ops->find("Mine");
    REQUIRE(mine);
    CHECK(mine->is_stateful);
    CHECK(mine->inputs[0].type_attr == 1);
    CHECK(mine->attrs[0].default_value->get<std::string>() == "x");
  }
  Loaded again(R"({"op_def": [{"name": "Relu", "input_arg": [{"name": "x", "type": "DT_FLOAT"}]}]})");
  CHECK(again.error() == "op 'Relu' is known with another signature");
}

TEST_CASE("kernel_def replaces the kernels of an op") {
  Loaded f(
      R"({"kernel_def": [{"op": "Relu", "device_type": "CPU", "constraint": [{"name": "T", "allowed_values": {"list": {"type": ["DT_FLOAT"]}}}]},
                              {"op": "Relu", "deviceType": "GPU", "hostMemoryArg": ["features"], "priority": 3, "label": "l"}]})");
  REQUIRE(f.errors() == "");
  const auto& kernels = f->ops->kernels("Relu");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].constraints[0].allowed_values.get<std::vector<DType>>()[0] == DType::kFloat);
  CHECK(kernels[1].host_memory_args[0] == "features");
  CHECK(kernels[1].priority == 3);
}

TEST_CASE("wrong attrs are told apart") {
  auto error = [](const char* op, const char* attrs) { return OneNode(op, attrs).file.error(); };
  CHECK(error("Conv2D", R"({"strides": [1, "x"]})") == "attr 'strides': found \"x\", wanted a number");
  CHECK(error("Conv2D", R"({"strides": 1})") == "attr 'strides': found a number, wanted a list");
  CHECK(error("Conv2D", R"({"padding": 3})") == "attr 'padding': found a number, wanted text");
  CHECK(error("Conv2D", R"({"T": "flot"})") == "attr 'T': unknown type 'flot'");
  CHECK(error("Conv2D", R"({"T": {"type": "DT_FLOT"}})") == "attr 'T': unknown type 'DT_FLOT'");
  CHECK(error("Conv2D", R"({"T": {"type": 99}})") == "attr 'T': no type has number 99");
  CHECK(error("Conv2D", R"({"T": {"typ": 1}})") == "unknown key 'typ' in an attr value");
  CHECK(error("Conv2D", R"({"T": {"type": 1, "i": 2}})") == "attr 'T': an attr value with two kinds");
  CHECK(error("Conv2D", R"({"T": "float32", "T": "float32"})") == "attr 'T' stands twice");
  CHECK(error("Conv2D", R"({"padding": {"s": "SAME!"}})") == "attr 'padding': not base64");
  CHECK(error("AddN", R"({"N": {"i": "99999999999999999999"}})") ==
        "attr 'N': 99999999999999999999 is out of the range of int64");
  CHECK(error("AddN", R"({"N": {"i": 1.5}})") == "attr 'N': found 1.5, wanted a whole number");
  CHECK(error("Placeholder", R"({"shape": [-2]})") == "attr 'shape': found -2, wanted at least -1");
  CHECK(error("Relu", R"({"x": {"list": {"i": [1], "f": [1]}}})") == "attr 'x': a list with members of two kinds");
}
