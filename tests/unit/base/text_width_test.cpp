// Widths on a terminal, and texts of which the middle is left out.
#include "core/base/text_width.h"

#include <catch2/catch.hpp>

using namespace emplace;

TEST_CASE("a text is as wide as a terminal shows it") {
  CHECK(text_width("") == 0);
  CHECK(text_width("layer/mm") == 8);
  CHECK(text_width("\u00e9") == 1);   // one letter with its accent
  CHECK(text_width("e\u0301") == 1);  // a letter, and an accent that joins it
  CHECK(text_width("\u5c42/\u77e9\u9635") == 7);
  CHECK(text_width("\U0001F600") == 2);
  CHECK(text_width("\uff11") == 2);  // a full-width digit
  CHECK(text_width("\u200d") == 0);
  CHECK(text_width("\xff"
                   "a\xe5\xb1") == 3);  // bytes that are no character
}

TEST_CASE("without its middle a text is never too wide, and no character is cut") {
  CHECK(without_middle("abcdefghij", 10) == "abcdefghij");
  CHECK(without_middle("abcdefghijk", 10) == "abcd...ijk");
  CHECK(without_middle("\u4e00\u4e01\u4e02\u4e03\u4e04\u4e05", 12) == "\u4e00\u4e01\u4e02\u4e03\u4e04\u4e05");
  CHECK(without_middle("\u4e00\u4e01\u4e02\u4e03\u4e04\u4e05", 10) == "\u4e00\u4e01...\u4e05");
  CHECK(without_middle("aaaae\u0301e\u0301bbbb", 9) == "aaa...bbb");
  const std::string mixed = "x\u4e00y\u4e01z\u4e02e\u0301w\U0001F600q\u4e03";
  for (size_t width = 5; width <= text_width(mixed); ++width) CHECK(text_width(without_middle(mixed, width)) <= width);
}
