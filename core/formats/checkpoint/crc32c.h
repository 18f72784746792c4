/// CRC-32C (Castagnoli), as TensorFlow's checkpoints have it.
#pragma once

#include <cstdint>
#include <string_view>

namespace emplace {

/// Of `bytes` behind those of which `crc` is the sum (0: none).
uint32_t crc32c(std::string_view bytes, uint32_t crc = 0);

/// A sum as it is stored: turned and shifted, so that sums of sums are none of their parts'.
inline uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace emplace
