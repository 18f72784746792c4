/// TypeBuilder: from an op's signature, a node's written attrs and the types that arrive at its inputs to the whole
/// truth about the node's type: attrs inferred and defaulted, types of inputs and outputs. TensorFlow's rules
/// (op_def_library for what may be left out, ValidateNodeDef and InOutTypesForNode for the rest).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/op/signature.h"

namespace emplace {

/// The attr values that inference makes, one of each kind, owned by the graph.
class InferredAttrs {
 public:
  explicit InferredAttrs(Graph& graph) : graph_(graph) {}
  const AttrValue* of(DType type);
  const AttrValue* of(int64_t number);
  const AttrValue* of(std::vector<DType> types);

 private:
  const AttrValue* keep(AttrValue value);
  Graph& graph_;
  std::unordered_map<int64_t, const AttrValue*> numbers_;
  const AttrValue* types_[2 * kRefOffset] = {};
};

/// One node's type in the making, then the next one's. Call the steps in their order; stop when one finds a problem.
class TypeBuilder {
 public:
  struct Problem {
    std::string message, hint;
    std::string_view attr = {};  // the written attr that is to blame; empty: none is
  };

  /// A new node. `actual`: the type at each data input, kInvalid where it is not known (a literal, a loop's back edge,
  /// the output of a node that has a problem of its own). All of it must outlive the work on this node.
  void start(const OpSignature& op, std::span<const Attrs::Entry> written, std::span<const DType> actual);

  /// Which written attr is which; each has the right type and an allowed value.
  void match_attrs();
  /// How many inputs each argument takes, and the types and numbers that the inputs tell.
  void infer(InferredAttrs& made);
  /// What is left gets its default; everything is there and allowed; the inputs fit. False without a problem means
  /// that the type hangs on something unknown, which has its own problem.
  bool finish();

  const std::vector<Problem>& problems() const { return problems_; }
  /// Written attrs that the op does not have. TensorFlow ignores them: the file may come from a newer version.
  const std::vector<Problem>& unknown_attrs() const { return unknown_attrs_; }

  // After infer().
  /// The type that input `slot` must have, kInvalid if any.
  DType wanted_type(size_t slot) const;
  /// The type attr that input `slot` hangs on, or null.
  const AttrSignature* wanted_attr(size_t slot) const;

  // After finish().
  void add_attrs(std::vector<Attrs::Entry>& out) const;  // as written, then inferred, then defaults
  bool attrs_as_written() const { return attrs_as_written_; }
  const std::vector<DType>& input_types() const { return input_types_; }
  const std::vector<DType>& output_types() const { return output_types_; }
  const std::vector<uint16_t>& input_args() const { return input_args_; }
  const std::vector<uint16_t>& output_args() const { return output_args_; }
  /// Input `slot` has another type than the op wants: TensorFlow's message names the node and the source.
  std::optional<size_t> first_wrong_input() const;

 private:
  void add(std::string message, std::string hint = {}, std::string_view attr = {}) {
    problems_.push_back({std::move(message), std::move(hint), attr});
  }
  const AttrValue* effective(int attr) const;
  int count_attr(const ArgSignature& arg) const;
  int64_t arg_length(const ArgSignature& arg) const;
  void check_lengths();
  bool solve_lengths(InferredAttrs& made);
  void infer_types(InferredAttrs& made);
  void report_input_count();
  bool make_types(const std::vector<ArgSignature>& args, std::vector<DType>& types, std::vector<uint16_t>& arg_of);
  void report_missing(size_t attr);

  const OpSignature* op_ = nullptr;
  std::span<const Attrs::Entry> written_;
  std::span<const DType> actual_;
  std::vector<const AttrValue*> values_;  // by attr: written or inferred
  std::vector<bool> is_written_;          // by attr
  std::vector<int64_t> list_lengths_;     // by attr: of a list of types that the inputs must tell; else -1
  std::vector<uint16_t> input_args_, output_args_;
  std::vector<DType> input_types_, output_types_;
  std::vector<Problem> problems_, unknown_attrs_;
  bool attrs_as_written_ = true;
  bool unknown_ = false;  // something hangs on an input that has no type
};

/// "Relu(features:T) -> (activations:T)": for hints.
std::string signature_text(const OpSignature& op);

}  // namespace emplace
