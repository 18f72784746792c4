// Which of the kernels that TensorFlow registers for a GPU (or for any device) the plug-in has, for the ops that run here.
#include <catch2/catch.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/op/gpu_gaps.h"
#include "core/op/kernel_attr.h"
#include "core/op/op_def.h"
#include "core/op/signature.h"
#include "cuda/kernel_table.h"

namespace emplace::cuda::testing {
namespace {

/// The types of the op's kernel attr that a registered kernel is for, among those that run here at all; kInvalid for an op
/// without that attr.
std::vector<DType> types_of(const KernelSignature& kernel, std::string_view attr, const OpDef& def) {
  if (attr.empty()) return {DType::kInvalid};
  std::vector<DType> types, run;
  for (int t = 1; t < kDTypeCount; ++t) types.push_back(static_cast<DType>(t));
  for (const KernelConstraint& c : kernel.constraints) {
    if (c.attr == attr) types = c.allowed_values.get<std::vector<DType>>();
  }
  std::copy_if(types.begin(), types.end(), std::back_inserter(run), [&](DType t) { return def.cpu_kernel(t) != nullptr; });
  return run;
}

TEST_CASE("every kernel that TensorFlow has for a GPU, of the ops that run here, or a reason why not") {
  OpTable ops;
  std::set<std::pair<std::string_view, DType>> missing;
  int there = 0;
  for (std::string_view name : OpLibrary::names()) {
    const OpDef* def = OpLibrary::find(name);
    const OpSignature* op = ops.find(name);
    REQUIRE(op != nullptr);
    const std::string_view attr = kernel_attr(*op, def);
    for (const KernelSignature& kernel : ops.kernels(name)) {
      if (kernel.device_type != "GPU" && kernel.device_type != "DEFAULT") continue;
      for (DType type : types_of(kernel, attr, *def)) {
        if (kernel_table().find(name, type)) ++there;
        else missing.emplace(name, type);
      }
    }
  }
  CHECK(there > 1000);
  for (const auto& [op, type] : missing) {
    INFO(op << " " << dtype_name(type));
    CHECK(find_gpu_gap(op, type) != nullptr);
  }
  for (const GpuGap& gap : gpu_gaps()) {
    INFO(gap.op << " " << dtype_name(gap.type) << " is there: " << gap.reason);
    CHECK(missing.contains({gap.op, gap.type}));
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
