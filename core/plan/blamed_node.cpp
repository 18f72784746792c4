#include "core/plan/blamed_node.h"

#include <string>
#include <utility>

namespace emplace {

Status attach_node(Status status, std::string_view node_name) {
  if (status.ok() || status.message().find("[[{{node ") != std::string::npos) return status;
  std::string message = status.message() + "\n\t [[{{node " + std::string(node_name) + "}}]]";
  return Status(status.code(), std::move(message)).blamed(status.blame()).at_node(node_name);
}

}  // namespace emplace
