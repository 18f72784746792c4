/// FarmHash Fingerprint64 (farmhashna): the 64-bit fingerprint that TensorFlow's messages, hash-bucket ops and
/// Fingerprint op use. The same on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace emplace {
uint64_t fingerprint64(std::string_view bytes);
}  // namespace emplace
