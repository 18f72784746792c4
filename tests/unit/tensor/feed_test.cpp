// Values given on the command line, in every form, and what is said about those that do not fit.
#include "core/tensor/feed.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/tensor/npy.h"
#include "core/tensor/print.h"

namespace emplace {
namespace {

const Shape kAny = Shape::unknown();

Tensor fed(std::string_view spec, DType dtype, const Shape& shape = kAny) {
  auto t = parse_feed(spec, dtype, shape);
  INFO(spec << ": " << t.status().message());
  REQUIRE(t.ok());
  CHECK(t->dtype() == dtype);
  CHECK(t->shape().compatible_with(shape));
  return t.take();
}

std::string text(std::string_view spec, DType dtype, const Shape& shape = kAny) {
  return print_tensor(fed(spec, dtype, shape));
}

std::string failure(std::string_view spec, DType dtype, const Shape& shape = kAny) {
  auto t = parse_feed(spec, dtype, shape);
  INFO(spec);
  REQUIRE_FALSE(t.ok());
  return t.status().message();
}

/// A file in a folder of its own that goes away.
class TempFile {
 public:
  explicit TempFile(std::string name) {
    char folder[] = "/tmp/emplace_feed_XXXXXX";
    REQUIRE(mkdtemp(folder));
    folder_ = folder;
    path = folder_ + "/" + std::move(name);
  }
  ~TempFile() { std::filesystem::remove_all(folder_); }
  std::string path;

 private:
  std::string folder_;
};

TEST_CASE("a fed number is a scalar, several are a vector or take the wanted shape") {
  CHECK(text("3.5", DType::kFloat) == "3.5");
  CHECK(text("-7", DType::kInt32, {}) == "-7");
  CHECK(text("1 2 3", DType::kFloat, {-1}) == "[1. 2. 3.]");
  CHECK(text("1, 2,3 4", DType::kInt64, {2, 2}) == "[[1 2]\n [3 4]]");
  CHECK(text("5", DType::kInt32, {1, 1}) == "[[5]]");
  CHECK(failure("1 2 3", DType::kInt32, {2, 2}) == "'1 2 3': found shape [3], wanted [2,2]");
  CHECK(failure("1", DType::kInt32, {2}) == "'1': found shape [], wanted [2]; write '2xint32=1' to repeat it");
  CHECK(failure("", DType::kInt32) == "the value is empty");
}

TEST_CASE("a fed value may say its shape and type") {
  CHECK(text("2x3xf32=1 2 3 4 5 6", DType::kFloat) == "[[1. 2. 3.]\n [4. 5. 6.]]");
  CHECK(text("f32=2", DType::kFloat, {}) == "2.0");
  CHECK(text("2x2xint32=7", DType::kInt32, {-1, 2}) == "[[7 7]\n [7 7]]");
  CHECK(text("0x3xf64=1", DType::kDouble) == "[]");
  CHECK(text("2xbool=true False", DType::kBool) == "[ True False]");
  CHECK(text("2xbf16=1.5 2", DType::kBFloat16) == "[1.5 2]");
  CHECK(text("2xstring=a b", DType::kString) == "[b'a' b'b']");
  CHECK(failure("2x3xf32=1 2 3 4 5", DType::kFloat) == "found 5 elements, wanted 6 for shape [2,3]");
  CHECK(failure("2xf32=1 2", DType::kInt32) == "found dtype float32, wanted int32");
  CHECK(failure("2xf32=1 2", DType::kFloat, {3}) == "found shape [2], wanted [3]");
  CHECK(failure("9999999999x9999999999xf32=0", DType::kFloat).find("too many elements") != std::string::npos);
  CHECK(failure("1000000000x1000000xf32=0", DType::kFloat).find("out of host memory") != std::string::npos);
}

TEST_CASE("fed numbers must be of the type and fit it") {
  CHECK(failure("abc", DType::kFloat) == "'abc' is not of type float32");
  CHECK(failure("1.5", DType::kInt32) == "'1.5' is not of type int32");
  CHECK(failure("300", DType::kUInt8) == "300 does not fit uint8");
  CHECK(failure("-1", DType::kUInt8) == "-1 does not fit uint8");
  CHECK(failure("-129", DType::kInt8) == "-129 does not fit int8");
  CHECK(failure("1e39", DType::kFloat) == "1e39 does not fit float32");
  CHECK(failure("70000", DType::kHalf) == "70000 does not fit float16");
  CHECK(failure("2", DType::kBool) == "'2' is not of type bool");
  CHECK(failure("+-1", DType::kInt32) == "'+-1' is not of type int32");
  CHECK(text("+5", DType::kInt32) == "5");
  CHECK(text("18446744073709551615", DType::kUInt64) == "18446744073709551615");
  CHECK(text("nan inf -Infinity", DType::kFloat) == "[ nan  inf -inf]");
  CHECK(text("1e-50", DType::kFloat) == "0.0");
  CHECK(text("1e-45", DType::kFloat) == "1e-45");
  CHECK(text("1+2j -3j 4 1e-1-infj", DType::kComplex64) == "[1.  +2.j 0.  -3.j 4.  +0.j 0.1-infj]");
  CHECK(failure("1+2", DType::kComplex128) == "'1+2' is not of type complex128");
}

TEST_CASE("halves are rounded once from the decimal text") {
  // Just above the middle between two halves; rounding to float first would make it the middle, and then even.
  CHECK(fed("1.00048828126", DType::kHalf).data<half>()->bits == 0x3c01);
  CHECK(fed("1.00048828125", DType::kHalf).data<half>()->bits == 0x3c00);
  CHECK(fed("1.000488281250001", DType::kHalf).data<half>()->bits == 0x3c01);
  CHECK(fed("1.0039062500001", DType::kBFloat16).data<bfloat16>()->bits == 0x3f81);
}

TEST_CASE("fed strings are the whole text") {
  CHECK(text("hello, world", DType::kString) == "b'hello, world'");
  CHECK(text("zeros", DType::kString) == "b'zeros'");
  CHECK(text("", DType::kString) == "b''");
  CHECK(text("[\"a\", \"b c\"]", DType::kString, {2}) == "[b'a' b'b c']");
  CHECK(failure("a", DType::kString, {2}) == "found shape [], wanted [2]");
}

TEST_CASE("zeros, ones and random numbers need a shape") {
  CHECK(text("zeros", DType::kFloat, {2}) == "[0. 0.]");
  CHECK(text("ones", DType::kInt32, {2, 1}) == "[[1]\n [1]]");
  CHECK(text("ones", DType::kBool, {}) == "True");
  CHECK(text("2xf32=ones", DType::kFloat, {-1}) == "[1. 1.]");
  CHECK(failure("zeros", DType::kFloat, {-1, 3}) ==
        "the shape is not fully known ([?,3]); write it, as in '2x3xfloat32=zeros'");
  Tensor a = fed("random:7", DType::kFloat, {1000});
  CHECK(same_bytes(a, fed("random:7", DType::kFloat, {1000})));
  CHECK_FALSE(same_bytes(a, fed("random:8", DType::kFloat, {1000})));
  double sum = 0;
  for (float v : a.flat<float>()) {
    REQUIRE((v >= 0 && v < 1));
    sum += static_cast<double>(v);
  }
  CHECK(std::fabs(sum / 1000 - 0.5) < 0.05);
  Tensor digits = fed("random:1", DType::kInt32, {100});
  for (int32_t v : digits.flat<int32_t>()) REQUIRE((v >= 0 && v < 10));
  CHECK(failure("random:x", DType::kFloat, {2}).find("has no whole number as its seed") != std::string::npos);
}

TEST_CASE("fed lists are JSON") {
  CHECK(text("[[1, 2.5], [3, -0.0]]", DType::kFloat, {2, -1}) == "[[ 1.   2.5]\n [ 3.  -0. ]]");
  CHECK(text("[]", DType::kFloat) == "[]");
  CHECK(text("[\"NaN\", \"-Infinity\"]", DType::kDouble) == "[ nan -inf]");
  CHECK(text("[3.0, 4]", DType::kInt32) == "[3 4]");
  CHECK(failure("[[1, 2], [3]]", DType::kFloat) == "the value: found [3], wanted a list of 2 as its neighbours are");
  CHECK(failure("[1, [2]]", DType::kFloat) == "the value: found [2], wanted an element as its neighbours are");
  CHECK(failure("[1, 2.5]", DType::kInt32) == "the value: found 2.5, wanted int32");
  CHECK(failure("[300]", DType::kInt8) == "the value: 300 does not fit int8");
  CHECK(failure("[1e39]", DType::kFloat) == "the value: found 1e+39, wanted float32");
  CHECK(failure("[1]", DType::kString) == "the value: found 1, wanted text or {\"base64\": ...}");
  CHECK(failure("[1, 2", DType::kFloat).starts_with("the value:1:6: not JSON: "));
  CHECK(failure("[1, 2]", DType::kFloat, {3}) == "[1, 2]: found shape [2], wanted [3]");
  CHECK_FALSE(parse_feed(std::string(100000, '['), DType::kFloat, kAny).ok());
  CHECK_FALSE(parse_feed(std::string(300, '[') + std::string(300, ']'), DType::kFloat, kAny).ok());
}

TEST_CASE("a JSON file holds a list or a tensor as run prints it") {
  TempFile file("x.json");
  auto read = [&](const char* json, DType dtype) {
    std::ofstream(file.path) << json;
    auto t = parse_feed("@" + file.path, dtype, kAny);
    return t.ok() ? print_tensor(*t) : t.status().message();
  };
  CHECK(read("[1, 2]", DType::kFloat) == "[1. 2.]");
  CHECK(read("7", DType::kInt64) == "7");
  CHECK(read(R"({"name": "y:0", "dtype": "float32", "shape": [2, 2], "data": [22, 28, 49, "NaN"]})", DType::kFloat) ==
        "[[22. 28.]\n [49. nan]]");
  CHECK(read(R"({"dtype": "complex64", "shape": [1], "data": [[1, -2]]})", DType::kComplex64) == "[1.-2.j]");
  CHECK(read(R"({"shape": [2], "data": ["text", {"base64": "AP8="}]})", DType::kString) == "[b'text' b'\\x00\\xff']");
  CHECK(read(R"({"data": [[1], [2]]})", DType::kInt8) == "[[1]\n [2]]");
  CHECK(read(R"({"shape": [0, 3], "data": []})", DType::kFloat) == "[]");
  CHECK(read(R"({"dtype": "int32", "data": [1]})", DType::kFloat) == file.path + ": found dtype int32, wanted float32");
  CHECK(read(R"({"shape": [3], "data": [1]})", DType::kFloat) ==
        file.path + ": found 1 data for shape [3], wanted a flat list of 3");
  CHECK(read(R"({"shape": [4611686018427387904, 4], "data": [1]})", DType::kFloat).find("wanted a flat list") !=
        std::string::npos);
  CHECK(read(R"({"shape": [-1], "data": [1]})", DType::kFloat) == file.path + ": found -1, wanted a size");
  CHECK(read(R"({"shap": [1], "data": [1]})", DType::kFloat).find("unknown key \"shap\"") != std::string::npos);
  CHECK(read(R"({"shape": [1]})", DType::kFloat) == file.path + ": a tensor object lacks \"data\"");
  CHECK(read(R"([{"base64": "!"}])", DType::kString).find("wanted text") != std::string::npos);
}

TEST_CASE("NumPy's files are fed, converted where the kind of number stays") {
  TempFile file("x.npy");
  std::vector<double> values = {1.5, -2};
  REQUIRE(write_npy(file.path, Tensor::of<double>({2}, values)).ok());
  CHECK(text("@" + file.path, DType::kFloat, {-1}) == "[ 1.5 -2. ]");
  CHECK(text("@" + file.path, DType::kHalf) == "[ 1.5 -2. ]");
  CHECK(failure("@" + file.path, DType::kInt32) == "found dtype float64, wanted int32");
  CHECK(failure("@" + file.path, DType::kFloat, {3}) == "@" + file.path + ": found shape [2], wanted [3]");
  std::vector<int64_t> whole = {3, 300};
  REQUIRE(write_npy(file.path, Tensor::of<int64_t>({2}, whole)).ok());
  CHECK(text("@" + file.path, DType::kInt32) == "[  3 300]");
  CHECK(text("@" + file.path, DType::kFloat) == "[  3. 300.]");
  CHECK(failure("@" + file.path, DType::kInt8) == "found 300 at position 1, which does not fit int8");
  CHECK(failure("@" + file.path, DType::kBool) == "found dtype int64, wanted bool");
  CHECK(failure("@/nowhere.npy", DType::kFloat) == "cannot read '/nowhere.npy': No such file or directory");
}

TEST_CASE("an array of an archive is fed by its key, the only one without") {
  TempFile file("b.npz");
  Tensor a = Tensor::scalar(1.0f), b = Tensor::scalar(2.0f);
  REQUIRE(write_npz(file.path, {{"a", a}, {"b", b}}).ok());
  CHECK(text("@" + file.path + ":b", DType::kFloat) == "2.0");
  CHECK(failure("@" + file.path, DType::kFloat).find("holds 2 arrays; choose one with") != std::string::npos);
  CHECK(failure("@" + file.path + ":c", DType::kFloat).find("it has a, b") != std::string::npos);
  REQUIRE(write_npz(file.path, {{"a", a}}).ok());
  CHECK(text("@" + file.path, DType::kFloat) == "1.0");
}

}  // namespace
}  // namespace emplace
