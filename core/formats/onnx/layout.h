/// Images with their channels last. ONNX has them behind the batch, [N,C,H,W]; kernels on the CPU work with them at the
/// end, where those of a pixel lie side by side. A block that computes so turns what it reads, and turns its result
/// back, so that every tensor of the model is what the model says; where two such blocks meet, the plan takes both
/// turns out (core/plan/undone_transposes.h).
#pragma once

#include <optional>

#include "core/formats/onnx/op_table.h"

namespace emplace {

/// [N,C,H,W] as [N,H,W,C]; one node, however many blocks ask.
Endpoint channels_last(OnnxBlock& b, Endpoint x);
/// [N,H,W,C] as [N,C,H,W]: the result of a block.
Endpoint channels_first(OnnxBlock& b, Endpoint y);
/// Did a block make x with its channels last? Then it costs nothing to have it so again.
bool is_turned(OnnxBlock& b, Endpoint x);
/// Where an axis of [N,C,H,W] is once the channels are last.
int axis_with_channels_last(int axis);
/// An attr that has a number for each dimension: [1,1,h,w], or [1,h,w,1] with the channels last.
Ints of_image(const Ints& height_width, bool last, int64_t other = 1);

/// An elementwise op behind blocks whose images have their channels last: it computes so too. Nothing: it reads no such
/// image, or something that does not fit to one.
std::optional<Endpoints> translate_channels_last(OnnxBlock& b, const OnnxOp& op);

}  // namespace emplace
