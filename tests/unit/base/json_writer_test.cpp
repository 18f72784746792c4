#include "core/base/json_writer.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

using emplace::JsonWriter;

namespace {
std::string string_text(std::string_view s) {
  std::string out;
  emplace::append_json_string(out, s);
  return out;
}
}  // namespace

TEST_CASE("JSON is written with commas and nesting") {
  std::string out;
  JsonWriter w(out);
  w.begin_object().member("a", 1).key("b").begin_array().value("x").value(true).null().end_array();
  w.key("c").begin_object().end_object().end_object();
  CHECK(out == R"({"a": 1, "b": ["x", true, null], "c": {}})");
}

TEST_CASE("indented JSON has one member a line, but for compact parts") {
  std::string out;
  JsonWriter w(out, 2);
  w.begin_array();
  w.begin_object().member("a", 1).key("shape").begin_array().compact().value(2).value(3).end_array();
  w.member("z", 0).end_object();
  w.begin_array().end_array();
  w.begin_object().compact().key("x").begin_array().compact().value(1).end_array().member("y", 2).end_object();
  w.end_array();
  CHECK(out == "[\n  {\n    \"a\": 1,\n    \"shape\": [2, 3],\n    \"z\": 0\n  },\n  [],\n  {\"x\": [1], \"y\": 2}\n]");
}

TEST_CASE("numbers read back to the same value, and non-finite ones are protobuf's texts") {
  std::string out;
  JsonWriter w(out);
  w.begin_array().value(0.1f).value(0.1).value(1e300).value(-0.0);
  w.value(std::numeric_limits<float>::infinity()).value(-std::numeric_limits<double>::infinity());
  w.value(std::numeric_limits<double>::quiet_NaN()).value(std::numeric_limits<int64_t>::min()).end_array();
  CHECK(out == R"([0.1, 0.1, 1e+300, -0.0, "Infinity", "-Infinity", "NaN", -9223372036854775808])");
}

TEST_CASE("strings are escaped so that any reader accepts them") {
  CHECK(string_text("a\"b\\c\n\t\r") == R"("a\"b\\c\n\t\r")");
  CHECK(string_text(std::string_view("\0\x1f\x7f", 3)) == R"("\u0000\u001f\u007f")");
  CHECK(string_text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") == "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
  SECTION("bytes that are not UTF-8 become U+FFFD") {
    CHECK(string_text("\xff") == R"("\ufffd")");
    CHECK(string_text("\xc3") == R"("\ufffd")");
    CHECK(string_text("\xc0\x80") == R"("\ufffd\ufffd")");
    CHECK(string_text("\xed\xa0\x80") == R"("\ufffd\ufffd\ufffd")");
  }
  SECTION("every pair of bytes gives text that a strict parser reads") {
    for (int a = 0; a < 256; ++a) {
      for (int b = 0; b < 256; ++b) {
        char two[2] = {static_cast<char>(a), static_cast<char>(b)};
        if (!nlohmann::json::accept(string_text({two, 2}))) FAIL("bytes " << a << ", " << b);
      }
    }
  }
}
