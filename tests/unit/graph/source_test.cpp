// Source and Problems: where things are, and how a message shows them.
#include "core/graph/source.h"

#include <catch2/catch.hpp>
#include <fstream>

using namespace emplace;

TEST_CASE("a position becomes a line and a column") {
  auto s = Source::from_text("f", "ab\ncd\r\n\nx");
  CHECK(s->locate(0).line == 1);
  CHECK(s->locate(4).line == 2);
  CHECK(s->locate(4).column == 2);
  CHECK(s->locate(4).line_text == "cd");
  CHECK(s->locate(8).line == 4);
  CHECK(s->locate(99).line_text == "x");
}

TEST_CASE("problems are shown by position, with line, caret and hint") {
  auto s = Source::from_text("g.json", "{\n\t\"ä\": 1 }\n");
  Problems p;
  p.add(9, "late", "do that");
  p.add(0, "early");
  CHECK(p.to_string(*s) ==
        "g.json:1:1: early\n{\n^\n"
        "g.json:2:8: late\n\t\"ä\": 1 }\n\t     ^\n  hint: do that\n");
}

TEST_CASE("a long line is cut around the column, not inside a character") {
  std::string line;
  for (int i = 0; i < 300; ++i) line += "ä";
  auto s = Source::from_text("g", line);
  Problems p;
  p.add(300, "m");
  std::string text = p.to_string(*s);
  CHECK(text.size() < 300);
  std::string shown = text.substr(text.find('\n') + 1);
  CHECK(shown.starts_with("...\xc3\xa4"));
  CHECK(shown.substr(0, shown.find('\n')).ends_with("\xc3\xa4..."));
}

TEST_CASE("a hundred problems are shown and the others counted") {
  auto s = Source::from_text("g", "x");
  Problems p;
  for (int i = 0; i < 130; ++i) p.add(0, "bad");
  CHECK(p.count() == 130);
  CHECK(p.list().size() == 100);
  CHECK(p.to_string(*s).ends_with("g: and 30 more problems\n"));
}

TEST_CASE("a file that cannot be read is an error in the system's words") {
  auto missing = Source::open("/nowhere/at/all.json");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.status().code() == Code::kNotFound);
  CHECK(missing.status().message() == "/nowhere/at/all.json: No such file or directory");
  CHECK_FALSE(Source::open("/tmp").ok());
}

TEST_CASE("small and large files are read whole") {
  for (size_t size : {size_t{0}, size_t{10}, size_t{300 * 1024}}) {
    std::string path = "source_test.tmp", text(size, 'x');
    std::ofstream(path) << text;
    auto s = Source::open(path);
    REQUIRE(s.ok());
    CHECK((*s)->text() == text);
    std::remove(path.c_str());
  }
}
