/// From SequenceExample messages to tensors: what features and lists of features an op asks for, and its outputs.
#pragma once

#include <string>
#include <vector>

#include "core/op/kernel.h"

namespace emplace {

struct NamedFeature {
  std::string key;
  DType type;
};
struct ShapedFeature : NamedFeature {
  Shape shape;
  int64_t size = 1;             // elements of a row
  Tensor filling;               // of the context: what stands where there is none; without elements: nothing may
  bool may_be_missing = false;  // of lists: as if it had no row
};

/// Features of a kind, those of the messages themselves (the context) or the lists.
struct WantedFeatures {
  std::vector<NamedFeature> sparse, ragged;
  std::vector<ShapedFeature> dense;
};

/// Writes all outputs, in TensorFlow's order: of the context sparse, dense, ragged ones, then of the lists. Input 0 has
/// the messages, of which each is a row if `batch`; `names`: what errors call them, or null; `has_lengths`: each dense
/// list has a tensor of its lengths. InvalidArgument in TensorFlow's words for what a message lacks or has too much.
Status put_sequences(KernelContext& c, bool batch, const Tensor* names, const WantedFeatures& context,
                     const WantedFeatures& lists, bool has_lengths);

}  // namespace emplace
