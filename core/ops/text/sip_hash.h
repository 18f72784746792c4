/// SipHash-2-4: numbers for texts that nobody can choose to be the same without the key.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace emplace {

/// Of one text.
class SipHash {
 public:
  SipHash(uint64_t key0, uint64_t key1)
      : v_{key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du, key0 ^ 0x6c7967656e657261u,
           key1 ^ 0x7465646279746573u} {}

  uint64_t of(std::string_view text) {
    const uint64_t size = text.size();
    for (; text.size() >= 8; text.remove_prefix(8)) absorb(load(text));
    absorb(size << 56 | load(text));
    v_[2] ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return v_[0] ^ v_[1] ^ v_[2] ^ v_[3];
  }

 private:
  static uint64_t load(std::string_view text) {
    uint64_t word = 0;
    std::memcpy(&word, text.data(), std::min<size_t>(text.size(), 8));
    return word;
  }
  void absorb(uint64_t word) {
    v_[3] ^= word;
    round();
    round();
    v_[0] ^= word;
  }
  void round() {
    v_[0] += v_[1];
    v_[2] += v_[3];
    v_[1] = std::rotl(v_[1], 13) ^ v_[0];
    v_[3] = std::rotl(v_[3], 16) ^ v_[2];
    v_[0] = std::rotl(v_[0], 32);
    v_[2] += v_[1];
    v_[0] += v_[3];
    v_[1] = std::rotl(v_[1], 17) ^ v_[2];
    v_[3] = std::rotl(v_[3], 21) ^ v_[0];
    v_[2] = std::rotl(v_[2], 32);
  }

  std::array<uint64_t, 4> v_;
};

}  // namespace emplace
