#include "core/graph/attr_position.h"

#include <catch2/catch.hpp>
#include <string>

using emplace::attr_position;

namespace {

/// What stands where `attr` of the first node is found.
std::string found(const std::string& text, std::string_view attr, size_t length) {
  const auto name = static_cast<int64_t>(text.find("\"n\""));
  return text.substr(static_cast<size_t>(attr_position(text, name, attr)), length);
}

}  // namespace

TEST_CASE("an attr is found behind the name, over comments, nested values and texts that look like syntax") {
  const std::string text =
      R"({"name": "n", /* "attr": {"T": 0} */ "input": ["a}", "\"{", [1, {"attr": {"T": 1}}]], // "attr"
    "op": "Neg", "attr": {"shape": {"dim": [{"size": "2"}]}, "T" : "float32", "x": null}}, {"name": "m", "attr": {"N": 1}})";
  CHECK(found(text, "T", 5) == "\"T\" :");
  CHECK(found(text, "shape", 8) == "\"shape\":");
  CHECK(found(text, "x", 3) == "\"x\"");
}

TEST_CASE("an attr that is not behind the name is where the name is") {
  CHECK(found(R"({"attr": {"T": 1}, "name": "n"})", "T", 3) == "\"n\"");
  CHECK(found(R"({"name": "n"}, {"name": "m", "attr": {"T": 1}})", "T", 3) == "\"n\"");
  CHECK(found(R"({"name": "n", "attr": {"N": 1}})", "T", 3) == "\"n\"");
  CHECK(attr_position("", 0, "T") == 0);
  CHECK(attr_position("{\"name\": \"n", 9, "T") == 9);
}
