/// NodeReader: the `node` list of a graph file: nodes, blocks of nodes, literals in inputs, variables in short form.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/attr_sets.h"
#include "core/formats/graph_builder.h"
#include "core/formats/load_context.h"
#include "core/formats/object_reader.h"
#include "core/formats/tensor_reader.h"

namespace emplace {

/// The op of a variable in short form, which `initial_value` belongs to.
inline constexpr std::string_view kShortVariable = "Variable";

class NodeReader {
 public:
  NodeReader(LoadContext& c, GraphBuilder& builder) : c_(c), builder_(builder), attrs_(c, builder.graph()) {}

  /// Takes the next value, a list of nodes and blocks. May be called again.
  void read_list() { read_list({}); }

  /// The variables in short form. REQUIRES: the builder has finished, without problems.
  std::vector<FileVariable> variables() const;

 private:
  struct Block {
    std::string_view device, scope;
    int depth = 0;
  };
  struct InputLiteral {
    uint32_t input;
    size_t position;
    std::optional<PlainTensor> value;
  };
  // A member of `node` that is read when the rest is known.
  struct Item {
    std::string_view name, op, device, scope;
    size_t name_position = 0, device_position = 0;
    bool told = false;  // name or op is not a text, which is told already
    std::optional<size_t> attr, initial_value, nodes;
    uint32_t attr_set = 0;
    bool resource = false, trainable = true, has_inputs = false;
  };

  void read_list(const Block& block);
  void read_item(const Block& block);
  std::string_view text_member(Item& item, std::string_view key);
  void read_member(Item& item, int field, const Block& block);
  void read_inputs(const Block& block);
  [[gnu::cold]] void no_tensor(std::string_view text, size_t position);
  [[gnu::cold]] void keys_of_node(const ObjectReader& block);
  void read_block(const Item& item, const Block& outer);
  void add_node(Item& item, const Block& block, size_t position);
  void add_literals(const GraphBuilder::NewNode& node);
  std::string literal_name(const GraphBuilder::NewNode& node, const InputLiteral& literal) const;
  void add_variable(const Item& item, const Block& block, const GraphBuilder::NewNode& node);

  bool check_name(std::string_view name, size_t position);
  [[gnu::cold]] void incomplete_node(const Item& item, size_t position);
  std::string_view full_name(std::string_view name, std::string_view scope);
  uint32_t op_id(std::string_view op);
  uint32_t device_id(std::string_view device, size_t position, const Block& block);
  std::string_view merged_device(std::string_view device, size_t position, std::string_view outer);
  void expect_as_before();

  LoadContext& c_;
  GraphBuilder& builder_;
  AttrSets attrs_;
  std::vector<InputLiteral> literals_;   // of the node being read
  std::vector<FileVariable> variables_;  // by place
  std::vector<bool> from_tensor_;        // of each: does another node make its initial value?
  // The last op and device, which the next node often shares.
  std::string_view last_op_, last_device_;
  uint32_t last_op_id_ = 0, last_device_id_ = 0;
};

}  // namespace emplace
