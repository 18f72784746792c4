#include "core/formats/graph_builder.h"

#include <charconv>
#include <utility>

#include "core/base/cat.h"

namespace emplace {
namespace {

bool parse_slot(std::string_view text, uint32_t& slot) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
  return error == std::errc() && end == text.data() + text.size() && slot < (uint32_t{1} << 31);
}

}  // namespace

void GraphBuilder::expect(size_t nodes, size_t edges) {
  graph_.nodes_.reserve(nodes);
  graph_.edges_.reserve(edges);
  open_.names.reserve(nodes);
}

GraphBuilder::Pending GraphBuilder::pending(std::string_view name, uint32_t slot) const {
  uint32_t tag = NameIndex::hash(name);
  open_.names.prefetch(tag);
  return {name, tag, slot};
}

bool GraphBuilder::add_input(std::string_view reference, std::string_view scope) {
  bool control = reference.starts_with('^');
  if (control) reference.remove_prefix(1);
  std::string_view output;
  uint32_t slot = 0;
  if (size_t colon = reference.find(':'); colon != std::string_view::npos) {
    std::string_view after = reference.substr(colon + 1);
    reference = reference.substr(0, colon);
    if (size_t second = after.find(':'); second != std::string_view::npos && c_.in_function) {
      output = after.substr(0, second);
      after = after.substr(second + 1);
    }
    if (control || !parse_slot(after, slot)) return false;
  }
  if (reference.empty()) return false;
  auto& list = control ? controls_ : data_;
  if (!scope.empty() || !output.empty()) {
    open_.input_texts.push_back({control, static_cast<uint32_t>(list.size()), reference, scope, output});
    ++pending_texts_;
  }
  list.push_back(scope.empty() ? pending(reference, slot) : Pending{{}, 0, slot});
  return true;
}

void GraphBuilder::drop_inputs() {
  data_.clear();
  controls_.clear();
  open_.input_texts.resize(open_.input_texts.size() - pending_texts_);
  pending_texts_ = 0;
}

void GraphBuilder::name_is_taken(const NewNode& n, NodeId by) {
  if (c_.problems.full()) return c_.problems.add(n.position, {});
  auto first = graph_.nodes_[by].position;
  c_.problems.add(n.position, cat("a second node named '", n.name, "'"),
                  first == kNoPosition
                      ? std::string()
                      : cat("the first is ", c_.source.binary() ? "at byte " : "in line ",
                            c_.source.binary() ? first : c_.source.locate(static_cast<size_t>(first)).line));
}

NodeId GraphBuilder::define(const NewNode& n) {
  NumberedNames::Name& name = open_.names[open_.names.number(n.name, tag_of(n.name))];
  if (name.node != kNoNode) {
    name_is_taken(n, name.node);
    return kNoNode;
  }
  name.node = graph_.num_nodes();
  Node node;
  node.name = n.name;
  node.position = n.position;
  node.op = n.op;
  node.device = n.device;
  node.attr_set = n.attr_set;
  node.first_input = static_cast<uint32_t>(graph_.edges_.size());
  graph_.nodes_.push_back(node);
  return name.node;
}

NodeId GraphBuilder::add_source(const NewNode& n) { return define(n); }

void GraphBuilder::add_edges(const std::vector<Pending>& inputs) {
  for (const Pending& input : inputs) {
    graph_.edges_.push_back({input.name.empty() ? kNoNode : open_.names.number(input.name, input.tag), input.slot});
  }
}

NodeId GraphBuilder::add_node(const NewNode& n) {
  NodeId id = define(n);
  if (id == kNoNode) {
    drop_inputs();
    return id;
  }
  Node& node = graph_.nodes_[id];
  node.num_inputs = static_cast<uint32_t>(data_.size());
  node.num_controls = static_cast<uint32_t>(controls_.size());
  add_edges(data_);
  add_edges(controls_);
  for (size_t i = open_.input_texts.size() - pending_texts_; i < open_.input_texts.size(); ++i) {
    open_.input_texts[i].edge += node.first_input + (open_.input_texts[i].control ? node.num_inputs : 0);
  }
  pending_texts_ = 0;
  data_.clear();
  controls_.clear();
  return id;
}

}  // namespace emplace
