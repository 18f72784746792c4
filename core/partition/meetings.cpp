#include "core/partition/meetings.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string>

#include "core/base/cat.h"

namespace emplace {
namespace {

std::string text_of(const Graph& graph, NodeId node) {
  return cat("collective '", meeting_of(graph, node), "' (node '", graph.name(node), "'): ");
}

}  // namespace

const std::string& meeting_of(const Graph& graph, NodeId node) { return graph.attrs(node).text("shared_name"); }

bool is_collective(const Graph& graph, NodeId node) { return graph.traits(node).collective; }

// Kahn's order of meetings and other nodes, of which the one that comes last in the graph's order waits.
std::vector<NodeId> order_for_meetings(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::map<std::string, std::vector<NodeId>> members;
  for (NodeId id : nodes) {
    if (is_collective(graph, id)) members[meeting_of(graph, id)].push_back(id);
  }
  if (members.empty()) return nodes;
  std::vector<NodeId> unit(graph.num_nodes(),
                           kNoNode);  // by node: the last member of its meeting, else itself; kNoNode: not run
  for (NodeId id : nodes) unit[id] = id;
  for (const auto& [name, met] : members) {
    for (NodeId id : met) unit[id] = met.back();
  }
  std::vector<uint32_t> missing(graph.num_nodes());
  std::vector<std::vector<NodeId>> readers(graph.num_nodes());
  for (NodeId id : nodes) {
    auto depend = [&](std::span<const Endpoint> edges) {
      for (const Endpoint& e : edges) {
        if (unit[e.node] == kNoNode || unit[e.node] == unit[id]) continue;
        ++missing[unit[id]];
        readers[unit[e.node]].push_back(unit[id]);
      }
    };
    depend(graph.inputs(id));
    depend(graph.controls(id));
  }
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id : nodes) {
    if (unit[id] == id && missing[id] == 0) ready.push(id);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId next = ready.top();
    ready.pop();
    if (is_collective(graph, next)) {
      const auto& met = members[meeting_of(graph, next)];
      order.insert(order.end(), met.begin(), met.end());
    } else {
      order.push_back(next);
    }
    for (NodeId reader : readers[next]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  return order.size() == nodes.size() ? order : nodes;
}

Status check_meetings(const Graph& graph, const Program& program) {
  struct Meeting {
    InstructionId first, last;
    int64_t members = 0;
  };
  std::map<std::string, Meeting> meetings;
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    const Instruction& s = program.instructions[id];
    if (s.kind != InstructionKind::kNode || !is_collective(graph, s.node)) continue;
    if (s.may_be_dead || s.in_loop)
      return unimplemented(cat(text_of(graph, s.node), "no collectives below a Switch or in a loop"));
    Meeting& meeting = meetings.try_emplace(meeting_of(graph, s.node), Meeting{id, id}).first->second;
    meeting.last = id;
    ++meeting.members;
  }
  for (const auto& [name, meeting] : meetings) {
    const NodeId node = program.instructions[meeting.first].node;
    const int64_t wanted = graph.attrs(node).integer("num_devices");
    if (meeting.members != wanted) {
      return invalid_argument(
          cat(text_of(graph, node), "a step runs ", meeting.members, " of its nodes, but num_devices is ", wanted));
    }
    for (InstructionId id = meeting.first; id < meeting.last; ++id) {
      const Instruction& s = program.instructions[id];
      if (s.kind == InstructionKind::kCopy ||
          (s.kind == InstructionKind::kNode && is_collective(graph, s.node) && meeting_of(graph, s.node) == name))
        continue;
      return unimplemented(cat(text_of(graph, node),
                               "its nodes wait for each other's results, or for one that a step's check comes before"));
    }
  }
  return ok_status();
}

}  // namespace emplace
