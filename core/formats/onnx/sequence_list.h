/// Sequences whose lengths only the run knows: a TensorList each, made and read by nodes.
#pragma once

#include <functional>

#include "core/formats/onnx/block.h"

namespace emplace {

/// The sequence as a TensorList of elements of `type`, which it must have if it has any.
Endpoint onnx_list(OnnxBlock& b, const OnnxSequence& s, DType type);
/// A sequence of what the value is: of a tensor an optional tensor.
OnnxSequence onnx_sequence_of(OnnxBlock& b, const OnnxValue& value);
/// How many there are, int64.
Endpoint onnx_list_length(OnnxBlock& b, Endpoint list);
/// Element `i`, any integer.
Endpoint onnx_list_item(OnnxBlock& b, Endpoint list, Endpoint i, DType type, const Shape& element);
Endpoint onnx_pushed(OnnxBlock& b, Endpoint list, Endpoint value);
/// A shape as list ops take it.
Endpoint onnx_element_shape(OnnxBlock& b, const Shape& element);

/// What `make` reads of the tensors around it.
using OnnxOutside = std::function<Endpoint(Endpoint)>;
/// `states` after `count` steps, by a loop: `step` makes them from those of before; i is an int64.
Endpoints onnx_stepped(OnnxBlock& b, Endpoint count, const Endpoints& states,
                       const std::function<Endpoints(OnnxBlock& in, Endpoint i, const Endpoints& states,
                                                     const OnnxOutside& outside)>& step);
/// A TensorList of `count` elements, the i-th being what `make` makes for i, an int64; by a loop.
Endpoint onnx_mapped_list(OnnxBlock& b, Endpoint count, DType type,
                          const std::function<Endpoint(OnnxBlock& in, Endpoint i, const OnnxOutside& outside)>& make);

/// How sequences go in and out of a graph, whose inputs and outputs are tensors: all elements, one after the other and
/// flat; all their sizes; and how many sizes each has.
struct OnnxSequenceParts {
  Endpoint values, sizes, ranks;
};
OnnxSequenceParts onnx_parts(OnnxBlock& b, const OnnxSequence& s);
OnnxSequence onnx_sequence_of_parts(OnnxBlock& b, const OnnxSequenceParts& parts, const Shape& element);

}  // namespace emplace
