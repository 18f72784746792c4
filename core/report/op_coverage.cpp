#include "core/report/op_coverage.h"

#include <algorithm>

#include "core/op/gpu_gaps.h"
#include "core/op/kernel_attr.h"

namespace emplace {
namespace {

// What an attr may be: its allowed values, or every dtype.
DTypeSet allowed_types(const OpSignature& op, std::string_view attr) {
  const uint64_t every = (uint64_t{1} << kDTypeCount) - 2;
  int at = op.find_attr(attr);
  if (at < 0) return DTypeSet::from_bits(every);
  const auto& allowed = op.attrs[static_cast<size_t>(at)].allowed_values;
  const auto* types = allowed ? allowed->get_if<std::vector<DType>>() : nullptr;
  if (!types) return DTypeSet::from_bits(every);
  DTypeSet set;
  for (DType t : *types) set = set | DTypeSet(t);
  return set;
}

}  // namespace

DTypeSet covered_types(const OpSignature& op, std::string_view attr, const std::vector<KernelSignature>& kernels,
                       bool on_cpu) {
  DTypeSet set;
  for (const KernelSignature& k : kernels) {
    if ((k.device_type == "CPU") != on_cpu || !k.label.empty()) continue;
    DTypeSet of_kernel = allowed_types(op, attr);
    for (const KernelConstraint& c : k.constraints) {
      const auto* types = c.allowed_values.get_if<std::vector<DType>>();
      if (c.attr != attr || !types) continue;
      DTypeSet constrained;
      for (DType t : *types) constrained = constrained | DTypeSet(t);
      of_kernel = of_kernel & constrained;
    }
    set = set | of_kernel;
  }
  return set;
}

Coverage coverage(OpTable& table, const OpSignature& op, const OpDef& def) {
  Coverage c;
  c.attr = kernel_attr(op, &def);
  c.cpu = def.cpu_types() & allowed_types(op, c.attr);
  const auto& kernels = table.kernels(op.name);
  c.gpu = covered_types(op, c.attr, kernels, false) & c.cpu;
  for (const GpuGap& gap : gpu_gaps()) {
    if (!covers(gap, op.name, gap.type)) continue;
    c.gpu = gap.type == DType::kInvalid ? DTypeSet() : c.gpu.without(DTypeSet{gap.type});
  }
  c.on_gpu =
      std::any_of(kernels.begin(), kernels.end(), [](const KernelSignature& k) { return k.device_type != "CPU"; });
  // NcclAllReduce, which simulated GPUs refuse.
  const bool gpus_alone =
      std::all_of(kernels.begin(), kernels.end(), [](const KernelSignature& k) { return k.device_type == "GPU"; });
  if (gpus_alone) c.cpu = {};
  return c;
}

// In the order in which people count: floats, integers, the rest.
std::vector<DType> in_order(DTypeSet set) {
  static constexpr DType kFirst[] = {DType::kHalf,      DType::kBFloat16,   DType::kFloat,  DType::kDouble,
                                     DType::kInt8,      DType::kInt16,      DType::kInt32,  DType::kInt64,
                                     DType::kUInt8,     DType::kUInt16,     DType::kUInt32, DType::kUInt64,
                                     DType::kComplex64, DType::kComplex128, DType::kBool,   DType::kString};
  std::vector<DType> out;
  for (DType t : kFirst) {
    if (set.has(t)) out.push_back(t);
  }
  for (int i = 1; i < kDTypeCount; ++i) {
    auto t = static_cast<DType>(i);
    if (set.has(t) && std::find(std::begin(kFirst), std::end(kFirst), t) == std::end(kFirst)) out.push_back(t);
  }
  return out;
}

}  // namespace emplace
