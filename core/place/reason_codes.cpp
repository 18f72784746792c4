// The names of reasons and verdicts, as documents and tables have them.
#include <array>

#include "core/place/placement.h"

namespace emplace {

namespace {

constexpr std::string_view code_of(Reason reason) {
  switch (reason) {  // without a default: a reason that has no code does not compile
    case Reason::kNone:
      return "none";
    case Reason::kAssigned:
      return "assigned";
    case Reason::kRequested:
      return "requested";
    case Reason::kPartialRequest:
      return "partial_request";
    case Reason::kColocated:
      return "colocated";
    case Reason::kResourceEdge:
      return "resource_edge";
    case Reason::kReferenceEdge:
      return "reference_edge";
    case Reason::kOnlyKernel:
      return "only_kernel";
    case Reason::kKernelPriority:
      return "kernel_priority";
    case Reason::kGeneratorWithConsumer:
      return "generator_with_consumer";
    case Reason::kMetadataWithInput:
      return "metadata_with_input";
    case Reason::kIdentityWithSource:
      return "identity_with_source";
    case Reason::kHostVariant:
      return "host_variant";
    case Reason::kDefault:
      return "default";
    case Reason::kSoftNoKernel:
      return "soft_no_kernel";
    case Reason::kSoftNoDevice:
      return "soft_no_device";
    case Reason::kSoftMovedWithResource:
      return "soft_moved_with_resource";
    case Reason::kOverride:
      return "override";
    case Reason::kCost:
      return "cost";
  }
  return {};
}

static_assert(!code_of(static_cast<Reason>(kReasonCount - 1)).empty() &&
                  code_of(static_cast<Reason>(kReasonCount)).empty(),
              "kReasonCount (placement.h) is the number of reasons");

}  // namespace

std::string_view reason_code(Reason reason) { return code_of(reason); }

bool is_soft(Reason reason) {
  return reason == Reason::kSoftNoKernel || reason == Reason::kSoftNoDevice || reason == Reason::kSoftMovedWithResource;
}

std::string_view verdict_code(Verdict verdict) {
  static constexpr std::array<std::string_view, 7> kCodes = {
      "chosen", "candidate", "no_kernel", "group_no_kernel", "not_requested", "group_request", "host_only"};
  return kCodes[static_cast<size_t>(verdict)];
}

}  // namespace emplace
