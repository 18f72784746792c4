#include "tests/unit/place/place_fixture.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "core/base/cat.h"
#include "core/device/device_text.h"

namespace emplace {

DeviceSet device_set(std::string_view names) {
  DeviceSet set;
  set.runnable = false;
  std::istringstream words{std::string(names)};
  for (std::string word; words >> word;) {
    Device d;
    d.name = word.starts_with('/') ? word : cat("/job:localhost/replica:0/task:0/device:", word);
    d.parsed = *DeviceName::parse(d.name);
    d.type = *d.parsed.type;
    set.devices.push_back(std::move(d));
  }
  return set;
}

PlacedGraph::PlacedGraph(const std::string& nodes, std::string_view names) : devices(device_set(names)) {
  Problems problems;
  file = load(Source::from_text("test", cat("{\"node\": [", nodes, "]}")), {}, problems);
  if (problems.empty()) validate(*file, problems);
  INFO(problems.to_string(*file->source));
  REQUIRE(problems.empty());
}

PlacedGraph& PlacedGraph::assign(std::string_view node, const std::string& device) {
  options.assigned.emplace_back(id(node), device);
  return *this;
}

PlacedGraph& PlacedGraph::place() {
  Result<Placement> result = emplace::place(*file, devices, options, offenders);
  INFO(result.status().message());
  REQUIRE(result.ok());
  placement = result.take();
  return *this;
}

Status PlacedGraph::failure() {
  Status status = emplace::place(*file, devices, options, offenders).take_status();
  for (std::string& line : offenders) {
    if (line.starts_with("test:")) line.erase(0, line.find(' ') + 1);
  }
  return status;
}

NodeId PlacedGraph::id(std::string_view node) const {
  const NodeId found = file->graph.find(node);
  INFO("node " << node);
  REQUIRE(found != kNoNode);
  return found;
}

std::string PlacedGraph::device(std::string_view node) const {
  return short_device_name(devices, placement.device(id(node)));
}
std::string PlacedGraph::reason(std::string_view node) const {
  return std::string(reason_code(placement.of(id(node)).reason));
}
std::string PlacedGraph::text(std::string_view node) const { return reason_text(placement, id(node)); }

std::string PlacedGraph::candidates(std::string_view node) const {
  std::string out;
  for (const Candidate& c : candidates_of(placement, id(node))) {
    append(out, out.empty() ? "" : ", ", short_device_name(devices, c.device), ' ', verdict_code(c.verdict));
  }
  return out;
}

std::string PlacedGraph::order() const {
  std::string out;
  for (NodeId n : placement.order) append(out, out.empty() ? "" : " ", file->graph.name(n));
  return out;
}

CopyPlan PlacedGraph::copies() const { return plan_copies(*file, devices, placement); }

}  // namespace emplace
