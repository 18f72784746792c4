/// What batch normalisation and its gradient share: which dimension has the channels, and their shape rules.
#pragma once

#include "core/op/kernel.h"
#include "core/op/shape_context.h"
#include "core/ops/nn/norm_layout.h"

namespace emplace {

/// The dimension of the channels for attr `data_format` (NHWC, NCHW, NDHWC, NCDHW) and the rank it asks for.
struct NormFormat {
  int rank = 4, channels = 3;
  static NormFormat of(const Attrs& attrs);
  /// REQUIRES: the rank fits. All zero counts for an empty image.
  NormLayout layout(const Tensor& image) const;
};

/// Vector inputs [first, last) must have as many elements as `channels`; gives what is then known of that number.
Result<int64_t> merge_channels(const ShapeContext& c, int64_t channels, int first, int last);

/// Fails unless inputs [first, last) are vectors with one element per channel.
Status check_channel_vectors(const KernelContext& c, int64_t channels, int first, int last);

}  // namespace emplace
