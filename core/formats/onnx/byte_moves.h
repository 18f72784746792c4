/// Ops that only move elements, of reals that stand for bytes with one scale: the bytes are moved, and stand for the
/// same reals where they arrive. Where reals would become the bytes again that they were, they do so without
/// arithmetic.
#pragma once

#include <optional>

#include "core/formats/onnx/op_table.h"

namespace emplace {

/// The bytes that x's reals stand for, of which an element can be moved, compared, or be a 0. Null: there are none.
const OnnxByteView* movable_bytes(OnnxBlock& b, Endpoint x);
/// What the bytes stand for; remembered as such.
Endpoint reals_of(OnnxBlock& b, const OnnxByteView& bytes);

/// Of an op that moves: nothing if it reads no such bytes.
std::optional<Endpoints> translate_as_bytes(OnnxBlock& b, const OnnxOp& op);
/// QuantizeLinear to the scale and the zero point that the reals have. `zero`: kNoNode is none. Nothing: they have
/// others.
std::optional<Endpoint> same_bytes(OnnxBlock& b, Endpoint reals, Endpoint scale, Endpoint zero);

}  // namespace emplace
