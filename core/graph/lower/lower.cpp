#include "core/graph/lower/lower.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/graph/lower/lowering.h"
#include "core/graph/node_order.h"
#include "core/graph/shape_pass.h"
#include "core/graph/type_pass.h"
#include "core/op/trait_table.h"

namespace emplace {
namespace {

/// What a lowered file keeps alive: the file that it was made of, whose ops, functions and attr values it points to,
/// and the function bodies that were made for calls.
struct Loan {
  std::shared_ptr<const GraphFile> file;
  std::vector<std::unique_ptr<Graph>> bodies;

  void give_back(GraphFile* borrower) {
    static_cast<void>(borrower->ops.release());
    for (auto& [name, function] : borrower->library) static_cast<void>(function.body.release());
    delete borrower;
  }
};

/// A file with all but the graph and what speaks of its nodes.
std::shared_ptr<GraphFile> borrow(const std::shared_ptr<Loan>& loan) {
  const GraphFile& file = *loan->file;
  std::shared_ptr<GraphFile> made(new GraphFile, [loan](GraphFile* borrower) { loan->give_back(borrower); });
  made->source = file.source;
  made->ops.reset(file.ops.get());
  for (const auto& [name, function] : file.library) {
    Function& same = made->library[name];
    same.signature = function.signature;
    same.body.reset(function.body.get());
  }
  made->fetch = file.fetch;
  made->target = file.target;
  made->init = file.init;
  made->has_fetch = file.has_fetch;
  made->has_init = file.has_init;
  made->feed = file.feed;
  made->signature_names = file.signature_names;
  made->config = file.config;
  made->cluster = file.cluster;
  made->producer = file.producer;
  made->min_consumer = file.min_consumer;
  made->bad_consumers = file.bad_consumers;
  made->train_json = file.train_json;
  made->data_json = file.data_json;
  made->declared_text = file.declared_text;
  return made;
}

/// Text ids and attr sets are those of `from`, whose attr values `to` points to.
void share_texts_and_attrs(const Graph& from, Graph& to) {
  to.texts_.share_all(from.texts_);
  to.source_ = from.source_;
  to.attr_sets_ = from.attr_sets_;
}

/// The file's variables, as far as `to` has their nodes under the same names.
void take_variables(const GraphFile& from, GraphFile& to) {
  const auto find = [&](NodeId node) { return node == kNoNode ? kNoNode : to.graph.find(from.graph.name(node)); };
  for (FileVariable v : from.variables) {
    v.variable = find(v.variable);
    v.assign = find(v.assign);
    v.read = find(v.read);
    v.initial_value.node = find(v.initial_value.node);
    if (v.variable != kNoNode) to.variables.push_back(v);
  }
}

/// Inputs before what reads them. By node before: the new id; empty: they were in order.
std::vector<NodeId> put_in_order(Graph& graph, Problems& problems) {
  NodeOrder order = tensorflow_order(graph, {});
  for (const std::vector<NodeId>& cycle : order.cycles) {
    std::string path;
    for (NodeId id : cycle) append(path, graph.name(id), " -> ");
    problems.add(graph.node(cycle[0]).position,
                 cat("once functions are lowered, these nodes wait for each other: ", path, graph.name(cycle[0])));
  }
  if (order.cycles.empty() && !order.new_id.empty()) renumber(graph, order.new_id);
  return std::move(order.new_id);
}

}  // namespace

bool is_functional_op(const GraphFile& file, std::string_view op) {
  if (file.library.empty()) return false;
  return traits_of(op).functional != Functional::kNone || file.library.contains(std::string(op));
}

bool has_functional_nodes(const GraphFile& file) {
  const auto& types = file.graph.types();
  return std::any_of(types.begin(), types.end(), [&](const NodeType& t) { return is_functional_op(file, t.op); });
}

Lowered lower(std::shared_ptr<const GraphFile> of, const LowerOptions& options, Problems& problems) {
  const GraphFile& file = *of;
  auto loan = std::make_shared<Loan>(Loan{std::move(of), {}});
  Lowered lowered;
  lowered.file = borrow(loan);
  Graph& graph = lowered.file->graph;
  share_texts_and_attrs(file.graph, graph);
  std::vector<uint32_t> origins;
  {
    Lowering lowering(file, options, graph, lowered, loan->bodies);
    if (Status status = lowering.run(); !status.ok()) {
      problems.add(lowering.failed_at(), status.message(), {}, status.code());
      return lowered;
    }
    origins = lowering.finish();
  }
  lowered.order = put_in_order(graph, problems);
  if (!problems.empty()) return lowered;
  if (!lowered.order.empty()) {
    std::vector<uint32_t> in_order(origins.size());
    for (size_t i = 0; i < origins.size(); ++i) in_order[lowered.order[i]] = origins[i];
    origins = std::move(in_order);
  }
  lowered.num_made = static_cast<uint32_t>(
      std::count_if(origins.begin(), origins.end(), [](uint32_t origin) { return origin != Origins::kFile; }));
  lowered.origins.set_nodes(std::move(origins));
  take_variables(file, *lowered.file);
  Problems warnings, contradictions;
  TypePass(*lowered.file, graph, problems, warnings).run();
  if (problems.empty()) ShapePass(graph, contradictions).run();
  return lowered;
}

std::shared_ptr<GraphFile> cut_to_step(std::shared_ptr<const GraphFile> of, const CutOptions& options) {
  const GraphFile& file = *of;
  const Graph& from = file.graph;
  std::vector<char> needed(from.num_nodes(), options.roots.empty());
  std::vector<NodeId> open = options.roots;
  const auto is_fed = [&](const Endpoint& e) {
    return std::find(options.feeds.begin(), options.feeds.end(), e) != options.feeds.end();
  };
  // Fed nodes stay, with their inputs: a feed replaces one output, not the node.
  for (const Endpoint& feed : options.roots.empty() ? std::vector<Endpoint>() : options.feeds)
    open.push_back(feed.node);
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (std::exchange(needed[node], 1)) continue;
    for (const Endpoint& e : from.inputs(node)) {
      if (!is_fed(e)) open.push_back(e.node);
    }
    for (const Endpoint& e : from.controls(node)) open.push_back(e.node);
  }

  std::shared_ptr<GraphFile> made = borrow(std::make_shared<Loan>(Loan{std::move(of), {}}));
  Graph& graph = made->graph;
  share_texts_and_attrs(from, graph);
  graph.types_ = from.types_;
  graph.shapes_ = from.shapes_;
  graph.output_shapes_ = from.output_shapes_;
  std::vector<NodeId> new_id(from.num_nodes(), kNoNode);
  for (NodeId i = 0; i < from.num_nodes(); ++i) {
    const NodeId node = options.order.empty() ? i : options.order[i];
    if (!needed[node]) continue;
    new_id[node] = graph.num_nodes();
    Node copy = from.node(node);
    if (!options.device_names.empty()) copy.device = graph.intern(options.device_names[node]);
    graph.nodes_.push_back(copy);
  }
  for (NodeId i = 0; i < from.num_nodes(); ++i) {
    const NodeId node = options.order.empty() ? i : options.order[i];
    if (!needed[node]) continue;
    Node& copy = graph.nodes_[new_id[node]];
    copy.first_input = static_cast<uint32_t>(graph.edges_.size());
    for (const Endpoint& e : from.inputs(node)) graph.edges_.push_back({new_id[e.node], e.slot});
    for (const Endpoint& e : from.controls(node)) graph.edges_.push_back({new_id[e.node], 0});
  }
  for (NodeId id = 0; id < graph.num_nodes(); ++id) graph.index_name(id);
  Problems none;  // it was in order before
  put_in_order(graph, none);
  take_variables(file, *made);
  return made;
}

}  // namespace emplace
