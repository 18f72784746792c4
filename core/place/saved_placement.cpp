// --placement-out and --placement-in: a placement as a JSON document.
#include "core/base/json_writer.h"
#include "core/place/overrides.h"

namespace emplace {

std::string save_placement(const Graph& graph, const DeviceSet& devices, const Placement& placement) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("schema_version", 1).member("placement_hash", placement_hash(graph, devices, placement));
  json.key("placement").begin_array();
  for (NodeId node : placement.order) {
    json.begin_object().member("name", graph.name(node)).member("op", graph.op(node));
    json.member("device", devices.at(placement.device(node)).name).end_object();
  }
  json.end_array().end_object();
  return out + '\n';
}

}  // namespace emplace
