/// OpenReferences: what the nodes of a file say of each other by name, until all nodes are known. GraphBuilder collects
/// it, resolve_references() puts nodes in the place of names.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

/// All names that were defined or referred to, numbered. Edges hold these numbers until the references are resolved.
class NumberedNames {
 public:
  struct Name {
    const char* text;
    uint32_t size;
    NodeId node;  // kNoNode: no node of that name so far
    std::string_view view() const { return {text, size}; }
  };

  void reserve(size_t names) {
    names_.reserve(names);
    index_.reserve(names);
  }
  /// Brings the place of a name with this NameIndex::hash() near.
  void prefetch(uint32_t tag) const { index_.prefetch(tag); }
  uint32_t number(std::string_view name) { return number(name, NameIndex::hash(name)); }
  uint32_t number(std::string_view name, uint32_t tag);
  /// NameIndex::kNone: it has no number.
  uint32_t find(std::string_view name) const {
    return index_.find(name, [this](uint32_t n) { return names_[n].view(); });
  }
  Name& operator[](uint32_t number) { return names_[number]; }
  const Name& operator[](uint32_t number) const { return names_[number]; }

  /// The index, with nodes in the place of numbers; the names are gone.
  NameIndex by_node();

 private:
  std::vector<Name> names_;
  NameIndex index_;
};

struct OpenReferences {
  struct InputText {  // an input whose meaning hangs on what is known at the end
    bool control;
    uint32_t edge;                 // among the pending ones, then in the graph
    std::string_view name, scope;  // scope: to be searched from
    std::string_view output;       // of a function body's "n:output:1"
  };
  /// `after` is built after the node named `before`, as if it read it.
  struct Order {
    std::string_view before, scope;
    NodeId after;
  };
  /// The `_class` of `node` names nodes as its inputs do.
  struct ScopedClass {
    NodeId node;
    std::string_view scope;
  };
  /// Inputs that name `variable` read `read` instead where their op wants neither a reference nor a handle. The
  /// variable's own nodes [first_own, end_own) are left as they are.
  struct Variable {
    NodeId variable, read, first_own, end_own;
  };

  NumberedNames names;
  std::vector<InputText> input_texts;
  std::vector<Order> orders;  // by ascending `after`
  std::vector<ScopedClass> scoped_classes;
  std::vector<Variable> variables;
};

struct LoadContext;

/// Puts nodes in the place of names and the nodes in TensorFlow's order: by old id the new one; empty if they stay as
/// they are. Adds problems about unknown names and cycles; if there are any, the graph cannot be used.
std::vector<NodeId> resolve_references(LoadContext& c, Graph& graph, OpenReferences& references);

}  // namespace emplace
