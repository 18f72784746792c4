#include <catch2/catch.hpp>

#include "core/base/dtype.h"

using namespace emplace;

TEST_CASE("every spelling of a dtype is read") {
  CHECK(parse_dtype("DT_FLOAT") == DType::kFloat);
  CHECK(parse_dtype("float32") == DType::kFloat);
  CHECK(parse_dtype("float") == DType::kFloat);
  CHECK(parse_dtype("DT_INT32_REF") == make_ref(DType::kInt32));
  CHECK(dtype_from_number(101) == make_ref(DType::kFloat));
  CHECK_FALSE(parse_dtype("DT_NOTHING"));
  CHECK_FALSE(dtype_from_number(100));
  CHECK_FALSE(dtype_from_number(0));
}

TEST_CASE("half rounds to nearest even and keeps infinities, NaN and subnormals") {
  CHECK(half(1.0f).bits == 0x3c00);
  CHECK(half(65519.0f).bits == 0x7bff);
  CHECK(half(65520.0f).bits == 0x7c00);
  CHECK(half(-1e10f).bits == 0xfc00);
  CHECK(half(5.9604645e-8f).bits == 1);
  CHECK(half(1.0f + 0x1p-11f).bits == 0x3c00);  // a tie goes to even
  CHECK(half(1.0f + 0x1.8p-10f).bits == 0x3c02);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    half h;
    h.bits = static_cast<uint16_t>(bits);
    float f = static_cast<float>(h);
    if (f == f) CHECK(half(f).bits == h.bits);
  }
}
