// Which of the kernels that TensorFlow registers for a GPU (or for any device) the plug-in has, for the ops that run here.
#include <catch2/catch.hpp>

#include <map>
#include <set>

#include "core/base/cat.h"
#include "core/op/kernel_attr.h"
#include "core/op/op_def.h"
#include "core/op/signature.h"
#include "cuda/kernel_table.h"

namespace emplace::cuda::testing {
namespace {

/// Types whose elements no kernel of emplace computes with, on any device: the CPU's table says which ones it moves.
bool runs_on_cpu(const OpDef& def, DType type) { return def.cpu_kernel(type) != nullptr; }

/// Kernels that are not there, with the reason.
const std::map<std::string, std::string, std::less<>> kMissing = {
};

/// The types of the op's kernel attr that a registered kernel is for; kInvalid for a kernel without it.
std::vector<DType> types_of(const KernelSignature& kernel, std::string_view attr) {
  for (const KernelConstraint& c : kernel.constraints) {
    if (c.attr == attr) return c.allowed_values.get<std::vector<DType>>();
  }
  return {DType::kInvalid};
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
      for (DType type : types_of(kernel, attr)) {
        if (type != DType::kInvalid && !runs_on_cpu(*def, type)) continue;
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
