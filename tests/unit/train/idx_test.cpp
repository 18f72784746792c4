#include "core/train/idx.h"

#include <zlib.h>

#include <catch2/catch.hpp>

namespace emplace {
namespace {

using namespace std::string_literals;

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

const std::string kBytes = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"s + "\x01\x02\x03\x04\x05\xff"s;

}  // namespace

TEST_CASE("IDX: bytes, plain and compressed") {
  for (const std::string& file : {kBytes, gzip(kBytes)}) {
    CHECK(looks_like_idx(file));
    Result<Tensor> t = parse_idx(file, "f");
    REQUIRE(t.ok());
    CHECK(t->dtype() == DType::kUInt8);
    CHECK(t->shape() == Shape{2, 3});
    CHECK(t->data<uint8_t>()[5] == 255);
  }
}

TEST_CASE("IDX: elements of several bytes are big-endian") {
  Result<Tensor> t = parse_idx("\0\0\x0b\x01\0\0\0\x02\xff\xfe\x01\x00"s, "f");
  REQUIRE(t.ok());
  CHECK(t->data<int16_t>()[0] == -2);
  CHECK(t->data<int16_t>()[1] == 256);
}

TEST_CASE("IDX: damaged files are refused before anything is allocated") {
  CHECK_FALSE(parse_idx(kBytes.substr(0, 10), "f").ok());
  CHECK_FALSE(parse_idx(kBytes.substr(0, 17), "f").ok());
  CHECK_FALSE(parse_idx("\0\0\x08\x02\x7f\xff\xff\xff\x7f\xff\xff\xff"s, "f").ok());
  CHECK_FALSE(parse_idx("\0\0\x07\x01\0\0\0\0"s, "f").ok());
  CHECK_FALSE(parse_idx(gzip(kBytes).substr(0, 20), "f").ok());
  CHECK_FALSE(parse_idx("\x1f\x8b garbage"s, "f").ok());
  CHECK_FALSE(parse_idx(gzip("\0\0\x08\x02\x7f\xff\xff\xff\x7f\xff\xff\xff"s), "f").ok());
  CHECK_FALSE(looks_like_idx("1,2,3\n"));
}

}  // namespace emplace
