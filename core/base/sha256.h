/// SHA-256 (FIPS 180-4), for fingerprints of files and placements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace emplace {

/// Fed piece by piece; finish() once.
class Sha256 {
 public:
  Sha256();
  /// Without the processor's own instructions, for tests.
  static Sha256 portable();

  void update(std::string_view bytes);
  /// 64 lower-case hex digits.
  std::string finish();

 private:
  using State = std::array<uint32_t, 8>;
  /// Takes `blocks` blocks of 64 bytes into the state.
  using Compress = void (*)(State& state, const unsigned char* bytes, size_t blocks);

  State state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_{};
  uint64_t length_ = 0;  // bytes so far
  Compress compress_;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace emplace
