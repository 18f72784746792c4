#include "core/report/kernel_rows.h"

#include <algorithm>
#include <set>

#include "core/op/attr_text.h"
#include "core/report/op_coverage.h"

namespace emplace {
namespace {

std::vector<std::string> type_names(DTypeSet set) {
  std::vector<std::string> out;
  for (DType t : in_order(set)) out.emplace_back(dtype_name(t));
  return out;
}

std::vector<std::string> value_texts(const AttrValue& allowed) {
  std::vector<std::string> out;
  if (const auto* types = allowed.get_if<std::vector<DType>>()) {
    DTypeSet set;
    for (DType t : *types) set = set | DTypeSet(t);
    return type_names(set);
  }
  if (const auto* texts = allowed.get_if<std::vector<std::string>>()) {
    for (const std::string& s : *texts) out.push_back(summarize_attr(AttrValue::of(s)));
  } else if (const auto* numbers = allowed.get_if<std::vector<int64_t>>()) {
    for (int64_t n : *numbers) out.push_back(std::to_string(n));
  } else if (const auto* flags = allowed.get_if<std::vector<bool>>()) {
    for (bool b : *flags) out.emplace_back(b ? "true" : "false");
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Both lists, each value once, in order.
std::vector<std::string> joined(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::set<std::string> all(a.begin(), a.end());
  all.insert(b.begin(), b.end());
  DTypeSet types;
  for (const std::string& v : all) {
    auto type = parse_dtype(v);
    if (!type) return {all.begin(), all.end()};
    types = types | DTypeSet(*type);
  }
  return type_names(types);
}

bool same_place(const KernelRow& a, const KernelRow& b) {
  return a.device_type == b.device_type && a.label == b.label && a.priority == b.priority &&
         a.host_memory_args == b.host_memory_args && a.constraints.size() == b.constraints.size();
}

// `into` takes over `row` if they differ in the values of one constraint at most.
bool merge(KernelRow& into, const KernelRow& row) {
  if (!same_place(into, row)) return false;
  size_t differing = into.constraints.size();
  for (size_t i = 0; i < into.constraints.size(); ++i) {
    if (into.constraints[i].attr != row.constraints[i].attr) return false;
    if (into.constraints[i].values == row.constraints[i].values) continue;
    if (differing < into.constraints.size()) return false;
    differing = i;
  }
  if (differing == into.constraints.size()) return true;
  auto& values = into.constraints[differing].values;
  values = joined(values, row.constraints[differing].values);
  return true;
}

// One pass that puts each row into the first earlier one that can take it. True if some could.
bool merge_once(std::vector<KernelRow>& rows) {
  std::vector<KernelRow> kept;
  for (KernelRow& row : rows) {
    bool merged = std::any_of(kept.begin(), kept.end(), [&](KernelRow& k) { return merge(k, row); });
    if (!merged) kept.push_back(std::move(row));
  }
  bool any = kept.size() < rows.size();
  rows = std::move(kept);
  return any;
}

}  // namespace

std::vector<KernelRow> gather_kernels(const std::vector<KernelSignature>& kernels) {
  std::vector<KernelRow> rows;
  for (const KernelSignature& k : kernels) {
    KernelRow row{k.device_type, k.label, k.priority, {}, k.host_memory_args};
    for (const KernelConstraint& c : k.constraints) row.constraints.push_back({c.attr, value_texts(c.allowed_values)});
    rows.push_back(std::move(row));
  }
  while (merge_once(rows)) {
  }
  return rows;
}

}  // namespace emplace
