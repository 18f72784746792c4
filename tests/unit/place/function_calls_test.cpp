// Functions that return resources and call each other: looked into once each, and not without end.
#include <catch2/catch.hpp>
#include <string>

#include "core/base/cat.h"
#include "core/place/isolate_calls.h"
#include "core/place/placement.h"
#include "tests/unit/place/place_fixture.h"

using namespace emplace;

namespace {

std::string call(std::string_view name, std::string_view input, int function) {
  return cat(
      R"({"name": ")", name, R"(", "op": "PartitionedCall", "input": [")", input,
      R"("], "attr": {"Tin": {"list": {"type": ["DT_RESOURCE"]}}, "Tout": {"list": {"type": ["DT_RESOURCE"]}}, "f": {"func": {"name": "f)",
      function, R"("}}}})");
}

// f0 passes its argument on; every other function calls the one before, `times` times.
std::string nested_calls(int functions, int times) {
  std::string library;
  for (int f = 0; f < functions; ++f) {
    std::string nodes = R"({"name": "i", "op": "Identity", "input": ["x"], "attr": {"T": {"type": "DT_RESOURCE"}}})",
                last = "i";
    for (int i = 0; f > 0 && i < times; ++i) {
      append(nodes, ", ", call(cat("c", i), cat(last, ":output:0"), f - 1));
      last = cat("c", i);
    }
    append(
        library, f ? ", " : "", R"({"signature": {"name": "f)", f,
        R"(", "inputArg": [{"name": "x", "type": "DT_RESOURCE"}], "outputArg": [{"name": "y", "type": "DT_RESOURCE"}]}, "nodeDef": [)",
        nodes, R"(], "ret": {"y": ")", last, R"(:output:0"}})");
  }
  return cat(
      R"({"node": [{"name": "v", "op": "VarHandleOp", "attr": {"dtype": {"type": "DT_FLOAT"}, "shape": {"shape": {}}}}, )",
      call("c", "v", functions - 1), R"(], "library": {"function": [)", library, "]}}");
}

Status place_text(const std::string& text) {
  Problems problems;
  const auto file = load(Source::from_text("nested", text), {}, problems);
  if (problems.empty()) validate(*file, problems);
  UNSCOPED_INFO(problems.to_string(*file->source));
  REQUIRE(problems.empty());
  isolate_calls(*file->ops, file->graph);
  const DeviceSet devices = device_set("CPU:0 GPU:0");
  std::vector<std::string> offenders;
  return place(*file, devices, {}, offenders).status();
}

}  // namespace

TEST_CASE("functions that call each other twice, 60 deep, are looked into once each") {
  CHECK(place_text(nested_calls(60, 2)).ok());
}

TEST_CASE("functions that are nested too deeply are refused") {
  CHECK(place_text(nested_calls(190, 1)).ok());
  const Status status = place_text(nested_calls(1000, 1));
  CHECK(status.code() == Code::kInvalidArgument);
  CHECK(status.message() == "functions that call each other, from 'f799' back, are nested more than 200 deep");
}
