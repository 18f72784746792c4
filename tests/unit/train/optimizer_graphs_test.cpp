// What the optimizers add to a graph is what TensorFlow's Python adds: the recorded graphs lose their optimizer and get
// ours.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/base/cat.h"
#include "core/op/attr_text.h"
#include "core/train/optimizers/optimizer_list.h"
#include "core/train/optimizers/update_builder.h"
#include "tests/unit/read_gz.h"

namespace emplace {
namespace {

using nlohmann::json;

/// Of a node: what makes it up, attrs at their defaults included.
std::string describe(const Graph& g, NodeId id) {
  std::string out = cat(g.op(id), " on '", g.requested_device(id), "':");
  for (const Endpoint& e : g.inputs(id)) append(out, " ", g.name(e.node), ":", e.slot);
  std::set<std::string> controls;
  for (const Endpoint& e : g.controls(id)) controls.insert(std::string(g.name(e.node)));
  for (const std::string& name : controls) append(out, " ^", name);
  std::set<std::string> attrs;
  for (const auto& [name, value] : g.attrs(id).entries()) attrs.insert(cat(name, "=", summarize_attr(*value)));
  for (const std::string& text : attrs) append(out, " ", text);
  return out;
}

std::map<std::string, std::string> describe(const Graph& g) {
  std::map<std::string, std::string> out;
  for (NodeId id = 0; id < g.num_nodes(); ++id) out[std::string(g.name(id))] = describe(g, id);
  return out;
}

struct Recorded {
  explicit Recorded(const json& line) {
    source = Source::from_text(line["name"], line["graph"].dump());
    file = load(source, {}, problems);
    if (problems.empty()) validate(*file, problems);
    REQUIRE(problems.to_string(*source) == "");
    const json& train = line["train"];
    request.optimizer = train["optimizer"];
    request.learning_rate.number = train["learning_rate"].get<double>();
    for (const auto& [key, value] : train.items()) {
      const Optimizer* row = find_optimizer(request.optimizer);
      if (!row->find(key)) continue;
      request.arguments.push_back(
          {key, {value.is_boolean() ? double(value.get<bool>()) : value.get<double>()}, kNoPosition});
    }
  }

  /// The variables, each with the gradient that its Apply node reads.
  std::vector<GradientAndVariable> gradients() const {
    const Graph& g = file->graph;
    std::vector<GradientAndVariable> out;
    for (NodeId id = 0; id < g.num_nodes(); ++id) {
      if (g.op(id).find("Apply") == std::string_view::npos) continue;
      auto inputs = g.inputs(id);
      const bool momentum = g.op(id).ends_with("Momentum");
      out.push_back({inputs[inputs.size() - (momentum ? 2 : 1)], describe_variable(g, inputs[0].node)});
    }
    return out;
  }

  bool from_optimizer(NodeId id, const std::vector<GradientAndVariable>& gradients) const {
    std::string_view name = file->graph.name(id);
    if (name == "init" || name == "train" || name.starts_with("train/") || name.starts_with("beta1_power") ||
        name.starts_with("beta2_power"))
      return true;
    for (const GradientAndVariable& g : gradients) {
      for (std::string_view slot : {"/Adam", "/Adagrad", "/Momentum", "/RMSProp"}) {
        if (name.starts_with(cat(g.variable.name, slot))) return true;
      }
    }
    return false;
  }

  Problems problems;
  std::shared_ptr<const Source> source;
  std::unique_ptr<GraphFile> file;
  TrainRequest request;
};

}  // namespace

TEST_CASE("optimizers add the nodes that TensorFlow's Python adds") {
  std::istringstream lines(read_gz("training/optimizer_graphs.jsonl.gz"));
  for (std::string line; std::getline(lines, line);) {
    Recorded recorded(json::parse(line));
    INFO(recorded.source->name());
    std::map<std::string, std::string> want = describe(recorded.file->graph);
    want.erase("init");

    GraphEditor edit(*recorded.file);
    std::vector<GradientAndVariable> gradients = recorded.gradients();
    REQUIRE(!gradients.empty());
    std::vector<TrainVariable> variables;
    for (const GradientAndVariable& g : gradients) variables.push_back(g.variable);
    const uint32_t before = edit.graph().num_nodes();
    for (NodeId id = 0; id < before; ++id) {
      if (!recorded.from_optimizer(id, gradients)) continue;
      edit.rename(id, cat("old/", edit.graph().name(id)));
      edit.remove(id);
    }
    // What was renamed still counts as a taken name: the second graph starts afresh.
    edit.finish(recorded.problems);
    REQUIRE(recorded.problems.to_string(*recorded.source) == "");
    for (GradientAndVariable& g : gradients)
      g.gradient = edit.new_id(g.gradient), g.variable.node = edit.new_id(g.variable.node);
    for (size_t i = 0; i < variables.size(); ++i) variables[i] = gradients[i].variable;

    GraphEditor again(*recorded.file);
    const UpdateRule rule = update_rule(recorded.request);
    const OptimizerState state = add_optimizer_state(again, recorded.request, rule, variables);
    add_update(again, recorded.request, rule, state, gradients, {});
    REQUIRE(again.status().message() == "");
    again.finish(recorded.problems);
    REQUIRE(recorded.problems.to_string(*recorded.source) == "");
    std::map<std::string, std::string> got = describe(recorded.file->graph);
    for (const auto& [name, text] : want) {
      INFO(name);
      CHECK(got[name] == text);
    }
    CHECK(got.size() == want.size());
  }
}

}  // namespace emplace
