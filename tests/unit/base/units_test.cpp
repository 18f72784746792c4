#include "core/base/units.h"

#include <catch2/catch.hpp>

using namespace emplace;

TEST_CASE("sizes are read in binary and decimal units") {
  CHECK(*parse_size("4GiB") == int64_t{4} << 30);
  CHECK(*parse_size("1.5 MiB") == 3 << 19);
  CHECK(*parse_size("64KiB") == 65536);
  CHECK(*parse_size("2MB") == 2'000'000);
  CHECK(*parse_size("4096") == 4096);
  CHECK(*parse_size("0") == 0);
}

TEST_CASE("what is not a size is refused") {
  for (const char* text : {"", "GiB", "-1MiB", "4 gib", "1e3", "nan", "99999999TiB", "4GiBx"}) {
    INFO(text);
    CHECK_FALSE(parse_size(text).ok());
  }
}

TEST_CASE("sizes are shown in the largest unit that they fill") {
  CHECK(size_text(0) == "0 B");
  CHECK(size_text(1023) == "1023 B");
  CHECK(size_text(14'889'779) == "14.2 MiB");
}

TEST_CASE("a share is shown in the unit of the whole, unless it would read as nothing") {
  CHECK(share_text(int64_t{51} << 30, int64_t{160} << 30) == "51.0/160.0 GiB");
  CHECK(share_text(96, int64_t{16} << 30) == "96 B/16.0 GiB");
  CHECK(share_text(96, 0) == "96 B");
}
