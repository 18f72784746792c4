/// CRC-32C (Castagnoli), as TensorFlow's checkpoints have it.
#pragma once

#include <cstdint>
#include <string_view>

namespace emplace {

class Parallel;

/// Of `bytes` behind those of which `crc` is the sum (0: none).
uint32_t crc32c(std::string_view bytes, uint32_t crc = 0);

/// The same of many bytes, pieces of which are summed beside each other.
uint32_t shared_crc32c(std::string_view bytes, Parallel& parallel);

/// A sum as it is stored: turned and shifted, so that sums of sums are none of their parts'.
inline uint32_t masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }
inline uint32_t masked_crc32c(std::string_view bytes) { return masked(crc32c(bytes)); }

}  // namespace emplace
