/// AttrSets: the `attr` objects of nodes. Nodes repeat each other's attrs word for word, so an object whose text was
/// met before (for the same op) is not read again.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "core/formats/load_context.h"
#include "core/graph/graph.h"

namespace emplace {

class AttrSets {
 public:
  AttrSets(LoadContext& c, Graph& g) : c_(c), graph_(g) {}

  /// Takes the next value, the attrs of a node; the number of their set. `op`: text id in the graph.
  uint32_t read(uint32_t op);
  /// A set of the graph with these attrs.
  uint32_t add(std::vector<Attrs::Entry> attrs);
  /// Keeps a value for as long as the graph lives.
  const AttrValue* keep(AttrValue value) { return &graph_.attr_values_.emplace_back(std::move(value)); }
  /// The one value of the graph that says this type.
  const AttrValue* type_value(DType type);

 private:
  struct OpSets {  // what one op's nodes had so far
    const OpSignature* signature = nullptr;
    NameIndex index;
    std::vector<std::pair<std::string_view, uint32_t>> sets;  // text, number
    uint32_t hits = 0;
    uint32_t last = 0;  // in `sets`: the one met last
    bool worthwhile() const { return sets.size() < 1000 || hits > sets.size() / 4; }
  };
  struct Values {  // values of one declared type so far
    NameIndex index;
    std::vector<std::pair<std::string_view, const AttrValue*>> values;
  };

  OpSets& sets_of(uint32_t op);
  std::vector<Attrs::Entry> read_object(const OpSignature* signature);
  const AttrValue* read_value(std::string_view name, AttrType declared, DType tensor_type);

  LoadContext& c_;
  Graph& graph_;
  std::vector<std::unique_ptr<OpSets>> sets_;  // by text id
  std::array<Values, 32> values_;              // by declared type
  std::array<const AttrValue*, 256> types_{};
};

}  // namespace emplace
