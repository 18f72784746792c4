#include <catch2/catch.hpp>
#include <cmath>

#include "core/base/tiny_float.h"
#include "core/tensor/tiny.h"

using namespace emplace;

namespace {

struct TinyHashes {
  DType type;
  uint64_t bits, values;
};

void add_to_hash(uint64_t& hash, const void* bytes, size_t n) {
  for (size_t i = 0; i < n; ++i) hash = (hash ^ static_cast<const uint8_t*>(bytes)[i]) * 0x100000001b3;
}

/// FNV-1a over all exponents of float with scattered mantissas, then over all halves. NaNs count as one.
TinyHashes tiny_hashes(DType t) {
  TinyHashes h{t, 0xcbf29ce484222325, 0xcbf29ce484222325};
  for (uint32_t i = 0; i < 2 * 65536; ++i) {
    const uint32_t low = i & 0xffff;
    half narrow;
    narrow.bits = static_cast<uint16_t>(low);
    const float v = i < 65536 ? std::bit_cast<float>(low << 16 | (low * 40503 & 0xffff)) : static_cast<float>(narrow);
    uint8_t bits = tiny_float_bits(t, v);
    const float back = tiny_float_value(t, bits);
    auto back_bits = std::bit_cast<uint32_t>(back);
    if (std::isnan(back)) bits = 0xaa, back_bits = 0x7f800001;
    add_to_hash(h.bits, &bits, sizeof bits);
    add_to_hash(h.values, &back_bits, sizeof back_bits);
  }
  return h;
}

}  // namespace

TEST_CASE("tiny floats round as ml_dtypes does") {
  // Of ml_dtypes 0.5: numpy.concatenate([a, h]).astype(type), and that as float32.
  const TinyHashes wanted[] = {
      {DType::kFloat8E5M2, 0x11141673978528a5, 0x47f967f453428455},
      {DType::kFloat8E4M3FN, 0x4e8de74c3cdc1a85, 0x1f84032dd030c5d5},
      {DType::kFloat8E4M3FNUZ, 0x540dc95e1df14065, 0xe88894655fc2e925},
      {DType::kFloat8E4M3B11FNUZ, 0xce6aece7f32e0c65, 0x81d97d6d7444025},
      {DType::kFloat8E5M2FNUZ, 0xba0086574d4d6825, 0xe7184eac76690f25},
      {DType::kFloat4E2M1FN, 0xe1a4024acc424165, 0x6e5989989337825},
  };
  for (const TinyHashes& w : wanted) {
    INFO(dtype_name(w.type));
    const TinyHashes found = tiny_hashes(w.type);
    CHECK(found.bits == w.bits);
    CHECK(found.values == w.values);
  }
}

TEST_CASE("tiny integers keep their low bits, and what does not fit is refused where a person wrote it") {
  CHECK(tiny_int(DType::kInt4, 7) == 7);
  CHECK(tiny_int(DType::kInt4, 8) == -8);
  CHECK(tiny_int(DType::kUInt4, -1) == 15);
  CHECK(tiny_int(DType::kInt2, 2) == -2);
  CHECK(tiny_int(DType::kUInt2, 5) == 1);
  CHECK(from_plain(Tensor::scalar(int8_t{-8}), DType::kInt4).ok());
  CHECK_FALSE(from_plain(Tensor::scalar(int8_t{8}), DType::kInt4).ok());
  CHECK_FALSE(from_plain(Tensor::scalar(uint8_t{4}), DType::kUInt2).ok());
  CHECK_FALSE(from_plain(Tensor::scalar(500.0f), DType::kFloat8E4M3FN).ok());
}
