#include "core/report/draw/page_data.h"

#include <cmath>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/stop.h"
#include "core/device/device_text.h"
#include "core/report/draw/arrangement.h"
#include "core/report/draw/box_text.h"
#include "core/report/explain_facts.h"
#include "core/report/placement_log.h"

namespace emplace {
namespace {

/// Texts that many nodes share, each once.
class TextTable {
 public:
  uint32_t add(std::string_view text) {
    const auto [found, is_new] = index_.try_emplace(printable(text), static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(&found->first);
    return found->second;
  }
  void write(JsonWriter& json) const {
    json.key("texts").begin_array();
    for (const std::string* text : texts_) json.value(*text);
    json.end_array();
  }

 private:
  std::unordered_map<std::string, uint32_t> index_;
  std::vector<const std::string*> texts_;
};

class PageData {
 public:
  PageData(const Picture& picture, const ScopeTree& tree)
      : picture_(picture), tree_(tree), report_(*picture.report), json_(out_), leaf_of_(picture.nodes.size()) {
    for (uint32_t leaf = 0; leaf < tree.leaves.size(); ++leaf) leaf_of_[tree.leaves[leaf]] = leaf;
  }

  std::string write(const std::vector<bool>& open, DrawColor color) {
    json_.begin_object();
    json_.member("file", printable(report_.path)).member("part", printable(picture_.part));
    json_.member("summary", placement_summary(report_.file->graph, *report_.devices, *report_.options,
                                              *report_.placement, *report_.copies));
    json_.member("color", color == DrawColor::kTime ? "time" : color == DrawColor::kMemory ? "memory" : "device");
    write_devices();
    json_.key("open").begin_array();
    for (uint32_t s = 1; s < open.size(); ++s) {
      if (open[s]) json_.value(s);
    }
    json_.end_array();
    write_names();
    write_facts();
    write_numbers();
    write_scopes();
    write_edges();
    write_copies();
    texts_.write(json_);
    json_.end_object();
    return std::move(out_);
  }

 private:
  /// An array with one value per node, in the page's order.
  template <class F>
  void column(std::string_view name, const F& value_of) {
    json_.key(name).begin_array();
    for (const uint32_t i : tree_.leaves) {
      if (look_.stop_requested()) break;
      json_.value(value_of(i));
    }
    json_.end_array();
  }
  template <class F>
  void text_column(std::string_view name, const F& text_of) {
    column(name, [&](uint32_t i) { return texts_.add(text_of(picture_.nodes[i].node)); });
  }

  void write_devices() {
    std::vector<uint32_t> nodes_on(report_.devices->size());
    for (const PictureNode& node : picture_.nodes) ++nodes_on[node.device];
    const std::vector<std::string> badges = device_badges(*report_.devices);
    json_.key("devices").begin_array();
    for (DeviceId d = 0; d < nodes_on.size(); ++d) {
      json_.begin_object().member("name", printable(short_device_name(*report_.devices, d)));
      json_.member("badge", badges[d]).member("nodes", nodes_on[d]).end_object();
    }
    json_.end_array();
  }

  /// Names without the prefix of their scope; empty: the scope's own name.
  void write_names() {
    column("name", [&](uint32_t i) {
      const std::string& prefix = tree_.scopes[tree_.parent[i]].prefix;
      const std::string_view name = picture_.name(i);
      return printable(name.starts_with(prefix) ? name.substr(prefix.size()) : std::string_view());
    });
  }

  void write_facts() {
    const Graph& graph = picture_.graph();
    const Placement& placement = *report_.placement;
    text_column("op", [&](NodeId n) { return graph.op(n); });
    text_column("tensor", [&](NodeId n) { return tensor_text(graph, n); });
    text_column("reason", [&](NodeId n) { return reason_code(placement.of(n).reason); });
    text_column("why", [&](NodeId n) { return reason_text(placement, n); });
    text_column("asks", [&](NodeId n) { return requested_device(graph, *report_.options, n); });
    text_column("from", [&](NodeId n) { return report_.origins ? report_.origins->text(n) : std::string(); });
    text_column("link", [&](NodeId n) { return why_in_group(graph, placement, n); });
    text_column("verdicts", [&](NodeId n) {
      std::string text;
      for (const Candidate& c : candidates_of(placement, n)) {
        append(text, text.empty() ? "" : "; ", short_device_name(*report_.devices, c.device), ": ",
               verdict_code(c.verdict));
      }
      return text;
    });
  }

  void write_numbers() {
    std::unordered_map<uint32_t, uint32_t> members;
    for (const PictureNode& node : picture_.nodes) ++members[report_.placement->of(node.node).group];
    column("device", [&](uint32_t i) { return picture_.nodes[i].device; });
    column("bytes", [&](uint32_t i) { return picture_.nodes[i].bytes; });
    column("group", [&](uint32_t i) {
      const uint32_t group = report_.placement->of(picture_.nodes[i].node).group;
      return members[group] > 1 ? int64_t{group} : -1;
    });
    bool timed = false;
    for (const PictureNode& node : picture_.nodes) timed |= node.us >= 0;
    if (timed) {
      column("us",
             [&](uint32_t i) { return picture_.nodes[i].us < 0 ? -1 : std::round(picture_.nodes[i].us * 1e3) / 1e3; });
    } else {
      json_.key("us").null();
    }
  }

  /// Label, prefix of names, copies inside (how many, their bytes, how many of unknown size), parent, nodes, children,
  /// their layers, and where children and bends are when all is closed; lines between children, from the rim above, to
  /// the rim below: with the first of their bends.
  void write_scopes() {
    const std::vector<ScopeEdges> edges = edges_by_scope(picture_, tree_);
    json_.key("scopes").begin_array();
    for (uint32_t s = 0; s < tree_.scopes.size() && !stop_requested(); ++s) {
      const Scope& scope = tree_.scopes[s];
      const LayeredLayout layout =
          lay_out(scope_boxes(edges[s], std::vector<LayeredBox>(scope.children.size(), {kBoxWidth, kBoxHeight})));
      json_.begin_object().member("l", printable(scope.label)).member("n", printable(scope.prefix));
      if (scope.is_part) json_.member("q", scope.path.substr(scope.path.rfind('[')));
      if (scope.copies.count > 0) {
        json_.key("c").begin_array().value(scope.copies.count).value(scope.copies.bytes);
        json_.value(scope.copies.unknown).end_array();
      }
      json_.member("p", scope.parent).member("a", scope.first).member("e", scope.end).key("k").begin_array();
      for (const ScopeChild child : scope.children)
        json_.value(child.is_scope ? -int64_t{child.index} : int64_t{leaf_of_[child.index]});
      json_.end_array().key("y").begin_array();
      for (const uint32_t layer : layout.layer) json_.value(layer);
      json_.end_array().key("x").begin_array();
      for (const double x : layout.left) json_.value(std::llround(x));
      for (const double x : layout.bends) json_.value(std::llround(x));
      json_.end_array();
      write_lanes(edges[s], layout);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_lanes(const ScopeEdges& edges, const LayeredLayout& layout) {
    const auto boxes = static_cast<uint32_t>(layout.layer.size());
    json_.key("r").begin_array();
    for (uint32_t e = 0; e < edges.edges.size(); ++e) {
      if (layout.edge_lane[e].count == 0) continue;
      const LayeredEdge edge = edges.edges[e];
      json_.value(layout.back[e] ? edge.to : edge.from).value(layout.back[e] ? edge.from : edge.to);
      json_.value(boxes + layout.edge_lane[e].first);
    }
    json_.end_array();
    for (const auto& [name, lanes] : {std::pair("i", &layout.enter_lane), std::pair("o", &layout.exit_lane)}) {
      json_.key(name).begin_array();
      for (uint32_t b = 0; b < boxes; ++b) {
        if ((*lanes)[b].count > 0) json_.value(b).value(boxes + (*lanes)[b].first);
      }
      json_.end_array();
    }
  }

  /// Node by node: how many nodes it reads, and which; -1-n for control edges only.
  void write_edges() {
    std::vector<std::pair<uint32_t, uint32_t>> of(picture_.nodes.size());  // positions of the edges to each node
    for (uint32_t e = 0; e < picture_.edges.size(); ++e) {
      auto& [first, end] = of[picture_.edges[e].to];
      if (end == 0) first = e;
      end = e + 1;
    }
    json_.key("edges").begin_array();
    for (const uint32_t i : tree_.leaves) {
      json_.value(of[i].second - of[i].first);
      for (uint32_t e = of[i].first; e < of[i].second; ++e) {
        const int64_t from = leaf_of_[picture_.edges[e].from];
        json_.value(picture_.edges[e].tensors > 0 ? from : -1 - from);
      }
    }
    json_.end_array();
  }

  void write_copies() {
    std::vector<uint32_t> position(picture_.graph().num_nodes(), kAbsent);
    for (uint32_t i = 0; i < picture_.nodes.size(); ++i) position[picture_.nodes[i].node] = leaf_of_[i];
    json_.key("copies").begin_array();
    for (const Copy& copy : report_.copies->copies) {
      if (copy.inside || copy.control || position[copy.tensor.node] == kAbsent) continue;
      json_.begin_object().member("tensor", printable(copied_tensor(picture_.graph(), copy)));
      json_.member("node", position[copy.tensor.node]).member("from", copy.from).member("to", copy.to);
      json_.key("bytes");
      copy.bytes ? json_.value(*copy.bytes) : json_.null();
      json_.key("readers").begin_array();
      for (const NodeId reader : copy.readers) {
        if (position[reader] != kAbsent) json_.value(position[reader]);
      }
      json_.end_array().end_object();
    }
    json_.end_array();
  }

  static constexpr uint32_t kAbsent = ~uint32_t{0};

  const Picture& picture_;
  const ScopeTree& tree_;
  const PlaceReport& report_;
  std::string out_;
  JsonWriter json_;
  std::vector<uint32_t> leaf_of_;  // by node of the picture: its number in the page
  TextTable texts_;
  OccasionalLook look_;
};

}  // namespace

std::string page_data(const Picture& picture, const ScopeTree& tree, const std::vector<bool>& open, DrawColor color) {
  const std::string json = PageData(picture, tree).write(open, color);
  std::string safe;
  safe.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '<')
      safe += "\\u003c";
    else
      safe += json[i];
  }
  return safe;
}

}  // namespace emplace
