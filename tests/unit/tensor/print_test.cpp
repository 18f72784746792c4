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
