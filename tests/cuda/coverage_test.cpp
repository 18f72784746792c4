// Which of the kernels that TensorFlow registers for a GPU (or for any device) the plug-in has, for the ops that run here.
#include <catch2/catch.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "core/base/cat.h"
#include "core/op/kernel_attr.h"
#include "core/op/op_def.h"
#include "core/op/signature.h"
#include "cuda/kernel_table.h"

namespace emplace::cuda::testing {
namespace {

/// Kernels that are not there, with the reason.
const std::map<std::string, std::string, std::less<>> kMissing = {
    {"AssignVariableOp resource", "handles are kept in host memory"},
    {"AssignVariableOp string", "strings are kept in host memory"},
    {"Cast float8_e4m3fn", "emplace converts no 8-bit floating types, on any device"},
    {"Cast float8_e5m2", "emplace converts no 8-bit floating types, on any device"},
    {"Cast int4", "emplace converts no 4-bit types, on any device"},
    {"Cast uint4", "emplace converts no 4-bit types, on any device"},
};

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

TEST_CASE("every kernel that TensorFlow has for a GPU, of the ops that run here") {
  OpTable ops;
  std::set<std::string, std::less<>> missing;
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
        else missing.insert(cat(name, " ", type == DType::kInvalid ? std::string("-") : std::string(dtype_name(type))));
      }
    }
  }
  CHECK(there > 1000);
  for (const std::string& m : missing) {
    INFO(m);
    CHECK(kMissing.contains(m));
  }
  for (const auto& [m, reason] : kMissing) {
    INFO(m << " is there: " << reason);
    CHECK(missing.contains(m));
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
