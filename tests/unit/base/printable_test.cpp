#include "core/base/printable.h"

#include <catch2/catch.hpp>

namespace emplace {

TEST_CASE("printable: what acts on a terminal is spelled out, all else stays") {
  const std::string nul("a\0b", 3);
  CHECK(printable("plain /text_1 \\n") == "plain /text_1 \\n");
  CHECK(printable("gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80") ==
        "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80");
  CHECK(printable("\x1b[31m") == "\\x1b[31m");
  CHECK(printable(nul) == "a\\x00b");
  CHECK(printable("a\r\n\tb\x7f") == "a\\r\\n\\tb\\x7f");
  CHECK(printable("a\r\n\tb", LineEnds::kKept) == "a\\r\n\tb");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\u009b31m");        // C1: an escape of its own
  CHECK(printable("\xe2\x80\xae") == "\\u202e");  // writes from right to left
  CHECK(printable("\xe2\x81\xa6\xe2\x80\xa8\xd8\x9c") == "\\u2066\\u2028\\u061c");
  CHECK(printable("a\xff\xc3") == "a\\xff\\xc3");
}

TEST_CASE("CSV cells: quotes where they are needed, no formulas") {
  CHECK(csv_cell("a/b:0") == "a/b:0");
  CHECK(csv_cell("a,\"b\"") == "\"a,\"\"b\"\"\"");
  CHECK(csv_cell("=1+2") == "'=1+2");
  CHECK(csv_cell("+a") == "'+a");
  CHECK(csv_cell("-a") == "'-a");
  CHECK(csv_cell("@a,b") == "\"'@a,b\"");
  CHECK(csv_cell("a\nb") == "a\\nb");
  CHECK(csv_cell(" a") == "\" a\"");
}

// They are looked at eight bytes at a time, the last ones of a text together with some before.
TEST_CASE("every byte is seen, wherever it stands in a text of any length") {
  for (size_t size = 1; size <= 20; ++size) {
    for (size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, 'a');
        text[at] = static_cast<char>(byte);
        const bool plain = byte >= ' ' && byte < 0x7f;
        const bool blank_end = byte == ' ' && (at == 0 || at + 1 == size);
        const bool formula = at == 0 && (byte == '=' || byte == '+' || byte == '-' || byte == '@');
        INFO("byte " << byte << " at " << at << " of " << size);
        CHECK((printable(text) == text) == plain);
        CHECK((csv_cell(text) == text) == (plain && byte != ',' && byte != '"' && !blank_end && !formula));
      }
    }
  }
}

TEST_CASE("pages: markup and controls of a name are text") {
  CHECK(html_text("<b a=\"1\">&\x1b") == "&lt;b a=&quot;1&quot;&gt;&amp;\\x1b");
}

}  // namespace emplace
