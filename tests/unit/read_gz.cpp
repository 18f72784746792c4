#include "tests/unit/read_gz.h"

#include <zlib.h>

#include <catch2/catch.hpp>

#include "tests/unit/source_dir.h"

std::string read_gz(const std::string& path) {
  gzFile file = gzopen((source_dir() + "/tests/data/" + path).c_str(), "rb");
  INFO(path);
  REQUIRE(file != nullptr);
  std::string out;
  char buffer[1 << 16];
  int n = 0;
  while ((n = gzread(file, buffer, sizeof buffer)) > 0) out.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  REQUIRE(n == 0);
  return out;
}
