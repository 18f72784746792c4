/// Why a node is where it is, and what spoke for or against each device.
#pragma once

#include <cstdint>
#include <string_view>

namespace emplace {

/// A closed list that follows the placer step by step: reason_list.inc.
enum class Reason : uint8_t {
#define EMPLACE_REASON(name, code, is_soft) name,
#include "core/place/reason_list.inc"
#undef EMPLACE_REASON
};
inline constexpr int kReasonCount = 0
#define EMPLACE_REASON(name, code, is_soft) +1
#include "core/place/reason_list.inc"
#undef EMPLACE_REASON
    ;
/// "generator_with_consumer".
std::string_view reason_code(Reason reason);
/// Soft placement dropped a request.
bool is_soft(Reason reason);

enum class Verdict : uint8_t {
  kChosen,
  kCandidate,      // would have been possible, another came first
  kNoKernel,       // no kernel of this node for that device type
  kGroupNoKernel,  // a node it is colocated with has none
  kNotRequested,   // does not match the requested device
  kGroupRequest,   // does not match what the group asks for
  kHostOnly,       // the value can live in host memory only
};
/// "group_no_kernel".
std::string_view verdict_code(Verdict verdict);

}  // namespace emplace
