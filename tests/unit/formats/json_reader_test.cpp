// JsonReader against an independent JSON reader: the same texts are accepted, with the same values.
#include "core/formats/json_reader.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "core/formats/element_buffer.h"

using namespace emplace;
using nlohmann::json;

namespace {

json read_value(JsonReader& r) {
  switch (r.peek()) {
    case JsonReader::Kind::kNull:
      r.take_null();
      return nullptr;
    case JsonReader::Kind::kBool:
      return r.take_bool();
    case JsonReader::Kind::kNumber: {
      Result<double> value = number_as_double(r.take_number());
      return value.ok() ? json(*value) : json(INFINITY);
    }
    case JsonReader::Kind::kString:
      return std::string(r.take_string());
    case JsonReader::Kind::kArray: {
      json out = json::array();
      for (r.enter_array(); r.next_element();) out.push_back(read_value(r));
      return out;
    }
    case JsonReader::Kind::kObject: {
      json out = json::object();
      r.enter_object();
      for (std::string_view key; r.next_key(key);) out[std::string(key)] = read_value(r);
      return out;
    }
    case JsonReader::Kind::kError:
      r.skip();
      break;
  }
  return nullptr;
}

struct Read {
  bool good = false;
  json value;
  std::string error;
};

Read ours(std::string text) {
  Problems problems;
  TextArena arena;
  auto source = Source::from_text("t", std::move(text));
  JsonReader r(source->text(), problems, arena);
  json value = read_value(r);
  r.finish();
  return {problems.empty(), std::move(value), problems.to_string(*source)};
}

bool ours_skips(const std::string& text) {
  Problems problems;
  TextArena arena;
  JsonReader r(text, problems, arena);
  r.skip();
  r.finish();
  return problems.empty();
}

json doubles(json value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_structured()) {
    for (auto& member : value) member = doubles(member);
  }
  return value;
}

// Numbers that overflow double are well-formed text; what they are wanted for decides whether they are a problem.
void compare(const std::string& text) {
  Read mine = ours(text);
  CAPTURE(text, mine.error);
  json theirs;
  try {
    theirs = json::parse(text, nullptr, true, true);
  } catch (const json::out_of_range&) {
    return;
  } catch (const json::parse_error& e) {
    CAPTURE(e.what());
    CHECK_FALSE(mine.good);
    CHECK_FALSE(ours_skips(text));
    return;
  }
  CHECK(mine.good);
  CHECK(ours_skips(text));
  CHECK(mine.value == doubles(theirs));
}

}  // namespace

TEST_CASE("the reader accepts and rejects what another JSON reader does") {
  const char* texts[] = {"{}",
                         "[]",
                         "null",
                         "true",
                         "false",
                         "0",
                         "-0",
                         "1.5e-3",
                         "\"\"",
                         "[1,2,3]",
                         "[1,2,]",
                         "[,1]",
                         "[1 2]",
                         "{\"a\":1,}",
                         "{\"a\" 1}",
                         "{a:1}",
                         "{\"a\":1 \"b\":2}",
                         "{\"a\":1,\"b\":[{},[],{\"c\":null}]}",
                         "01",
                         "-01",
                         "1.",
                         ".5",
                         "-",
                         "+1",
                         "1e",
                         "1e+",
                         "1e5",
                         "1E-5",
                         "0e0",
                         "00",
                         "--1",
                         "1.2.3",
                         "nul",
                         "nulll",
                         "tru",
                         "True",
                         "NaN",
                         "Infinity",
                         "'a'",
                         "\"a",
                         "\"a\nb\"",
                         "\"\t\"",
                         "\"\\t\\n\\r\\b\\f\\/\\\\\\\"\"",
                         "\"\\x\"",
                         "\"\\u00e4\"",
                         "\"\\u12\"",
                         "\"\\ud83d\\ude00\"",
                         "\"\\ud83d\"",
                         "\"\\ude00\"",
                         "\"\\ud83d\\u0041\"",
                         "\"\\u0000\"",
                         "\"\xc3\xa4\"",
                         "\"\xc3\"",
                         "\"\xff\"",
                         "\"\xc0\x80\"",
                         "\"\xed\xa0\x80\"",
                         "\"\xf0\x9f\x98\x80\"",
                         "\"\xf4\x90\x80\x80\"",
                         "\"\xe0\x80\x80\"",
                         "// c\n{}",
                         "{} // c",
                         "/* c */ [1, /* d */ 2]",
                         "/* c",
                         "/ 1",
                         "[1]//",
                         "[/**/]",
                         "{/* a */}",
                         "[1]]",
                         "{}}",
                         "[1}",
                         "{\"a\":1]",
                         "",
                         "   ",
                         "\xef\xbb\xbf{}",
                         "[1],",
                         "{\"a\":{\"a\":{\"a\":[[[]]]}}}",
                         "[\"a\",\"b\" ,\n\"c\"]",
                         "\"0123456789abcdef\"",
                         "\"0123456789abcde\\u00e40123456789abcdef\"",
                         "[1e400]",
                         "[123456789012345678901234567890]",
                         "{\"\":1}",
                         "{\"a\\u0062\":1}",
                         "[true false]",
                         "[nulL]",
                         "\x01"};
  for (const char* text : texts) compare(text);
}

TEST_CASE("texts with random damage are judged as another JSON reader judges them") {
  const std::string base =
      R"({"node": [{"name": "a\u00e4", "op": "Const", "x": [1, -2.5e3, true, null, {"k": []}]}, /* c */ {"s": "tÄxt\\"}], "v": 0.125} // end)";
  const std::string alphabet = "{}[]\",:\\/*u0123456789eE+-.tfn \n\xc3\xa4\xff";
  std::mt19937 random(20260101);
  for (int round = 0; round < 6000; ++round) {
    std::string text = base;
    for (uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          text.erase(at, 1 + random() % 4);
          break;
        case 2:
          text.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
        default:
          text.resize(at + 1);
          break;
      }
      if (text.empty()) text.push_back(' ');
    }
    compare(text);
  }
}

TEST_CASE("nesting has a limit, which is an error and no overflow of the stack") {
  auto nested = [](size_t depth) {
    std::string text(depth, '[');
    text.resize(2 * depth, ']');
    return text;
  };
  CHECK(ours(nested(JsonReader::kMaxDepth)).good);
  CHECK_FALSE(ours(nested(JsonReader::kMaxDepth + 1)).good);
  CHECK_FALSE(ours_skips(std::string(1000000, '[')));
}

TEST_CASE("an error says where the open list began and what to do") {
  CHECK(ours("[1,\n [2,").error.find("t:2:5: the file ends inside the list that began in line 2") == 0);
  CHECK(ours("[1,]").error.find("t:1:3: a comma before ']'") == 0);
  CHECK(ours("[NaN]").error.find("in quotes") != std::string::npos);
  CHECK(ours("\xff\xfe[\0").error.find("UTF-16") != std::string::npos);
}

TEST_CASE("glance shows an object that ends soon and takes nothing") {
  Problems problems;
  TextArena arena;
  JsonReader r(R"({"a": "}\"{", "b": [1]} 2)", problems, arena);
  CHECK(r.glance(100) == R"({"a": "}\"{", "b": [1]})");
  CHECK(r.glance(10).empty());
  CHECK(r.position() == 0);
  CHECK(r.skip().size() == 23);
}
