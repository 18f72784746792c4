/// The entries of a map that a variant holds: keys and values in turn, in the order of the keys' types, shapes and
/// bytes.
#pragma once

#include "core/op/tensor_list.h"

namespace emplace {

/// Where a key is, or would have to be.
struct MapPlace {
  int64_t entry = 0;
  bool found = false;
};

MapPlace find_entry(const TensorList& map, const Tensor& key);
/// In place of the value that is there.
void put_entry(TensorList& map, const Tensor& key, const Tensor& value);
void erase_entry(TensorList& map, int64_t entry);

}  // namespace emplace
