// The names of reasons and verdicts, as documents and tables have them.
#include <array>

#include "core/place/placement.h"

namespace emplace {

std::string_view reason_code(Reason reason) {
  static constexpr std::array<std::string_view, kReasonCount> kCodes = {
      "none",
      "assigned",
      "requested",
      "partial_request",
      "colocated",
      "resource_edge",
      "reference_edge",
      "only_kernel",
      "kernel_priority",
      "generator_with_consumer",
      "metadata_with_input",
      "identity_with_source",
      "host_variant",
      "default",
      "soft_no_kernel",
      "soft_no_device",
      "soft_moved_with_resource",
      "override",
      "cost",
  };
  return kCodes[static_cast<size_t>(reason)];
}

bool is_soft(Reason reason) {
  return reason == Reason::kSoftNoKernel || reason == Reason::kSoftNoDevice || reason == Reason::kSoftMovedWithResource;
}

std::string_view verdict_code(Verdict verdict) {
  static constexpr std::array<std::string_view, 7> kCodes = {
      "chosen", "candidate", "no_kernel", "group_no_kernel", "not_requested", "group_request", "host_only"};
  return kCodes[static_cast<size_t>(verdict)];
}

}  // namespace emplace
