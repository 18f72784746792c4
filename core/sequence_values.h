/// Sequences of tensors, which graphs of ONNX have, as the tensors that stand for one in a graph: NAME, all elements
/// one after the other and flat; NAME_sizes, all their sizes; NAME_ranks, how many sizes each has; and of an optional
/// one NAME_given, is there one?
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace emplace {

struct SequenceInput {
  Endpoint values, sizes, ranks;
  Endpoint given = {};  // kNoNode: it is never missing
};

/// Nothing: no placeholders of these names stand for one.
std::optional<SequenceInput> find_sequence_input(const Graph& g, std::string_view name);

/// Of NAME_sizes and the like NAME; else the name itself.
std::string_view sequence_name(std::string_view name);

/// What --feed NAME=SPEC means for it:
///   @x.npz                          its arrays, in their order
///   @x.npy                          a sequence of one
///   @x.json, [[1, 2], [3]]          a list; an element is a (nested) list or {"shape", "data"}; or an output of `run`
///   none                            nothing
Result<std::vector<std::pair<Endpoint, Tensor>>> parse_sequence_feed(std::string_view spec, DType dtype,
                                                                     const SequenceInput& input);

/// The elements; nothing, if the tensors do not fit each other.
std::optional<std::vector<Tensor>> sequence_elements(const Tensor& values, const Tensor& sizes, const Tensor& ranks);

}  // namespace emplace
