// Tensors in graph files: TensorFlow's TensorProtos against the bytes TensorFlow reads from them, and the plain forms.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/base64.h"
#include "core/base/cat.h"
#include "tests/unit/formats/loading.h"
#include "tests/unit/source_dir.h"

using namespace emplace;
using nlohmann::json;

namespace {

std::string const_graph(const std::string& value) {
  return cat(R"({"node": [{"name": "c", "op": "Const", "attr": {"value": )", value, "}}]}");
}

// The value of a Const with this `value` attr; the errors if there are any.
struct Value {
  explicit Value(const std::string& text, const LoadOptions& options = {}) : file(const_graph(text), options) {}
  Loaded file;
  const Tensor& operator*() const { return file.attr("c", "value").get<Tensor>(); }
  const Tensor* operator->() const { return &**this; }
};

std::string bytes_of(const Tensor& t) { return {static_cast<const char*>(t.raw()), t.size_bytes()}; }

template <class T>
std::vector<T> elements(const Tensor& t) {
  CHECK(t.dtype() == dtype_of<T>);
  return {t.flat<T>().begin(), t.flat<T>().end()};
}

}  // namespace

TEST_CASE("tensors as TensorFlow writes them have the bytes that TensorFlow reads") {
  json cases = json::parse(std::ifstream(source_dir() + "/tests/data/formats/tensors.json"))["cases"];
  REQUIRE(cases.size() == 92);
  for (const json& c : cases) {
    CAPTURE(c["name"]);
    Value v(json{{"tensor", c["tensor"]}}.dump());
    REQUIRE(v.file.errors() == "");
    CHECK(dtype_tf_name(v->dtype()) == dtype_tf_name(*parse_dtype(c["dtype"].get<std::string>())));
    CHECK(v->shape() == Shape(std::span<const int64_t>(c["shape"].get<std::vector<int64_t>>())));
    if (c.contains("strings")) {
      for (int64_t i = 0; i < v->num_elements(); ++i)
        CHECK(v->data<std::string>()[i] == decode_base64(c["strings"][static_cast<size_t>(i)].get<std::string>()));
    } else {
      CHECK(bytes_of(*v) == decode_base64(c["bytes"].get<std::string>()));
    }
  }
}

TEST_CASE("plain tensors: numbers are float32, texts strings, booleans bool") {
  CHECK(elements<float>(*Value("1")) == std::vector<float>{1});
  CHECK(elements<float>(*Value("[[1, 2], [3.5, -0.0]]")) == std::vector<float>{1, 2, 3.5, 0});
  CHECK(elements<float>(*Value("[]")).empty());
  CHECK(Value("[[], []]")->shape() == Shape{2, 0});
  CHECK(elements<bool>(*Value("[true, false]")) == std::vector<bool>{true, false});
  CHECK(elements<std::string>(*Value(R"("Hello\u00e4")")) == std::vector<std::string>{"Helloä"});
  CHECK(std::isnan(Value(R"([1, "NaN"])")->data<float>()[1]));
}

TEST_CASE("the object form states type and shape, by data or by fill") {
  CHECK(elements<int32_t>(*Value(R"({"dtype": "int32", "data": [1, -2, 3e2]})")) == std::vector<int32_t>{1, -2, 300});
  CHECK(Value(R"({"dtype": "int32", "shape": [], "data": [7]})")->shape() == Shape{});
  CHECK(Value(R"({"data": [1, 2, 3, 4, 5, 6], "shape": [3, 2], "dtype": "DT_DOUBLE"})")->shape() == Shape{3, 2});
  CHECK(elements<half>(*Value(R"({"dtype": "half", "shape": [3], "fill": 0.5})"))[2].bits == 0x3800);
  CHECK(elements<uint64_t>(*Value(R"({"dtype": "uint64", "data": 18446744073709551615})")) ==
        std::vector<uint64_t>{UINT64_MAX});
  CHECK(elements<int64_t>(*Value(R"({"dtype": "int64", "data": [9223372036854775807, -9223372036854775808]})")) ==
        std::vector<int64_t>{INT64_MAX, INT64_MIN});
  CHECK(elements<std::string>(*Value(R"({"dtype": "string", "shape": [2], "data": ["a", {"base64": "/w=="}]})")) ==
        std::vector<std::string>{"a", "\xff"});
  Value complex(R"({"dtype": "complex64", "data": [[1, 2], [3, -4]]})");
  CHECK(complex->shape() == Shape{2});
  CHECK(elements<std::complex<float>>(*complex)[1] == std::complex<float>(3, -4));
  CHECK(Value(R"({"dtype": "float32", "shape": [1000000, 1000], "fill": 1})",
              {.allowed_paths = {}, .max_fill_bytes = 1000})
            .file.error() ==
        "a value of shape [1000000,1000] and type float32 that is not written out is too large: a graph file may take "
        "1000 bytes that way");
}

TEST_CASE("the attr dtype of a Const is the type of its plain value, wherever it stands") {
  for (const char* attrs :
       {R"({"dtype": "int32", "value": [1, 2]})", R"({"value": [1, 2], "dtype": {"type": "DT_INT32"}})"}) {
    Loaded f(cat(R"({"node": [{"name": "c", "attr": )", attrs, R"(, "op": "Const"}]})"));
    REQUIRE(f.errors() == "");
    CHECK(elements<int32_t>(f.attr("c", "value").get<Tensor>()) == std::vector<int32_t>{1, 2});
  }
}

TEST_CASE("wrong tensors are told apart") {
  auto error = [](const char* text) { return Value(text).file.error(); };
  CHECK(error("[[1, 2], [3]]") == "this list has 1 entry, the first beside it has 2");
  CHECK(error("[1, [2]]") == "found a list where the values before are not lists");
  CHECK(error("[[1], 2]") == "found a number beside lists");
  CHECK(error(R"([1, "a"])") == "found \"a\" in a float32 tensor");
  CHECK(error("[1, true]") == "found true in a float32 tensor");
  CHECK(error("[null]") == "found null, wanted a value");
  CHECK(error("[1e39]") == "1e39 is out of the range of float32");
  CHECK(error("[1e999]") == "1e999 is out of the range of float64");
  CHECK(error(R"({"dtype": "uint8", "data": [255, 256]})") == "256 is out of the range of uint8");
  CHECK(error(R"({"dtype": "int32", "data": 1.5})") == "found 1.5 in an int32 tensor");
  CHECK(error(R"({"dtype": "int32", "data": 2147483648})") == "2147483648 is out of the range of int32");
  CHECK(error(R"({"dtype": "int64", "data": 1e19})") == "1e19 is out of the range of int64");
  CHECK(error(R"({"dtype": "half", "data": 70000})") == "70000 is out of the range of float16");
  CHECK(error(R"({"dtype": "float32", "shape": [2, 2], "data": [1, 2, 3]})") ==
        "found 3 values for shape [2,2], wanted 4");
  CHECK(error(R"({"dtype": "float32", "shape": [2, -1], "data": [1, 2]})") ==
        "the shape of a value must be known, found [2,?]");
  CHECK(error(R"({"dtype": "float32"})") == "a tensor without values");
  CHECK(error(R"({"dtype": "flaot32", "data": 1})") == "dtype: unknown type 'flaot32'");
  CHECK(error(R"({"dtype": "float32", "shape": [1000000000000], "fill": 0})").starts_with("a value of shape"));
  CHECK(
      error(
          R"({"tensor": {"dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": "1099511627776"}]}, "floatVal": [1]}})")
          .starts_with("a value of shape"));
  CHECK(
      error(
          R"({"tensor": {"dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": "4611686018427387904"}, {"size": "4"}]}}})")
          .starts_with("a value of shape"));
  CHECK(
      error(R"({"tensor": {"dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": "2"}]}, "tensorContent": "AAAA"}})") ==
      "tensor_content holds 3 bytes, which is not what shape [2] of float32 takes");
  CHECK(error(R"({"tensor": {"dtype": "DT_FLOAT", "int_val": [1]}})") == "a tensor of type DT_FLOAT with int_val");
  CHECK(error(R"({"tensor": {"dtype": "DT_FLOAT", "tensor_content": "A"}})") == "tensor_content: not base64");
  CHECK(error(R"({"tensor": {"tensor_content": "AA=="}})") == "a tensor of type DT_INVALID");
}

TEST_CASE("base64 in both alphabets, padded or not") {
  CHECK(decode_base64("") == "");
  CHECK(decode_base64("Zg==") == "f");
  CHECK(decode_base64("Zg") == "f");
  CHECK(decode_base64("Zm8=") == "fo");
  CHECK(decode_base64("Zm9vYmFy") == "foobar");
  CHECK(decode_base64("-_-_") == decode_base64("+/+/"));
  for (const char* bad : {"A", "A===", "Zg=", "Z g=", "Zm9v=", "====", "Zm\xc3\xa4v"}) CHECK_FALSE(decode_base64(bad));
}

TEST_CASE("strings packed in tensor_content: lengths, then bytes") {
  Value v(
      R"({"tensor": {"dtype": "DT_STRING", "tensorShape": {"dim": [{"size": "2"}]}, "tensorContent": "AQJhYmM="}})");
  CHECK(v.file.errors() == "");
  CHECK(elements<std::string>(*v) == std::vector<std::string>{"a", "bc"});
  CHECK(
      Value(
          R"({"tensor": {"dtype": "DT_STRING", "tensorShape": {"dim": [{"size": "2"}]}, "tensorContent": "AQlhYmM="}})")
          .file.problems()
          .count() == 1);
}
