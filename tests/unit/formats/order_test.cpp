// The node order is TensorFlow's: compared with its algorithm written down as plainly as possible.
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "core/base/cat.h"
#include "tests/unit/formats/loading.h"

using namespace emplace;

namespace {

struct PlainNode {
  std::string op;
  std::vector<int> inputs, controls;
};

// GraphConstructor::InitFromEdges and Convert.
std::vector<int> plain_order(const std::vector<PlainNode>& nodes) {
  std::vector<int> pending(nodes.size());
  std::vector<std::vector<int>> outputs(nodes.size());
  std::set<int> ready;
  for (size_t n = 0; n < nodes.size(); ++n) {
    bool back_edge = false;
    for (int input : nodes[n].inputs) back_edge |= nodes[static_cast<size_t>(input)].op == "NextIteration";
    for (int input : nodes[n].inputs) outputs[static_cast<size_t>(input)].push_back(static_cast<int>(n));
    for (int input : nodes[n].controls) outputs[static_cast<size_t>(input)].push_back(static_cast<int>(n));
    bool loop = nodes[n].op == "Merge" && back_edge;
    pending[n] = static_cast<int>(nodes[n].controls.size() + (loop ? 1 : nodes[n].inputs.size()));
    if (pending[n] == 0) ready.insert(static_cast<int>(n));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    int n = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(n);
    for (int reader : outputs[static_cast<size_t>(n)]) {
      if (--pending[static_cast<size_t>(reader)] == 0) ready.insert(reader);
    }
  }
  return order;
}

std::string name_of(int n) { return cat("n", n); }

std::string to_file(const std::vector<PlainNode>& nodes) {
  std::string text = "{\"node\": [";
  for (size_t n = 0; n < nodes.size(); ++n) {
    append(text, n ? ",\n" : "", "{\"name\": \"", name_of(static_cast<int>(n)), "\", \"op\": \"", nodes[n].op,
           "\", \"input\": [");
    bool first = true;
    for (int i : nodes[n].inputs) append(text, first ? "\"" : ", \"", name_of(i), "\""), first = false;
    for (int i : nodes[n].controls) append(text, first ? "\"^" : ", \"^", name_of(i), "\""), first = false;
    text += "]}";
  }
  return text + "]}";
}

}  // namespace

TEST_CASE("nodes are numbered as TensorFlow builds them") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    // A graph in order, with loops, whose nodes are then shuffled.
    std::vector<PlainNode> sorted(2 + random() % 30);
    int merge = -1;
    for (size_t n = 0; n < sorted.size(); ++n) {
      auto before = [&] { return static_cast<int>(random() % n); };
      sorted[n].op = "AddN";
      for (size_t k = n ? random() % 4 : 0; k > 0; --k) sorted[n].inputs.push_back(before());
      for (size_t k = n ? random() % 3 : 0; k > 0; --k) sorted[n].controls.push_back(before());
      if (n > 2 && random() % 5 == 0) {
        sorted[n].op = "Merge";
        sorted[n].inputs = {before(), before()};
        merge = static_cast<int>(n);
      } else if (merge >= 0 && random() % 5 == 0) {
        sorted[n].op = "NextIteration";
        sorted[n].inputs = {merge};
        sorted[static_cast<size_t>(merge)].inputs[1] = static_cast<int>(n);
        merge = -1;
      }
    }
    std::vector<int> place(sorted.size());
    for (size_t n = 0; n < place.size(); ++n) place[n] = static_cast<int>(n);
    if (round % 3 != 0) std::shuffle(place.begin(), place.end(), random);
    std::vector<PlainNode> nodes(sorted.size());
    for (size_t n = 0; n < sorted.size(); ++n) {
      PlainNode moved = sorted[n];
      for (int& i : moved.inputs) i = place[static_cast<size_t>(i)];
      for (int& i : moved.controls) i = place[static_cast<size_t>(i)];
      nodes[static_cast<size_t>(place[n])] = moved;
    }
    std::vector<int> expected = plain_order(nodes);
    REQUIRE(expected.size() == nodes.size());

    Loaded f(to_file(nodes));
    REQUIRE(f.errors() == "");
    const Graph& g = f->graph;
    for (NodeId id = 0; id < g.num_nodes(); ++id) {
      const PlainNode& node = nodes[static_cast<size_t>(expected[id])];
      REQUIRE(g.name(id) == name_of(expected[id]));
      REQUIRE(g.find(g.name(id)) == id);
      REQUIRE(g.inputs(id).size() == node.inputs.size());
      for (size_t i = 0; i < node.inputs.size(); ++i) CHECK(g.name(g.inputs(id)[i].node) == name_of(node.inputs[i]));
      std::set<std::string_view> controls, wanted_names;
      for (const Endpoint& e : g.controls(id)) CHECK(controls.insert(g.name(e.node)).second);
      std::set<int> wanted(node.controls.begin(), node.controls.end());
      CHECK(controls.size() == wanted.size());
    }
  }
}

TEST_CASE("a cycle is named, node by node") {
  Loaded f(R"({"node": [
    {"name": "x", "op": "Placeholder"},
    {"name": "a", "op": "Add", "input": ["x", "c"]},
    {"name": "b", "op": "Neg", "input": ["a"]},
    {"name": "c", "op": "Neg", "input": ["b"]},
    {"name": "d", "op": "Neg", "input": ["c"]},
    {"name": "e", "op": "NoOp", "input": ["^e"]}]})");
  CHECK(f.problems().count() == 2);
  CHECK(f.error() == "these nodes wait for each other: a -> b -> c -> a");
  CHECK(f.problems().list()[1].message == "these nodes wait for each other: e -> e");
}
