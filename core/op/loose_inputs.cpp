#include "core/op/loose_inputs.h"

#include <algorithm>
#include <array>

namespace emplace {
namespace {

struct LooseInput {
  std::string_view op;
  size_t input;
  DTypeSet types;
};

// Products pack their right side or stream it through vector loads (core/ops/gemm); other types widen it first.
constexpr DTypeSet kProducts{DType::kFloat, DType::kDouble};
// Sums load vectors, and single elements by load_loose() (core/ops/reduce/reduce_code.h); halves are widened first.
constexpr DTypeSet kReductions{DType::kFloat, DType::kDouble};

constexpr auto kLooseInputs = std::to_array<LooseInput>({
    {"BatchMatMul", 1, kProducts},
    {"BatchMatMulV2", 1, kProducts},
    {"Gather", 0, kAllData},
    {"GatherV2", 0, kAllData},
    {"L2Loss", 0, kReductions},
    {"MatMul", 1, kProducts},
    {"Max", 0, kReductions},
    {"Mean", 0, kReductions},
    {"Min", 0, kReductions},
    {"Prod", 0, kReductions},
    {"Sum", 0, kReductions},
    {"_FusedMatMul", 1, kProducts},
});

}  // namespace

bool reads_loose(std::string_view op, size_t input, DType type) {
  return std::any_of(kLooseInputs.begin(), kLooseInputs.end(), [&](const LooseInput& loose) {
    return loose.op == op && loose.input == input && loose.types.has(type);
  });
}

}  // namespace emplace
