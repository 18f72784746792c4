#include "core/train/replica_check.h"

#include <map>

#include "core/base/cat.h"

namespace emplace {

Status check_replicas(const Graph& g, Session& session, const std::vector<std::pair<NodeId, NodeId>>& copies,
                      int64_t step) {
  std::map<NodeId, std::vector<NodeId>> by_original;  // one value at a time is here twice
  for (const auto& [copy, original] : copies) by_original[original].push_back(copy);
  for (const auto& [original, own_copies] : by_original) {
    ASSIGN_OR_RETURN(const Tensor value, session.variable(original));
    for (const NodeId copy : own_copies) {
      ASSIGN_OR_RETURN(const Tensor there, session.variable(copy));
      if (same_bytes(value, there)) continue;
      return internal_error(cat("replicas differ after step ", step, ": '", g.name(copy), "' on ",
                                g.requested_device(copy), " is not '", g.name(original), "' on ",
                                g.requested_device(original)));
    }
  }
  return ok_status();
}

}  // namespace emplace
