#include "core/op/gpu_gaps.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr GpuGap kGaps[] = {
    {"AssignVariableOp", DType::kResource, "handles are kept in host memory"},
    {"AssignVariableOp", DType::kString, "strings are kept in host memory"},
    {"Bucketize", DType::kInvalid, "on the CPU alone so far"},
    {"Complex", DType::kInvalid, "on the CPU alone so far"},
    {"ComplexAbs", DType::kInvalid, "on the CPU alone so far"},
    {"DenseBincount", DType::kInvalid, "on the CPU alone so far"},
    {"Imag", DType::kInvalid, "on the CPU alone so far"},
    {"LowerBound", DType::kInvalid, "on the CPU alone so far"},
    {"OptionalFromValue", DType::kInvalid, "optional values are kept in host memory"},
    {"OptionalGetValue", DType::kInvalid, "optional values are kept in host memory"},
    {"OptionalHasValue", DType::kInvalid, "optional values are kept in host memory"},
    {"OptionalNone", DType::kInvalid, "optional values are kept in host memory"},
    {"Real", DType::kInvalid, "on the CPU alone so far"},
    {"Roll", DType::kInvalid, "on the CPU alone so far"},
    {"StatelessRandomGetAlg", DType::kInvalid, "a number in host memory"},
    {"StatelessRandomGetKeyCounter", DType::kInvalid, "numbers in host memory"},
    {"StatelessRandomUniformIntV2", DType::kInvalid, "on the CPU alone so far"},
    {"UpperBound", DType::kInvalid, "on the CPU alone so far"},
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
