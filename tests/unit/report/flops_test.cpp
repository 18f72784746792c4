#include "core/report/bench/flops.h"

#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "tests/unit/place/place_fixture.h"

using namespace emplace;

namespace {

/// A placeholder of float32.
std::string fed(std::string_view name, std::string_view shape) {
  return cat(R"({"name": ")", name, R"(", "op": "Placeholder", "attr": {"dtype": "float32", "shape": )", shape,
             "}},\n");
}

int64_t work_of_y(const std::string& inputs, const std::string& node) {
  const PlacedGraph g(inputs + R"({"name": "y", )" + node + "}");
  return flops_of(g.file->graph, g.id("y")).value_or(-1);
}

}  // namespace

TEST_CASE("work of products: batches count once each, whatever is transposed", "[bench]") {
  const std::string matrices = fed("a", "[2, 3]") + fed("b", "[4, 3]");
  CHECK(work_of_y(matrices, R"("op": "MatMul", "input": ["a", "b"], "attr": {"transpose_b": true})") == 2 * 2 * 3 * 4);
  const std::string batches = fed("a", "[5, 8, 2, 3]") + fed("b", "[5, 8, 3, 4]");
  CHECK(work_of_y(batches, R"("op": "BatchMatMulV2", "input": ["a", "b"])") == 2 * 5 * 8 * 2 * 3 * 4);
  const std::string stretched = fed("a", "[5, 1, 2, 3]") + fed("b", "[8, 3, 4]");
  CHECK(work_of_y(stretched, R"("op": "BatchMatMulV2", "input": ["a", "b"])") == 2 * 5 * 8 * 2 * 3 * 4);
  CHECK(work_of_y(fed("a", "[0, 3]") + fed("b", "[3, 4]"), R"("op": "MatMul", "input": ["a", "b"])") == 0);
}

TEST_CASE("work of sums of products: all combinations of letters", "[bench]") {
  const auto einsum = [](const char* a, const char* b, const char* equation) {
    return work_of_y(fed("a", a) + fed("b", b),
                     cat(R"("op": "Einsum", "input": ["a", "b"], "attr": {"equation": ")", equation, "\"}"));
  };
  CHECK(einsum("[2, 3, 4]", "[4, 5, 6]", "abc,cde->abde") == 2 * 2 * 3 * 4 * 5 * 6);
  CHECK(einsum("[2, 7, 3, 4]", "[4, 5]", "...ab,bc->...ac") == 2 * 2 * 7 * 3 * 4 * 5);
  CHECK(einsum("[2, 3]", "[3, 0]", "ab,bc->ac") == 0);
}

TEST_CASE("work of convolutions: gradients have as much as what they are of", "[bench]") {
  const int64_t forward = 2 * 2 * 8 * 8 * 5 * 9 * 3;  // image [2,8,8,3], filter [3,3,3,5]
  const std::string all = fed("x", "[2, 8, 8, 3]") + fed("f", "[3, 3, 3, 5]") + fed("dy", "[2, 8, 8, 5]") +
                          R"({"name": "xs", "op": "Const", "attr": {"dtype": "int32", "value": [2, 8, 8, 3]}},)"
                          R"({"name": "fs", "op": "Const", "attr": {"dtype": "int32", "value": [3, 3, 3, 5]}},)";
  const std::string attrs = R"(, "attr": {"strides": [1, 1, 1, 1], "padding": "SAME"})";
  CHECK(work_of_y(all, R"("op": "Conv2D", "input": ["x", "f"])" + attrs) == forward);
  CHECK(work_of_y(all, R"("op": "Conv2DBackpropInput", "input": ["xs", "f", "dy"])" + attrs) == forward);
  CHECK(work_of_y(all, R"("op": "Conv2DBackpropFilter", "input": ["x", "fs", "dy"])" + attrs) == forward);
  const std::string planes = fed("x", "[2, 3, 8, 8]") + fed("f", "[3, 3, 3, 5]");
  CHECK(work_of_y(planes, R"("op": "Conv2D", "input": ["x", "f"], "attr": {"strides": [1, 1, 1, 1], "padding": "SAME",)"
                          R"( "data_format": "NCHW"})") == forward);
  const std::string each = fed("x", "[2, 8, 8, 3]") + fed("f", "[3, 3, 3, 2]");
  CHECK(work_of_y(each, R"("op": "DepthwiseConv2dNative", "input": ["x", "f"])" + attrs) == 2 * 2 * 8 * 8 * 6 * 9);
}
