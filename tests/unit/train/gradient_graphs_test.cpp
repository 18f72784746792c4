// Gradients are, node for node, those that TensorFlow's Python builds, as far as the variables need them.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/base/cat.h"
#include "core/train/gradients.h"
#include "tests/unit/formats/loading.h"
#include "tests/unit/read_gz.h"

namespace emplace {
namespace {

using nlohmann::json;

/// Op, inputs, what is waited for, colocation groups, frame.
std::string describe_gradient_node(const Graph& g, NodeId id) {
  std::string out(g.op(id));
  for (const Endpoint& e : g.inputs(id)) append(out, " ", g.name(e.node), ":", e.slot);
  std::set<std::string> controls;
  for (const Endpoint& e : g.controls(id)) controls.insert(std::string(g.name(e.node)));
  for (const std::string& name : controls) append(out, " ^", name);
  if (g.attrs(id).find("_class")) {
    for (const std::string& group : g.attrs(id).texts("_class")) append(out, " ", group);
  }
  if (g.attrs(id).find("frame_name")) append(out, " ", g.attrs(id).text("frame_name"));
  return out;
}

/// How many graphs `path` has.
int compare_graphs(const std::string& path) {
  std::istringstream lines(read_gz(path));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json recorded = json::parse(line);
    INFO(recorded["name"]);
    Loaded loaded(recorded["graph"].dump());
    GraphFile& file = *loaded.operator->();
    Problems problems;
    validate(file, problems);
    REQUIRE(loaded.errors() + problems.to_string(*file.source) == "");
    std::set<std::string> forward;
    for (NodeId id = 0; id < file.graph.num_nodes(); ++id) forward.insert(std::string(file.graph.name(id)));

    GraphEditor edit(file);
    std::vector<Endpoint> xs;
    for (const std::string name : recorded["variables"]) xs.push_back({edit.graph().find(name), 0});
    const Result<Gradients> made = add_gradients(edit, {edit.graph().find("loss"), 0}, xs);
    REQUIRE(made.status().message() == "");
    for (size_t i = 0; i < xs.size(); ++i) {
      const Endpoint gradient = made->of[i];
      CHECK(cat(edit.graph().name(gradient.node), ":", gradient.slot) == recorded["gradients"][i]);
    }
    edit.finish(problems);
    REQUIRE(problems.to_string(*file.source) == "");

    const json& want = recorded["nodes"];
    size_t added = 0;
    for (NodeId id = 0; id < file.graph.num_nodes(); ++id) {
      const std::string name(file.graph.name(id));
      if (forward.contains(name)) continue;
      ++added;
      INFO(name);
      CHECK(want.contains(name));
      // Python knows that the loss is a scalar, the shape of what comes out of the loop left open; a file does not
      // tell.
      if (want.contains(name) && name != "gradients/Shape")
        CHECK(describe_gradient_node(file.graph, id) == want[name].get<std::string>());
    }
    CHECK(added == want.size());
  }
  return count;
}

}  // namespace

TEST_CASE("gradients of loops are TensorFlow's nodes") { CHECK(compare_graphs("gradients/loop_graphs.jsonl.gz") == 7); }

TEST_CASE(
    "gradients of gradients of poolings and of batch normalisation, of the gamma functions, of sequences and of "
    "patches and projections of images are TensorFlow's nodes") {
  CHECK(compare_graphs("gradients/op_graphs.jsonl.gz") == 54);
}

}  // namespace emplace
