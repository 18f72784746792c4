#include "core/place/node_text.h"

#include "core/base/cat.h"
#include "core/graph/node_summary.h"
#include "core/op/attr_text.h"

namespace emplace {
namespace {

// The members of a list attr as proto text names them: "type: DT_FLOAT type: DT_HALF".
std::string proto_list_text(const AttrValue& list) {
  std::string out;
  if (const auto* types = list.get_if<std::vector<DType>>()) {
    for (DType t : *types) append(out, " type: ", dtype_enum_name(t));
  } else if (const auto* texts = list.get_if<std::vector<std::string>>()) {
    for (const std::string& s : *texts) append(out, " s: ", summarize_attr(AttrValue::of(s)));
  } else if (const auto* numbers = list.get_if<std::vector<int64_t>>()) {
    for (int64_t n : *numbers) append(out, " i: ", n);
  } else if (const auto* flags = list.get_if<std::vector<bool>>()) {
    for (bool b : *flags) append(out, " b: ", b);
  }
  return out;
}

}  // namespace

std::string registered_kernels_text(const std::vector<KernelSignature>& kernels) {
  std::string out;
  for (const KernelSignature& k : kernels) {
    append(out, "  device='", k.device_type, '\'');
    if (!k.label.empty()) append(out, "; label='", k.label, '\'');
    for (const KernelConstraint& c : k.constraints) append(out, "; ", c.attr, " in ", summarize_attr(c.allowed_values));
    out += '\n';
  }
  return out.empty() ? "  <no registered kernels>\n" : out;
}

std::string kernel_def_text(std::string_view op, const KernelSignature& k) {
  std::string out = cat("op: \"", op, "\" device_type: \"", k.device_type, '"');
  for (const KernelConstraint& c : k.constraints) {
    append(out, " constraint { name: \"", c.attr, "\" allowed_values { list {", proto_list_text(c.allowed_values),
           " } } }");
  }
  for (const std::string& arg : k.host_memory_args) append(out, " host_memory_arg: \"", arg, '"');
  if (!k.label.empty()) append(out, " label: \"", k.label, '"');
  if (k.priority != 0) append(out, " priority: ", k.priority);
  return out;
}

std::string node_debug_text(const Graph& graph, NodeId node, std::string_view requested, std::string_view assigned) {
  constexpr NodeId kFirstId = 2;  // SOURCE and SINK come before
  return cat("{name:'", graph.name(node), "' id:", node + kFirstId, " op device:{requested: '", requested,
             "', assigned: '", assigned, "'} def:{", summarize_node(graph, node, requested), "}}");
}

std::string attach_node(std::string message, std::string_view node_name) {
  const bool named = message.find("{{node ") != message.npos;
  append(message, named ? "\n\t [[" : "\n\t [[{{node ", node_name, named ? "]]" : "}}]]");
  return message;
}

}  // namespace emplace
