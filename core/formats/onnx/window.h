/// The windows of convolutions and pools of ONNX: sizes, strides, dilations and borders of the dimensions behind batch
/// and channels.
#pragma once

#include <optional>

#include "core/formats/onnx/block.h"

namespace emplace {

struct OnnxWindow {
  Ints kernel, strides, dilations, before, after;
  /// Border that only rounding up (ceil_mode) reads; part of `after`.
  Ints extra;
  bool same_upper = false;  // borders so that sizes are divided by the strides; `before` and `after` say them if known

  int rank() const { return static_cast<int>(kernel.size()); }
  bool padded() const;
  bool dilated() const;
  /// Cells from the first to the last that a window covers.
  int64_t reach(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

/// Of a node that reads x, [N,C,...]. `kernel`: its sizes where the node does not say them. Nothing, and the block
/// fails, where the attributes do not fit.
std::optional<OnnxWindow> onnx_window(OnnxBlock& b, Endpoint x, Ints kernel);

/// The cells that window place `offset` has along an axis, in all windows of it.
Endpoint window_cells(OnnxBlock& b, Endpoint x, const OnnxWindow& w, size_t i, int64_t offset);
/// x with its borders, filled with `value`.
Endpoint with_border(OnnxBlock& b, Endpoint x, const OnnxWindow& w, double value, bool channels_last = false);

}  // namespace emplace
