#include "core/run_request.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/base/cat.h"
#include "core/base/host_memory.h"
#include "core/formats/proto_source.h"
#include "core/graph/lookup.h"
#include "core/graph/lower/lower.h"
#include "core/graph/node_kernel.h"
#include "core/graph/type_table.h"
#include "core/sequence_values.h"
#include "core/tensor/feed.h"

namespace emplace {
namespace {

Status flag_error(std::string_view flag, const NameError& error) {
  return not_found(cat("--", flag, ": ", error.text())).blamed(Blame::kUsage);
}

/// Does `value` fit the fed tensor? TensorFlow's words if not.
Status check_feed(const Graph& g, std::string_view name, Endpoint tensor, const Tensor& value) {
  DType wanted = base_type(g.output_type(tensor));
  if (value.dtype() != wanted) {
    return invalid_argument(cat("cannot feed a value of type ", dtype_name(value.dtype()), " for tensor '", name,
                                "', which has type ", dtype_name(wanted)));
  }
  if (!g.output_shape(tensor).compatible_with(value.shape())) {
    return invalid_argument(cat("cannot feed a value of shape ", value.shape().to_string(), " for tensor '", name,
                                "', which has shape ", g.output_shape(tensor).to_string()));
  }
  return ok_status();
}

/// Helpers that stand beside a variable and are nobody's result: its initial assignment and its state query.
bool serves_variable(const Graph& g, NodeId node) {
  std::string_view name = g.name(node);
  for (std::string_view suffix : {"/Assign", "/IsInitialized/VarIsInitializedOp"}) {
    if (!name.ends_with(suffix)) continue;
    NodeId variable = g.find(name.substr(0, name.size() - suffix.size()));
    if (variable != kNoNode && g.traits(variable).variable) return true;
  }
  return false;
}

bool has_text(DType type) { return base_type(type) != DType::kResource && base_type(type) != DType::kVariant; }

/// Every output that no node consumes, in file order.
std::vector<Fetch> default_fetches(const Graph& g, const std::vector<NodeId>& init) {
  Consumers consumers(g);
  std::vector<NodeId> order(g.num_nodes());
  for (NodeId id = 0; id < g.num_nodes(); ++id) order[id] = id;
  std::stable_sort(order.begin(), order.end(),
                   [&](NodeId a, NodeId b) { return g.node(a).position < g.node(b).position; });
  std::vector<Fetch> fetches;
  std::vector<char> consumed;
  for (NodeId id : order) {
    uint32_t outputs = g.num_outputs(id);
    if (outputs == 0 || serves_variable(g, id) || std::find(init.begin(), init.end(), id) != init.end()) continue;
    consumed.assign(outputs, 0);
    for (const auto& edge : consumers.of(id)) {
      if (edge.input >= 0) consumed[edge.slot] = 1;
    }
    for (uint32_t slot = 0; slot < outputs; ++slot) {
      if (consumed[slot] || !has_text(g.output_type({id, slot}))) continue;
      fetches.push_back({slot == 0 ? std::string(g.name(id)) : cat(g.name(id), ":", slot), {id, slot}});
    }
  }
  return fetches;
}

/// The names of a TF.js signature stand for its tensors.
const std::string& tensor_name(const GraphFile& file, const std::string& name) {
  auto alias = file.signature_names.find(name);
  return alias != file.signature_names.end() && file.graph.find(name) == kNoNode ? alias->second : name;
}

/// How often a text holds this name, whole.
int count_name(std::string_view text, std::string_view name) {
  const auto continues = [&](size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  int count = 0;
  for (size_t at = 0; !name.empty() && (at = text.find(name, at)) != std::string_view::npos; at += name.size()) {
    count += !(at > 0 && continues(at - 1)) && !continues(at + name.size());
  }
  return count;
}

/// May there be a node of that name in what could not be read? One of a variable in short form has its name before a
/// '/'; one that is not a node here may be spelled there.
bool may_stand_in(const Graph& unsound, const Graph& sound, std::string_view name) {
  const bool begins = std::any_of(unsound.nodes_.begin(), unsound.nodes_.end(), [&](const Node& node) {
    return name.starts_with(node.name) && (name.size() == node.name.size() || name[node.name.size()] == '/');
  });
  return begins || (&unsound != &sound && count_name(unsound.source_->text(), name) > 1);
}

/// See check_request_names().
bool is_tensor(const Graph& g, const Graph* unsound, std::string_view name, NameError& error) {
  if (unsound) {
    const std::string_view node = name.substr(0, name.rfind(':'));
    if (g.find(node) != kNoNode || may_stand_in(*unsound, g, node)) return true;
  }
  return find_tensor(g, name, error).node != kNoNode;
}

/// Of a resource variable, what reads its value; any other tensor is itself. A variable that nobody reads stays a
/// handle.
Endpoint value_of_variable(const GraphFile& file, Endpoint tensor) {
  const Graph& g = file.graph;
  if (g.output_type(tensor) != DType::kResource) return tensor;
  for (const FileVariable& v : file.variables) {
    if (v.variable == tensor.node) return {v.read, 0};
  }
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (g.traits(id).reads_variable && g.inputs(id)[0] == tensor && g.controls(id).empty()) return {id, 0};
  }
  return tensor;
}

uint64_t key_of(Endpoint e) { return uint64_t{e.node} << 32 | e.slot; }

/// The fed tensors of a request.
class FedTensors {
 public:
  explicit FedTensors(const RunRequest& request) {
    for (const auto& [tensor, value] : request.feeds) keys_.insert(key_of(tensor));
    for (Endpoint tensor : request.fed_anew) keys_.insert(key_of(tensor));
  }
  bool contains(Endpoint e) const { return keys_.contains(key_of(e)); }

 private:
  std::unordered_set<uint64_t> keys_;
};

std::string what_cannot_run(std::string_view op) { return cat("op '", op, "'"); }

std::string what_cannot_run(const NodeType& type) {
  return type.def ? cat(what_cannot_run(type.op), " for ", dtype_tf_name(kernel_type(type))) : what_cannot_run(type.op);
}

/// By type.
std::vector<char> runnable_types(const Graph& g) {
  std::vector<char> runnable;
  for (const NodeType& type : g.types()) runnable.push_back(cpu_kernel(type) != nullptr);
  return runnable;
}

/// What cannot be run, each once: its first node, and how many there are.
class Unrunnable {
 public:
  void add(NodeId id, std::string what) { ++nodes_.try_emplace(std::move(what), id, 0).first->second.second; }

  /// What to do is said once, with the last of them.
  void report(const Graph& g, Problems& problems) const {
    const auto position = [&](const auto& entry) { return g.node(entry.second.first).position; };
    const auto last = std::max_element(nodes_.begin(), nodes_.end(),
                                       [&](const auto& a, const auto& b) { return position(a) < position(b); });
    for (auto it = nodes_.begin(); it != nodes_.end(); ++it) {
      const auto& [first, count] = it->second;
      std::string others = count > 1 ? cat(" (and ", count - 1, " more)") : "";
      problems.add(position(*it), cat("emplace cannot run ", it->first, ", of node '", g.name(first), "'", others),
                   it == last ? "'emplace ops' lists what it runs; 'emplace place' needs no kernels; a tensor behind "
                                "such a node can be fed"
                              : "",
                   Code::kUnimplemented);
    }
  }

 private:
  std::map<std::string, std::pair<NodeId, int64_t>> nodes_;
};

}  // namespace

std::vector<NodeId> initializers(const GraphFile& file) {
  const Graph& g = file.graph;
  std::vector<NodeId> nodes;
  if (file.has_init) {
    for (const NamedRef& ref : file.init) nodes.push_back(g.find(ref.name));
    return nodes;
  }
  if (NodeId init = g.find("init"); init != kNoNode) return {init};
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).variable) continue;
    if (NodeId assign = g.find(cat(g.name(id), "/Assign")); assign != kNoNode) nodes.push_back(assign);
  }
  return nodes;
}

namespace {

/// Of the flags: does one name exactly that?
bool is_fed(const RunOptions& options, std::string_view name) {
  return std::any_of(options.feed.begin(), options.feed.end(), [&](const std::string& feed) {
    return feed.size() > name.size() && feed[name.size()] == '=' && feed.starts_with(name);
  });
}

/// Its tensors, if the name is that of a sequence and not only of one of them.
std::optional<SequenceInput> fed_sequence(const Graph& g, const RunOptions& options, const std::string& name) {
  return is_fed(options, cat(name, "_sizes")) ? std::nullopt : find_sequence_input(g, name);
}

}  // namespace

Status resolve_feeds(const GraphFile& file, const RunOptions& options, RunRequest& request) {
  const HostUseScope use(HostUse::kFeeds);
  const Graph& g = file.graph;
  std::unordered_map<uint64_t, size_t> numbers;  // of the feeds, by tensor
  auto put = [&](Endpoint tensor, Tensor value) {
    auto [at, is_new] = numbers.try_emplace(key_of(tensor), request.feeds.size());
    if (is_new)
      request.feeds.emplace_back(tensor, std::move(value));
    else
      request.feeds[at->second].second = std::move(value);
  };
  NameError error;
  for (const auto& [ref, value] : file.feed) put(find_tensor(g, tensor_name(file, ref.name), error), value);
  std::unordered_set<uint64_t> fed;  // by flags, which go before the file
  for (const std::string& feed : options.feed) {
    auto equals = feed.find('=');
    if (equals == std::string::npos) return invalid_argument(cat("--feed: '", feed, "' has no '='; write NAME=VALUE"));
    std::string name = feed.substr(0, equals);
    if (const auto sequence = fed_sequence(g, options, tensor_name(file, name))) {
      auto parts = parse_sequence_feed(feed.substr(equals + 1), g.output_type(sequence->values), *sequence);
      if (!parts.ok()) return parts.take_status().with_context(cat("--feed ", name));
      if (!fed.insert(key_of(sequence->values)).second)
        return invalid_argument(cat("--feed: '", name, "' is fed twice"));
      for (auto& [tensor, value] : *parts) put(tensor, std::move(value));
      continue;
    }
    Endpoint tensor = find_fed_tensor(g, tensor_name(file, name), error);
    if (tensor.node == kNoNode) return flag_error("feed", error);
    Result<Tensor> value =
        parse_feed(feed.substr(equals + 1), base_type(g.output_type(tensor)), g.output_shape(tensor));
    if (!value.ok()) return value.take_status().with_context(cat("--feed ", name));
    RETURN_IF_ERROR(check_feed(g, name, tensor, *value).with_context("--feed"));
    if (!fed.insert(key_of(tensor)).second) return invalid_argument(cat("--feed: '", name, "' is fed twice"));
    put(tensor, value.take());
  }
  return ok_status();
}

void check_request_names(const GraphFile& file, const Graph* unsound, Problems& problems) {
  const Graph& g = file.graph;
  NameError error;
  for (const NamedRef& ref : file.fetch) {
    auto gradient = parse_gradient_name(ref.name);
    const bool known = gradient
                           ? is_tensor(g, unsound, gradient->loss, error) && is_tensor(g, unsound, gradient->x, error)
                           : is_tensor(g, unsound, tensor_name(file, ref.name), error);
    if (!known) problems.add(ref.position, cat("fetch: ", error.message), error.hint);
  }
  for (const auto* list : {&file.target, &file.init}) {
    for (const NamedRef& ref : *list) {
      if (find_node(g, ref.name, error) == kNoNode && !(unsound && may_stand_in(*unsound, g, ref.name))) {
        problems.add(ref.position, cat(list == &file.target ? "target: " : "init: ", error.message), error.hint);
      }
    }
  }
  for (const auto& [ref, value] : file.feed) {
    const std::string& name = tensor_name(file, ref.name);
    if (unsound) {
      if (!is_tensor(g, unsound, name, error)) problems.add(ref.position, cat("feed: ", error.message), error.hint);
      continue;
    }
    const Endpoint tensor = find_fed_tensor(g, name, error);
    if (tensor.node == kNoNode) {
      problems.add(ref.position, cat("feed: ", error.message), error.hint);
    } else if (Status status = check_feed(g, ref.name, tensor, value); !status.ok()) {
      problems.add(ref.position, cat("feed: ", status.message()));
    }
  }
}

Status check_flag_gradients(const GraphFile& file, const RunOptions& options) {
  for (const std::string& name : options.fetch) {
    const auto gradient = parse_gradient_name(name);
    NameError error;
    if (gradient && (find_tensor(file.graph, gradient->loss, error).node == kNoNode ||
                     find_tensor(file.graph, gradient->x, error).node == kNoNode))
      return not_found(cat("--fetch '", name, "': ", error.text())).blamed(Blame::kUsage);
  }
  return ok_status();
}

std::vector<NamedRef> fetch_names(const GraphFile& file, const RunOptions& options) {
  if (options.fetch.empty()) return file.fetch;
  std::vector<NamedRef> names;
  const auto is_asked = [&](const std::string& name) {
    return std::find(options.fetch.begin(), options.fetch.end(), name) != options.fetch.end();
  };
  for (const std::string& name : options.fetch) {
    names.push_back({name, kNoPosition});
    const auto named = [&](const NamedRef& ref) { return ref.name == name; };
    auto at = std::find_if(file.fetch.begin(), file.fetch.end(), named);
    // The other tensors of a sequence follow it.
    for (const char* ending : {"_sizes", "_ranks", "_given"}) {
      if (at == file.fetch.end() || ++at == file.fetch.end() || at->name != name + ending) break;
      if (!is_asked(at->name)) names.push_back({at->name, kNoPosition});
    }
  }
  return names;
}

Result<std::vector<Fetch>> resolve_fetches(const GraphFile& file, const std::vector<NamedRef>& names,
                                           const NamedTensors& gradients, Problems& problems) {
  const Graph& g = file.graph;
  std::vector<Fetch> fetches;
  for (const NamedRef& ref : names) {
    NameError error;
    auto gradient = gradients.find(ref.name);
    Endpoint tensor =
        gradient != gradients.end() ? gradient->second : find_tensor(g, tensor_name(file, ref.name), error);
    if (tensor.node == kNoNode) return flag_error("fetch", error);
    tensor = value_of_variable(file, tensor);
    if (!has_text(g.output_type(tensor))) {
      const std::string text =
          cat("'", ref.name, "' is a ", dtype_tf_name(g.output_type(tensor)), " handle, which cannot be fetched");
      const bool of_file = ref.position != kNoPosition;
      if (of_file) problems.add(ref.position, cat("fetch: ", text));
      return invalid_argument(text).blamed(of_file ? Blame::kFile : Blame::kUsage);
    }
    fetches.push_back({ref.name, tensor});
  }
  return fetches;
}

namespace {

/// Then its variables have values, and what would give them their first ones may read some that have none.
bool restores_meta_graph(const GraphFile& file, const RunOptions& options) {
  const auto* source = dynamic_cast<const ProtoSource*>(file.source.get());
  return source && source->format() == GraphFormat::kMetaGraph && !options.restore.empty();
}

Result<RunRequest> resolve(const GraphFile& file, const RunOptions& options, const NamedTensors& gradients,
                           Problems& problems) {
  const Graph& g = file.graph;
  RunRequest request;
  request.init = initializers(file);
  NameError error;
  if (!options.fetch.empty() || file.has_fetch) {
    ASSIGN_OR_RETURN(request.fetches, resolve_fetches(file, fetch_names(file, options), gradients, problems));
  } else if (options.target.empty() && file.target.empty()) {
    request.fetches = default_fetches(g, request.init);
  }
  for (const std::string& name : options.target) {
    NodeId node = find_node(g, name, error);
    if (node == kNoNode && name.find("://") != name.npos)
      return invalid_argument(cat("--target: '", name, "' is a server, no node; write --master ", name))
          .blamed(Blame::kUsage);
    if (node == kNoNode) return flag_error("target", error);
    request.targets.push_back(node);
  }
  for (const NamedRef& ref : file.target) {
    if (options.target.empty()) request.targets.push_back(g.find(ref.name));
  }
  if (request.fetches.empty() && request.targets.empty()) {
    constexpr std::string_view kNothing = "Must specify at least one target to fetch or execute.";
    if (g.num_nodes() == 0) return invalid_argument(cat(kNothing, " The graph has no node.")).blamed(Blame::kFile);
    return invalid_argument(cat(kNothing, " No node has an output to print; name one to run: --target NODE"));
  }
  RETURN_IF_ERROR(resolve_feeds(file, options, request));
  if (restores_meta_graph(file, options))
    std::erase_if(request.init, [&](NodeId node) { return g.traits(node).assigns; });
  return request;
}

}  // namespace

Result<RunRequest> resolve_request(const GraphFile& file, const RunOptions& options, const NamedTensors& gradients,
                                   Problems& problems) {
  Result<RunRequest> request = resolve(file, options, gradients, problems);
  if (!request.ok()) return request.status().blamed(Blame::kUsage);
  return request;
}

std::vector<char> needed_nodes(const Graph& g, const RunRequest& request) {
  const FedTensors fed(request);
  std::vector<char> needed(g.num_nodes());
  std::vector<NodeId> stack = request.init;
  stack.insert(stack.end(), request.targets.begin(), request.targets.end());
  for (const Fetch& fetch : request.fetches) stack.push_back(fetch.tensor.node);
  while (!stack.empty()) {
    NodeId id = stack.back();
    stack.pop_back();
    if (needed[id]) continue;
    needed[id] = 1;
    for (Endpoint input : g.inputs(id)) {
      if (!fed.contains(input)) stack.push_back(input.node);
    }
    for (Endpoint control : g.controls(id)) stack.push_back(control.node);
  }
  return needed;
}

void name_by_keys(const RunOptions& options, RunRequest& request) {
  const size_t count = std::min(options.fetch_keys.size(), request.fetches.size());
  for (size_t i = 0; i < count; ++i) {
    if (options.fetch_keys[i].empty()) continue;
    request.fetches[i].name = options.fetch_keys[i];
    request.fetches[i].by_key = true;
  }
}

std::vector<Endpoint> fed_tensors(const GraphFile& file, const RunOptions& options) {
  std::vector<Endpoint> fed;
  const auto add = [&](std::string_view name) {
    NameError error;
    const Endpoint tensor = find_tensor(file.graph, name, error);
    if (tensor.node != kNoNode) fed.push_back(tensor);
  };
  for (const auto& [name, value] : file.feed) add(tensor_name(file, name.name));
  for (const std::string& feed : options.feed) {
    const std::string typed = feed.substr(0, feed.find('='));
    const std::string& name = tensor_name(file, typed);
    add(name);
    const auto sequence = fed_sequence(file.graph, options, name);
    if (!sequence) continue;
    for (const Endpoint e : {sequence->sizes, sequence->ranks, sequence->given}) {
      if (e.node != kNoNode) fed.push_back(e);
    }
  }
  return fed;
}

std::vector<NodeId> unfed_placeholders(const GraphFile& file, const RunRequest& request) {
  const Graph& g = file.graph;
  const std::vector<char> needed = needed_nodes(g, request);
  const FedTensors fed(request);
  std::vector<NodeId> unfed;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (needed[id] && g.traits(id).placeholder && !fed.contains({id, 0})) unfed.push_back(id);
  }
  return unfed;
}

void check_runnable(const GraphFile& file, const RunRequest& request, Problems& problems) {
  const Graph& g = file.graph;
  const std::vector<char> needed = needed_nodes(g, request), runnable = runnable_types(g);
  Unrunnable found;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (needed[id] && !runnable[g.node(id).type]) found.add(id, what_cannot_run(g.type(id)));
  }
  found.report(g, problems);
}

void check_all_runnable(const GraphFile& file, const Graph* typed, Problems& problems) {
  const Graph& g = file.graph;
  const std::vector<char> runnable = typed ? runnable_types(*typed) : std::vector<char>();
  Unrunnable found;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    const NodeId known = typed == &g ? id : typed ? typed->find(g.name(id)) : kNoNode;
    const uint32_t type = known == kNoNode ? TypeTable::kNone : typed->node(known).type;
    const std::string_view op = g.op(id);
    if (is_functional_op(file, op)) continue;  // what it is replaced by may run
    if (type != TypeTable::kNone) {
      if (!runnable[type]) found.add(id, what_cannot_run(typed->type(known)));
    } else if ((file.ops->find(op) || file.library.contains(std::string(op))) && !OpLibrary::find(op)) {
      found.add(id, what_cannot_run(op));
    }
  }
  found.report(g, problems);
}

}  // namespace emplace
