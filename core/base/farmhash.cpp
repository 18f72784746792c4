#include "core/base/farmhash.h"

#include <bit>
#include <cstring>
#include <utility>

namespace emplace {
namespace {

constexpr uint64_t k0 = 0xc3a5c85c97cb3127, k1 = 0xb492b66fbe98f273, k2 = 0x9ae16a3b2f90404f;

uint64_t fetch64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
uint32_t fetch32(const char* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
uint64_t rotate(uint64_t v, int by) { return std::rotr(v, by); }
uint64_t shift_mix(uint64_t v) { return v ^ (v >> 47); }

uint64_t hash16(uint64_t u, uint64_t v, uint64_t multiplier) {
  uint64_t a = (u ^ v) * multiplier;
  a ^= a >> 47;
  uint64_t b = (v ^ a) * multiplier;
  b ^= b >> 47;
  return b * multiplier;
}

uint64_t hash_0_to_16(const char* s, size_t n) {
  if (n >= 8) {
    const uint64_t multiplier = k2 + n * 2;
    const uint64_t a = fetch64(s) + k2, b = fetch64(s + n - 8);
    return hash16(rotate(b, 37) * multiplier + a, (rotate(a, 25) + b) * multiplier, multiplier);
  }
  if (n >= 4) {
    const uint64_t multiplier = k2 + n * 2;
    return hash16(n + (uint64_t{fetch32(s)} << 3), fetch32(s + n - 4), multiplier);
  }
  if (n == 0) return k2;
  const auto at = [s](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(s[i])); };
  const uint32_t y = at(0) + (at(n >> 1) << 8), z = static_cast<uint32_t>(n) + (at(n - 1) << 2);
  return shift_mix(y * k2 ^ z * k0) * k2;
}

uint64_t hash_17_to_32(const char* s, size_t n) {
  const uint64_t multiplier = k2 + n * 2;
  const uint64_t a = fetch64(s) * k1, b = fetch64(s + 8);
  const uint64_t c = fetch64(s + n - 8) * multiplier, d = fetch64(s + n - 16) * k2;
  return hash16(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + k2, 18) + c, multiplier);
}

uint64_t hash_33_to_64(const char* s, size_t n) {
  const uint64_t multiplier = k2 + n * 2;
  const uint64_t a = fetch64(s) * k2, b = fetch64(s + 8);
  const uint64_t c = fetch64(s + n - 8) * multiplier, d = fetch64(s + n - 16) * k2;
  const uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d;
  const uint64_t z = hash16(y, a + rotate(b + k2, 18) + c, multiplier);
  const uint64_t e = fetch64(s + 16) * multiplier, f = fetch64(s + 24);
  const uint64_t g = (y + fetch64(s + n - 32)) * multiplier, h = (z + fetch64(s + n - 24)) * multiplier;
  return hash16(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, multiplier);
}

using Pair = std::pair<uint64_t, uint64_t>;

Pair weak_hash_32(const char* s, uint64_t a, uint64_t b) {
  const uint64_t w = fetch64(s), x = fetch64(s + 8), y = fetch64(s + 16), z = fetch64(s + 24);
  a += w;
  b = rotate(b + a + z, 21);
  const uint64_t c = a;
  a += x + y;
  b += rotate(a, 44);
  return {a + z, b + c};
}

}  // namespace

uint64_t fingerprint64(std::string_view bytes) {
  const char* s = bytes.data();
  const size_t n = bytes.size();
  if (n <= 16) return hash_0_to_16(s, n);
  if (n <= 32) return hash_17_to_32(s, n);
  if (n <= 64) return hash_33_to_64(s, n);

  constexpr uint64_t kSeed = 81;
  uint64_t x = kSeed, y = kSeed * k1 + 113, z = shift_mix(y * k2 + 113) * k2;
  Pair v{0, 0}, w{0, 0};
  x = x * k2 + fetch64(s);
  const char* end = s + ((n - 1) / 64) * 64;
  const char* last64 = end + ((n - 1) & 63) - 63;
  do {
    x = rotate(x + y + v.first + fetch64(s + 8), 37) * k1;
    y = rotate(y + v.second + fetch64(s + 48), 42) * k1;
    x ^= w.second;
    y += v.first + fetch64(s + 40);
    z = rotate(z + w.first, 33) * k1;
    v = weak_hash_32(s, v.second * k1, x + w.first);
    w = weak_hash_32(s + 32, z + w.second, y + fetch64(s + 16));
    std::swap(z, x);
    s += 64;
  } while (s != end);
  const uint64_t multiplier = k1 + ((z & 0xff) << 1);
  s = last64;
  w.first += (n - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  x = rotate(x + y + v.first + fetch64(s + 8), 37) * multiplier;
  y = rotate(y + v.second + fetch64(s + 48), 42) * multiplier;
  x ^= w.second * 9;
  y += v.first * 9 + fetch64(s + 40);
  z = rotate(z + w.first, 33) * multiplier;
  v = weak_hash_32(s, v.second * multiplier, x + w.first);
  w = weak_hash_32(s + 32, z + w.second, y + fetch64(s + 16));
  std::swap(z, x);
  return hash16(hash16(v.first, w.first, multiplier) + shift_mix(y) * k0 + z,
                hash16(v.second, w.second, multiplier) + x, multiplier);
}

}  // namespace emplace
