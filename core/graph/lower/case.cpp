// Part of core/graph/lower/control_flow.h: Case: as If, with a _SwitchN in place of each Switch (lower_case_op.cc).
// None of its nodes is tied to another: TensorFlow forgets what the Case was to be with, and gives each _SwitchN a
// `_class` that names its source without "loc:@", which ties nothing.
#include "core/base/cat.h"
#include "core/graph/lower/attr_reading.h"
#include "core/graph/lower/control_flow.h"

namespace emplace {

Status lower_case(GrowingGraph& grown, const FunctionalSite& site) {
  const AttrValue* written = site.type->view().find("branches");
  const auto* functions = written ? written->get_if<std::vector<FuncValue>>() : nullptr;
  if (!functions || functions->empty() || site.inputs.empty())
    return grown.failure(site, Code::kInvalidArgument, "says no functions for its branches");
  std::vector<Branch> branches;
  for (size_t b = 0; b < functions->size(); ++b)
    branches.push_back({&(*functions)[b], grown.new_name(site.name, cat("branch", b)), kNoNode});
  const AttrValue* num_outs = add_value(grown.graph, AttrValue::of(static_cast<int64_t>(branches.size())));
  const uint32_t outs = add_attrs(grown.graph, {{"num_outs", num_outs}});
  const Endpoint index = site.inputs[0], indices[] = {index, index};
  const NodeId decision = grown.add(grown.new_name(site.name, "branch_index"),
                                    {grown.ops.switch_n, site.device, outs, site.origin}, indices, site.controls);
  for (uint32_t b = 0; b < branches.size(); ++b) {
    const Endpoint taken{decision, b};
    branches[b].pivot = grown.add(grown.new_name(site.name, cat("pivot_", b)),
                                  {grown.ops.identity, site.device, 0, site.origin}, {&taken, 1});
  }
  std::vector<NodeId> switches;
  for (size_t i = 1; i < site.inputs.size(); ++i) {
    const Endpoint source = site.inputs[i], inputs[] = {source, index};
    const std::string_view name = grown.graph.name(source.node);
    switches.push_back(grown.add(grown.new_name(site.name, name),
                                 {grown.ops.switch_n, grown.device_of(source.node), outs, site.origin}, inputs));
  }
  join_branches(grown, site, branches, switches, {false, "merge", 0});
  return ok_status();
}

}  // namespace emplace
