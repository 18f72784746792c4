#include "core/place/kernel_lookup.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/graph/node_kernel.h"
#include "core/op/attr_text.h"
#include "core/op/gpu_gaps.h"
#include "core/place/node_text.h"

namespace emplace {
namespace {

constexpr std::string_view kLabelAttr = "_kernel";

std::string_view label_of(const NodeType& type) {
  const AttrValue* value = type.view().find(kLabelAttr);
  const std::string* label = value ? value->get_if<std::string>() : nullptr;
  return label ? std::string_view(*label) : std::string_view{};
}

// The values as numbers or texts, so that equal keys mean equal answers.
void add_to_key(std::string& key, const AttrValue* value) {
  if (!value) {
    key += "-;";
  } else if (const DType* dtype = value->get_if<DType>()) {
    append(key, static_cast<int>(*dtype), ';');
  } else {
    append(key, summarize_attr(*value), ';');
  }
}

Result<bool> attrs_match(const KernelSignature& kernel, const NodeType& type) {
  Result<bool> matches = kernel_matches(kernel, type.view());
  if (matches.ok()) return matches;
  for (const KernelConstraint& c : kernel.constraints) {
    if (type.view().find(c.attr)) continue;
    return invalid_argument(cat("OpKernel '", type.op, "' has constraint on attr '", c.attr, "' not in NodeDef '[",
                                summarize_attrs(type.view()), "]', KernelDef: '", kernel_def_text(type.op, kernel),
                                "'"));
  }
  return matches;
}

// Kernels cannot be made for the types of XLA's compilers.
bool falls_back_to_default(std::string_view device_type) { return !device_type.ends_with("_JIT"); }

struct Match {
  const KernelSignature* kernel = nullptr;
  bool attr_mismatch = false;
};

// TensorFlow's FindKernelRegistration.
Result<Match> match(const std::vector<KernelSignature>& kernels, const NodeType& type, std::string_view device_type,
                    std::string_view node_name) {
  Match best;
  const std::string_view label = label_of(type);
  const auto clash = [&](std::string_view what, std::string_view where, const KernelSignature& k) {
    return invalid_argument(cat("Multiple ", what, "OpKernel registrations match NodeDef ", where, "'{{node ",
                                node_name, "}}': '", kernel_def_text(type.op, *best.kernel), "' and '",
                                kernel_def_text(type.op, k), "'"));
  };
  for (const KernelSignature& k : kernels) {
    if (k.device_type != device_type || k.label != label) continue;
    ASSIGN_OR_RETURN(const bool matches, attrs_match(k, type));
    if (!matches) {
      best.attr_mismatch = true;
    } else if (!best.kernel || k.priority > best.kernel->priority) {
      best.kernel = &k;
    } else if (k.priority == best.kernel->priority) {
      return clash("", "at the same priority ", k);
    }
  }
  if (best.kernel || !falls_back_to_default(device_type)) return best;
  for (const KernelSignature& k : kernels) {
    if (k.device_type != "DEFAULT" || k.label != label) continue;
    ASSIGN_OR_RETURN(const bool matches, attrs_match(k, type));
    if (!matches) {
      best.attr_mismatch = true;
    } else if (best.kernel) {
      return clash("Default ", "", k);
    } else {
      best.kernel = &k;
    }
  }
  return best;
}

}  // namespace

const KernelSignature* find_kernel(OpTable& ops, const NodeType& type, std::string_view device_type) {
  if (!type.signature) return nullptr;
  Result<Match> found = match(ops.kernels(type.op), type, device_type, {});
  return found.ok() ? found->kernel : nullptr;
}

bool is_runnable(const NodeType& type) {
  const OpTraits& op = *type.traits;
  return op.functional != Functional::kNone || op.argument || op.result || cpu_kernel(type) != nullptr;
}

KernelLookup::OpKernels& KernelLookup::kernels_of(std::string_view op) {
  auto [it, is_new] = by_op_.try_emplace(op);
  if (!is_new) return it->second;
  OpKernels& entry = it->second;
  entry.kernels = &ops_.kernels(op);
  for (const KernelSignature& k : *entry.kernels) {
    for (const KernelConstraint& c : k.constraints) {
      if (std::find(entry.attrs.begin(), entry.attrs.end(), c.attr) == entry.attrs.end()) entry.attrs.push_back(c.attr);
    }
  }
  return entry;
}

const KernelLookup::Supported& KernelLookup::supported(const NodeType& type) {
  OpKernels& op = kernels_of(type.op);
  std::string key(label_of(type));
  key += type.signature ? ':' : 'f';
  if (available_only_) key += !is_runnable(type) ? 'n' : find_gpu_gap(type.op, kernel_type(type)) ? 'c' : 'r';
  for (std::string_view attr : op.attrs) add_to_key(key, type.view().find(attr));
  auto [it, is_new] = op.answers.try_emplace(std::move(key));
  if (is_new) it->second = compute(type);
  return it->second;
}

KernelLookup::Supported KernelLookup::compute(const NodeType& type) {
  Supported result;
  if (available_only_ && type.signature && !is_runnable(type)) return result;
  const std::vector<KernelSignature>& kernels = *kernels_of(type.op).kernels;
  std::vector<SupportedType> list;
  const auto num_types = static_cast<uint16_t>(lists_.types().size());
  const bool not_on_gpu = available_only_ && find_gpu_gap(type.op, kernel_type(type)) != nullptr;
  for (uint16_t t = 0; t < num_types; ++t) {
    if (!type.signature) {  // a function runs anywhere
      list.push_back({t, 0});
      continue;
    }
    Result<Match> found = match(kernels, type, lists_.types()[t], {});
    if (!found.ok()) {
      result.failed = true;
      return result;
    }
    result.attr_mismatch |= found->attr_mismatch;
    if (found->kernel && !(not_on_gpu && lists_.types()[t] == "GPU")) list.push_back({t, found->kernel->priority});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const SupportedType& a, const SupportedType& b) { return a.priority > b.priority; });
  result.types = lists_.intern(std::move(list));
  return result;
}

Status KernelLookup::failure(const NodeType& type, std::string_view node_name) {
  for (const std::string& device_type : lists_.types()) {
    Result<Match> found = match(*kernels_of(type.op).kernels, type, device_type, node_name);
    if (!found.ok()) return found.take_status();
  }
  return ok_status();
}

}  // namespace emplace
