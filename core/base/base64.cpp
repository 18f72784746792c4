#include "core/base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace emplace {
namespace {

constexpr uint8_t kNoDigit = 0xff;

constexpr std::array<uint8_t, 256> kDigits = [] {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  uint8_t value = 0;
  for (char c = 'A'; c <= 'Z'; ++c) digits[static_cast<size_t>(c)] = value++;
  for (char c = 'a'; c <= 'z'; ++c) digits[static_cast<size_t>(c)] = value++;
  for (char c = '0'; c <= '9'; ++c) digits[static_cast<size_t>(c)] = value++;
  digits['+'] = digits['-'] = 62;
  digits['/'] = digits['_'] = 63;
  return digits;
}();

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (padding > 0 && text.size() % 4 != 0) return std::nullopt;
  text.remove_suffix(padding);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out(text.size() * 3 / 4, '\0');
  size_t written = 0;
  uint32_t group = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t digit = kDigits[static_cast<uint8_t>(text[i])];
    if (digit == kNoDigit) return std::nullopt;
    group = group << 6 | digit;
    // The first digit of a group completes no byte; each of the others completes one.
    if (i % 4 != 0) out[written++] = static_cast<char>(group >> (6 - 2 * (i % 4)));
  }
  return out;
}

std::string encode_base64(std::string_view bytes) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    size_t present = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < present ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += k <= present ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace emplace
