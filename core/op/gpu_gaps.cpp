#include "core/op/gpu_gaps.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr GpuGap kGaps[] = {
    {"AssignVariableOp", DType::kResource, "handles are kept in host memory"},
    {"AssignVariableOp", DType::kString, "strings are kept in host memory"},
};

}  // namespace

std::span<const GpuGap> gpu_gaps() { return kGaps; }

bool covers(const GpuGap& gap, std::string_view op, DType type) {
  return (gap.op.empty() || gap.op == op) && (gap.type == DType::kInvalid || gap.type == type);
}

const GpuGap* find_gpu_gap(std::string_view op, DType type) {
  auto gap = std::find_if(std::begin(kGaps), std::end(kGaps), [&](const GpuGap& g) { return covers(g, op, type); });
  return gap == std::end(kGaps) ? nullptr : gap;
}

}  // namespace emplace
