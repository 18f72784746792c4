#include "core/op/op_table.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/op/table_text.h"

namespace emplace {
namespace {

void for_each_line(std::string_view text, auto&& f) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size() - 1);
    f(text.substr(0, text[end] == '\n' ? end : end + 1));
    text.remove_prefix(end + 1);
  }
}

bool same_args(const std::vector<ArgSignature>& a, const std::vector<ArgSignature>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ArgSignature& x, const ArgSignature& y) {
    return x.name == y.name && x.type == y.type && x.type_attr == y.type_attr && x.number_attr == y.number_attr &&
           x.type_list_attr == y.type_list_attr && x.is_ref == y.is_ref;
  });
}

// Equal but for allowed values and minima of attrs, which may differ between versions of TensorFlow.
bool same_signature(const OpSignature& a, const OpSignature& b) {
  return same_args(a.inputs, b.inputs) && same_args(a.outputs, b.outputs) &&
         std::equal(
             a.attrs.begin(), a.attrs.end(), b.attrs.begin(), b.attrs.end(),
             [](const AttrSignature& x, const AttrSignature& y) { return x.name == y.name && x.type == y.type; });
}

}  // namespace

struct OpTable::Impl {
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  template <class T>
  using ByName = std::unordered_map<std::string, T, Hash, std::equal_to<>>;

  ByName<OpSignature> ops;                       // read so far
  ByName<std::vector<KernelSignature>> kernels;  // read so far
  ByName<bool> declared_kernels;                 // ops whose kernels come from the graph file
};

OpTable::OpTable() : impl_(std::make_unique<Impl>()) {}
OpTable::~OpTable() = default;

const OpSignature* OpTable::find(std::string_view op) {
  if (auto it = impl_->ops.find(op); it != impl_->ops.end()) return &it->second;
  std::string_view line = lines_of(tensorflow_tables().ops, op);
  if (line.empty()) line = lines_of(extra_tables().ops, op);
  if (line.empty()) return nullptr;
  line.remove_suffix(1);
  return &impl_->ops.emplace(op, read_op_line(line)).first->second;
}

const std::vector<KernelSignature>& OpTable::kernels(std::string_view op) {
  if (auto it = impl_->kernels.find(op); it != impl_->kernels.end()) return it->second;
  std::vector<KernelSignature>& list = impl_->kernels[std::string(op)];
  for (std::string_view table : {tensorflow_tables().kernels, extra_tables().kernels}) {
    for_each_line(lines_of(table, op), [&](std::string_view line) { read_kernel_line(line, list); });
  }
  return list;
}

Status OpTable::declare(OpSignature op) {
  if (const OpSignature* known = find(op.name)) {
    if (same_signature(*known, op)) return ok_status();
    return already_exists(cat("op '", op.name, "' is known with another signature"));
  }
  std::string name = op.name;
  impl_->ops.emplace(std::move(name), std::move(op));
  return ok_status();
}

void OpTable::declare_kernel(std::string_view op, KernelSignature kernel) {
  std::vector<KernelSignature>& list = impl_->kernels[std::string(op)];
  if (impl_->declared_kernels.emplace(op, true).second) list.clear();
  list.push_back(std::move(kernel));
}

std::vector<std::string_view> OpTable::names() const {
  std::vector<std::string_view> out;
  for (std::string_view table : {tensorflow_tables().ops, extra_tables().ops}) {
    for_each_line(table, [&](std::string_view line) {
      if (!line.starts_with('#')) out.push_back(line.substr(0, line.find(' ')));
    });
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace emplace
