#include "core/base/json_document.h"

#include <catch2/catch.hpp>
#include <string>

namespace emplace {

TEST_CASE("JSON: 1,000 lists inside each other are read, one more is told with its place") {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']');
  };
  CHECK(parse_json(nested(1000), "d").ok());
  CHECK(parse_json("\n" + nested(1001), "d").status().message() ==
        "d:2:1001: more than 1000 lists and objects inside each other");
  CHECK_FALSE(parse_json(std::string(10'000'000, '['), "d").ok());
  std::string objects;
  for (int i = 0; i < 1001; ++i) objects += "{\"a\":";
  CHECK_FALSE(parse_json(objects, "d").ok());
}

TEST_CASE("JSON: brackets in texts and comments are no nesting") {
  const std::string many(2000, '[');
  CHECK(parse_json("[\"\\\"" + many + "\"]", "d").ok());
  CHECK(parse_json("[1 // " + many + "\n]", "d").ok());
  CHECK(parse_json("[1 /* " + many + "*/]", "d").ok());
  CHECK(parse_json("# no", "d.json").status().message() == "d.json:1:1: not JSON: invalid literal; last read: '#'");
}

}  // namespace emplace
