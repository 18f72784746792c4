// Part of core/place/overrides.h: --placement-out and --placement-in: a placement as a JSON document.
#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/base/schema.h"
#include "core/formats/json_reader.h"
#include "core/place/overrides.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

struct Entry {
  std::string_view name, device;
  size_t position = 0;
};

std::string_view take_text(JsonReader& json) {
  if (json.peek() == Kind::kString) return json.take_string();
  json.skip();
  return {};
}

// {"name": ..., "device": ...}; what else the object holds does not matter.
Entry read_entry(JsonReader& json) {
  Entry entry;
  const bool is_object = json.peek() == Kind::kObject;
  entry.position = json.position();
  if (!is_object) {
    json.skip();
    return entry;
  }
  json.enter_object();
  for (std::string_view key; json.next_key(key);) {
    if (key == "name") {
      entry.name = take_text(json);
    } else if (key == "device") {
      entry.device = take_text(json);
    } else {
      json.skip();
    }
  }
  return entry;
}

class PlacementReader {
 public:
  PlacementReader(const Graph& graph, const Source& source) : graph_(graph), json_(source.text(), problems_, arena_) {}

  std::vector<std::pair<NodeId, std::string>> read() {
    if (json_.peek() != Kind::kObject) {
      json_.problem(0, "a saved placement is an object", "write one with --placement-out");
      return {};
    }
    bool found = false;
    json_.enter_object();
    for (std::string_view key; json_.next_key(key);) {
      if (key == "schema_version") {
        const Kind kind = json_.peek();
        const size_t position = json_.position();
        const std::string_view version = json_.skip();
        Status known = check_schema(Document::kSavedPlacement, version);
        if (check_schema(Document::kPlacement, version).ok()) known = ok_status();  // what place --format json wrote
        if (kind != Kind::kError && !known.ok())
          json_.problem(position, known.message(), "write it again with --placement-out");
      } else if (key == "placement" && json_.peek() == Kind::kArray) {
        found = true;
        json_.enter_array();
        while (json_.next_element()) add(read_entry(json_));
      } else {
        json_.skip();
      }
    }
    json_.finish();
    if (!found && !json_.failed()) json_.problem(0, "no list 'placement'", "write one with --placement-out");
    return std::move(nodes_);
  }

  const Problems& problems() const { return problems_; }

 private:
  void add(const Entry& entry) {
    if (json_.failed()) return;
    if (entry.name.empty() || entry.device.empty()) {
      return json_.problem(entry.position, "an entry of 'placement' needs a name and a device");
    }
    if (const NodeId node = graph_.find(entry.name); node != kNoNode) {
      nodes_.emplace_back(node, entry.device);
      return;
    }
    json_.problem(entry.position, cat("the graph has no node '", entry.name, '\''));
  }

  const Graph& graph_;
  Problems problems_;
  TextArena arena_;
  JsonReader json_;
  std::vector<std::pair<NodeId, std::string>> nodes_;
};

}  // namespace

Result<std::vector<std::pair<NodeId, std::string>>> read_placement(const Graph& graph, const std::string& path) {
  Result<std::shared_ptr<const Source>> opened = Source::open(path);
  if (!opened.ok()) return opened.status().with_context("--placement-in");
  const std::shared_ptr<const Source> source = opened.take();
  PlacementReader reader(graph, *source);
  std::vector<std::pair<NodeId, std::string>> nodes = reader.read();
  if (!reader.problems().empty()) return invalid_argument(reader.problems().to_string(*source));
  return nodes;
}

std::string save_placement(const Graph& graph, const DeviceSet& devices, const Placement& placement) {
  std::string out;
  JsonWriter json(out);
  write_schema(json.begin_object(), Document::kSavedPlacement)
      .member("placement_hash", placement_hash(graph, devices, placement));
  json.key("placement").begin_array();
  for (NodeId node : placement.order) {
    json.begin_object().member("name", graph.name(node)).member("op", graph.op(node));
    json.member("device", devices.at(placement.device(node)).name).end_object();
  }
  json.end_array().end_object();
  return out + '\n';
}

}  // namespace emplace
