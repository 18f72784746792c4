#include "core/graph/lower/lowering.h"

#include "core/graph/lower/attr_reading.h"
#include "core/graph/lower/control_flow.h"

namespace emplace {
namespace {

// Attrs of nodes that XLA or a TPU compiles: TensorFlow does not lower these.
bool is_compiled(const NodeType& type) {
  const auto text = [&](std::string_view name) {
    const AttrValue* value = type.view().find(name);
    const std::string* string = value ? value->get_if<std::string>() : nullptr;
    return string && !string->empty();
  };
  return flag_set(type, "_XlaMustCompile") || text("_xla_compile_id") || text("_tpu_replicate");
}

}  // namespace

Status Lowering::run() {
  for (NodeId node = 0; node < grown_.next_id(); ++node) {
    if (!grown_.is_replaced(node) && !grown_.facts(node).left_alone) RETURN_IF_ERROR(visit(node));
  }
  return ok_status();
}

Status Lowering::visit(NodeId node) {
  const FunctionalOp kind = bodies_.kind_of(grown_.graph.node(node).op);
  switch (kind) {
    case FunctionalOp::kIf:
    case FunctionalOp::kCase:
    case FunctionalOp::kWhile:
      return lower_control_flow(node, kind);
    case FunctionalOp::kCall:
    case FunctionalOp::kNativeCall: {
      if (!options_.inline_calls && grown_.is_of_file(node)) return ok_status();
      ASSIGN_OR_RETURN(const Body* body, inliner_.body_to_inline(node, kind));
      return body ? inliner_.inline_call(node, kind, *body) : ok_status();
    }
    default:
      return ok_status();
  }
}

Status Lowering::lower_control_flow(NodeId node, FunctionalOp kind) {
  const NodeType* type = grown_.facts(node).type;
  if (!type) return ok_status();
  const bool marked = flag_set(*type, kLowerFlag) && !is_compiled(*type);
  if (!marked && !options_.all) return ok_status();
  FunctionalSite site = grown_.open_site(node);
  site.origin = grown_.origins.add({site.name, {}, site.caller, grown_.origins.at(site.caller).depth});
  if (kind == FunctionalOp::kIf) return lower_if(grown_, site);
  if (kind == FunctionalOp::kCase) return lower_case(grown_, site);
  return lower_while(grown_, site);
}

}  // namespace emplace
