/// How If, Case and While are made of Switch, Merge and their kin, and of calls of their functions, as in TensorFlow
/// (lower_if_op.cc, lower_case_op.cc, lower_while_op.cc).
#pragma once

#include <span>
#include <string_view>

#include "core/graph/lower/growing_graph.h"

namespace emplace {

Status lower_if(GrowingGraph& grown, const FunctionalSite& site);
Status lower_case(GrowingGraph& grown, const FunctionalSite& site);
Status lower_while(GrowingGraph& grown, const FunctionalSite& site);

/// Of an If or Case.
struct Branch {
  const FuncValue* function;
  std::string_view call_name;
  NodeId pivot;  // runs if the branch does
};
/// In what the ends of an If (`two_way`) and a Case differ.
struct JoinForm {
  bool two_way;
  std::string_view merge_name;
  uint32_t merge_attrs;
};
/// From the calls on they are alike. `switches` hand the inputs to the branches.
void join_branches(GrowingGraph& grown, const FunctionalSite& site, std::span<const Branch> branches,
                   std::span<const NodeId> switches, const JoinForm& form);

}  // namespace emplace
