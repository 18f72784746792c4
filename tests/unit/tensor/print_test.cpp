#include "core/tensor/print.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/source_dir.h"

using namespace emplace;
using nlohmann::json;

namespace {

std::string from_base64(const std::string& text) {
  static const std::string kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    size_t v = kAlphabet.find(c);
    if (v == std::string::npos) continue;
    bits = bits << 6 | static_cast<uint32_t>(v);
    if ((count += 6) >= 8) out += static_cast<char>(bits >> (count -= 8));
  }
  return out;
}

Tensor tensor_of(const json& c) {
  std::vector<int64_t> dims = c["shape"];
  Tensor t = Tensor::allocate(*parse_dtype(c["dtype"].get<std::string>()), Shape(dims)).take();
  if (c.contains("data_base64")) {
    std::string bytes = from_base64(c["data_base64"]);
    REQUIRE(bytes.size() == t.size_bytes());
    std::memcpy(t.raw(), bytes.data(), bytes.size());
  } else {
    for (size_t i = 0; i < c["data"].size(); ++i) {
      const json& e = c["data"][i];
      t.data<std::string>()[i] = e.is_string() ? e.get<std::string>() : from_base64(e["base64"]);
    }
  }
  return t;
}

}  // namespace

TEST_CASE("every recorded array prints as NumPy printed it") {
  std::ifstream file(source_dir() + "/tests/data/printing/cases.json");
  json document = json::parse(file);
  REQUIRE(document["cases"].size() == 195);
  for (const json& c : document["cases"]) {
    INFO(c["name"].get<std::string>());
    CHECK(print_tensor(tensor_of(c)) == c["text"].get<std::string>());
  }
}

TEST_CASE("complex numbers print as NumPy prints them") {
  using C = std::complex<float>;
  CHECK(print_tensor(Tensor::scalar(C(1, 2))) == "(1+2j)");
  CHECK(print_tensor(Tensor::scalar(C(0, -2.5f))) == "-2.5j");
  std::vector<C> values = {C(1, 2), C(-0.5f, -3.25f)};
  CHECK(print_tensor(Tensor::of<C>({2}, values)) == "[ 1. +2.j   -0.5-3.25j]");
}

TEST_CASE("scalars turn to exponents at 10 to the digits of their type") {
  CHECK(print_tensor(Tensor::scalar(999999.0f)) == "999999.0");
  CHECK(print_tensor(Tensor::scalar(1e6f)) == "1e+06");
  CHECK(print_tensor(Tensor::scalar(-14709219.0f)) == "-1.4709219e+07");
  CHECK(print_tensor(Tensor::scalar(half(999.0f))) == "999.0");
  CHECK(print_tensor(Tensor::scalar(half(5430.0f))) == "5.43e+03");
  CHECK(print_tensor(Tensor::scalar(9e15)) == "9000000000000000.0");
  CHECK(print_tensor(Tensor::scalar(1e-4f)) == "1e-04");
  CHECK(print_tensor(Tensor::scalar(1e-4)) == "0.0001");
}

TEST_CASE("the small end of fixed notation is compared in the array's type") {
  std::vector<float> floats(2, 1e-4f);
  CHECK(print_tensor(Tensor::of<float>({2}, floats)) == "[0.0001 0.0001]");
  std::vector<double> doubles(2, static_cast<double>(1e-4f));
  CHECK(print_tensor(Tensor::of<double>({2}, doubles)) == "[9.99999975e-05 9.99999975e-05]");
}

TEST_CASE("halves print the shortest digits that identify them, also above a power of two") {
  std::vector<half> values = {half(0x1p-6f), half(0x1p-14f), half(4096.0f)};
  CHECK(print_tensor(Tensor::of<half>({3}, values)) == "[1.563e-02 6.104e-05 4.096e+03]");
}
