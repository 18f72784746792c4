#include "core/place/reason.h"

#include <array>
#include <cstddef>

namespace emplace {
namespace {

struct ReasonRow {
  std::string_view code;
  bool is_soft;
};

constexpr std::array<ReasonRow, kReasonCount> kReasons = {{
#define EMPLACE_REASON(name, code, is_soft) {#code, is_soft},
#include "core/place/reason_list.inc"
#undef EMPLACE_REASON
}};

}  // namespace

std::string_view reason_code(Reason reason) { return kReasons[static_cast<size_t>(reason)].code; }
bool is_soft(Reason reason) { return kReasons[static_cast<size_t>(reason)].is_soft; }

std::string_view verdict_code(Verdict verdict) {
  static constexpr std::array<std::string_view, 7> kCodes = {
      "chosen", "candidate", "no_kernel", "group_no_kernel", "not_requested", "group_request", "host_only"};
  return kCodes[static_cast<size_t>(verdict)];
}

}  // namespace emplace
