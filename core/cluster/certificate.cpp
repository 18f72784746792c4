#include "core/cluster/certificate.h"

#include <ctime>
#include <optional>

#include "core/base/base64.h"
#include "core/base/cat.h"

namespace emplace {
namespace {

constexpr uint8_t kSequence = 0x30, kVersion = 0xa0, kUtcTime = 0x17, kGeneralizedTime = 0x18;

struct Element {
  uint8_t tag = 0;
  std::string_view content;
};

/// The first element of a DER text, and what is behind it stays. Nothing: there is none.
std::optional<Element> take(std::string_view& der) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(der[i]); };
  if (der.size() < 2) return std::nullopt;
  size_t length = byte(1), head = 2;
  if (length > 0x80) {  // the lower bits say in how many bytes the length stands
    const size_t bytes = length & 0x7f;
    if (bytes > 4 || der.size() < 2 + bytes) return std::nullopt;
    length = 0;
    for (; head < 2 + bytes; ++head) length = length << 8 | byte(head);
  }
  if (der.size() - head < length) return std::nullopt;
  const Element element{byte(0), der.substr(head, length)};
  der.remove_prefix(head + length);
  return element;
}

/// "2026-11-27 23:53:43" of "261127235343Z" or "20261127235343Z".
std::optional<std::string> text_of(const std::optional<Element>& time) {
  if (!time || (time->tag != kUtcTime && time->tag != kGeneralizedTime)) return std::nullopt;
  std::string digits(time->content);
  if (time->tag == kUtcTime) digits.insert(0, digits < "50" ? "20" : "19");
  if (digits.size() != 15) return std::nullopt;
  const auto part = [&](size_t at, size_t size) { return std::string_view(digits).substr(at, size); };
  return cat(part(0, 4), "-", part(4, 2), "-", part(6, 2), " ", part(8, 2), ":", part(10, 2), ":", part(12, 2));
}

std::optional<std::string> der_of(std::string_view pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----", kEnd = "-----END";
  const size_t begin = pem.find(kBegin), end = pem.find(kEnd, begin);
  if (begin == pem.npos || end == pem.npos) return std::nullopt;
  std::string text;
  for (const char c : pem.substr(begin + kBegin.size(), end - begin - kBegin.size())) {
    if (c > ' ') text.push_back(c);
  }
  return decode_base64(text);
}

/// The content of a certificate's element that says from when until when it is valid.
std::optional<Element> validity_of(std::string_view der) {
  const std::optional<Element> whole = take(der);
  if (!whole || whole->tag != kSequence) return std::nullopt;
  std::string_view inside = whole->content;
  const std::optional<Element> signed_part = take(inside);
  if (!signed_part || signed_part->tag != kSequence) return std::nullopt;
  std::string_view parts = signed_part->content;
  std::optional<Element> next = take(parts);
  if (next && next->tag == kVersion) next = take(parts);
  // That was the number; the signature's algorithm, the issuer.
  for (int i = 0; i < 3 && next; ++i) next = take(parts);
  return next && next->tag == kSequence ? next : std::nullopt;
}

}  // namespace

Status check_validity(std::string_view pem, std::string_view now) {
  const std::optional<std::string> der = der_of(pem);
  const std::optional<Element> validity = der ? validity_of(*der) : std::nullopt;
  if (!validity) return ok_status();
  std::string_view times = validity->content;
  const std::optional<std::string> begin = text_of(take(times)), end = text_of(take(times));
  if (!begin || !end) return ok_status();
  if (now > *end) return failed_precondition(cat("this certificate has expired: ", *end, " UTC"));
  if (now < *begin) return failed_precondition(cat("this certificate is not valid before ", *begin, " UTC"));
  return ok_status();
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts;
  char text[] = "2026-11-27 23:53:43";
  gmtime_r(&now, &parts);
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
}

}  // namespace emplace
