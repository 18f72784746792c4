#include "core/report/draw/scope_tree.h"

#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "core/report/draw/arrangement.h"
#include "tests/unit/place/place_fixture.h"

using namespace emplace;

namespace {

/// A graph of constants with these names, and the tree of their scopes, as text: "a(b c(d))".
struct Scopes {
  Scopes(const std::vector<std::string>& names, DrawGroup group, size_t most_children = 100) : graph(text_of(names)) {
    graph.place();
    copies = graph.copies();
    report.file = graph.file.get();
    report.devices = &graph.devices;
    report.options = &graph.options;
    report.placement = &graph.placement;
    report.copies = &copies;
    picture = make_picture(report, {});
    tree = make_scope_tree(picture, group, most_children);
  }

  static std::string text_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
      append(text, text.empty() ? "" : ",\n", R"({"name": ")", name, R"(", "op": "Const", "attr": {"value": "s"}})");
    return text;
  }

  std::string text(uint32_t scope = 0) const {
    std::string out;
    for (const ScopeChild child : tree.scopes[scope].children) {
      append(out, out.empty() ? "" : " ", child.is_scope ? tree.scopes[child.index].label : tree.labels[child.index]);
      if (child.is_scope) append(out, '(', text(child.index), ')');
    }
    return out;
  }

  PlacedGraph graph;
  CopyPlan copies;
  PlaceReport report;
  Picture picture;
  ScopeTree tree;
};

}  // namespace

TEST_CASE("scopes: a prefix of two nodes is one", "[draw]") {
  CHECK(Scopes({"a/x", "a/y", "b"}, DrawGroup::kScopes).text() == "a(x y) b");
  CHECK(Scopes({"a/x", "b/y"}, DrawGroup::kScopes).text() == "a/x b/y");
  CHECK(Scopes({"a/b/x", "a/b/y", "c"}, DrawGroup::kScopes).text() == "a/b(x y) c");
  CHECK(Scopes({"a/b/x", "a/b/y", "a/c"}, DrawGroup::kScopes).text() == "a(b(x y) c)");
}

TEST_CASE("scopes: a node with the name of a scope is inside it", "[draw]") {
  const Scopes s({"w", "w/read", "w/Assign", "x"}, DrawGroup::kScopes);
  CHECK(s.text() == "w((w) read Assign) x");
  CHECK(s.tree.scopes[1].prefix == "w/");
}

TEST_CASE("scopes: by device, and without any", "[draw]") {
  CHECK(Scopes({"a/x", "a/y", "b"}, DrawGroup::kDevice).text() == "CPU:0(a(x y) b)");
  CHECK(Scopes({"a/x", "a/y", "b"}, DrawGroup::kNone).text() == "a/x a/y b");
}

TEST_CASE("scopes: one with too many children has parts", "[draw]") {
  const Scopes s({"a", "b", "c", "d", "e"}, DrawGroup::kScopes, 2);
  CHECK(s.text() == "a .. a(a) b .. c(b c) d .. e(d e)");
  CHECK(s.tree.scopes[2].path == "[2]");
}

TEST_CASE("scopes: the outer ones are opened first, as far as there is room", "[draw]") {
  const Scopes s({"a/b/x", "a/b/y", "a/b/z", "a/c", "d/x", "d/y"}, DrawGroup::kScopes);
  REQUIRE(s.text() == "a(b(x y z) c) d(x y)");
  CHECK(choose_open(s.tree, -1, 100) == std::vector<bool>{true, true, true, true});
  CHECK(choose_open(s.tree, 1, 100) == std::vector<bool>{true, true, false, true});
  CHECK(choose_open(s.tree, 0, 100) == std::vector<bool>{true, false, false, false});
  CHECK(choose_open(s.tree, -1, 6) == std::vector<bool>{true, true, false, true});
  CHECK(choose_open(s.tree, -1, 1) == std::vector<bool>{true, false, false, false});
}

TEST_CASE("scopes: names of many slashes end somewhere", "[draw]") {
  std::vector<std::string> names;
  std::string name = "a";
  for (int i = 0; i < 300; ++i) names.push_back(name += "/a");
  const Scopes s(names, DrawGroup::kScopes);
  CHECK(s.tree.scopes.size() < 60);
  const std::vector<bool> open(s.tree.scopes.size(), true);
  CHECK(arrange(s.picture, s.tree, open, see(s.picture, s.tree, open)).scope[0].height > 300 * kBoxHeight / 20);
}
