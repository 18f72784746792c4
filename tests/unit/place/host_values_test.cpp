// Variants that live in host memory only: how far that reaches.
#include <catch2/catch.hpp>
#include <string>

#include "tests/unit/place/place_fixture.h"

using namespace emplace;

namespace {

/// "l": a list of strings, which no GPU holds.
constexpr const char* kListOfStrings = R"(
    {"name": "shape", "op": "Const", "attr": {"value": {"dtype": "int32", "shape": [0], "fill": 0}}},
    {"name": "most", "op": "Const", "attr": {"value": {"dtype": "int32", "shape": [], "data": [3]}}},
    {"name": "l", "op": "EmptyTensorList", "input": ["shape", "most"], "attr": {"element_dtype": "string", "shape_type": "int32"}},)";

std::string identity(const std::string& name, const std::string& inputs, const std::string& more = "") {
  return R"({"name": ")" + name + R"(", "op": "Identity", "input": [)" + inputs + "]" + more + "}";
}

}  // namespace

TEST_CASE("a list of strings keeps every node that passes it on in host memory") {
  PlacedGraph g(kListOfStrings + identity("a", R"("l")") + "," + identity("b", R"("a")") + "," +
                identity("c", R"("b")"));
  g.place();
  for (const char* node : {"a", "b", "c"}) {
    CHECK(g.device(node) == "CPU:0");
    CHECK(g.reason(node) == "host_variant");
  }
}

TEST_CASE("a control edge from a list of strings does, too, as in TensorFlow") {
  PlacedGraph g(kListOfStrings + std::string(R"({"name": "v", "op": "Placeholder", "attr": {"dtype": "variant"}},)") +
                identity("behind", R"("v", "^l")") + "," + identity("free", R"("v")"));
  g.place();
  CHECK(g.reason("behind") == "host_variant");
  CHECK(g.device("free") == "GPU:0");
}

TEST_CASE("a group that such a node joins last lives in host memory because of it") {
  const std::string group = R"(, "attr": {"_class": ["loc:@g"]})";
  PlacedGraph g(R"({"name": "x", "op": "NoOp")" + group + R"(}, {"name": "y", "op": "NoOp")" + group + "}," +
                kListOfStrings + identity("p", R"("l")", group));
  g.place();
  for (const char* node : {"x", "y", "p"}) CHECK(g.device(node) == "CPU:0");
  CHECK(g.reason("p") == "host_variant");
  CHECK(g.reason("y") == "colocated");
}
