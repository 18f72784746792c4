/// TensorSlice: a part of a tensor, and the keys under which checkpoints have such parts: the tensor's name, and where
/// the part begins and how long it is, written so that keys sort as these do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/shape.h"

namespace emplace {

/// A part of a tensor: of each dimension where it begins and how long it is; -1: all of it. No dimension: the whole.
struct TensorSlice {
  std::vector<int64_t> start, length;
  auto operator<=>(const TensorSlice&) const = default;
  /// The shape of that part. Nothing if it does not lie in `whole`.
  std::optional<Shape> shape_in(const Shape& whole) const;
};

/// Does the part have all of dimension `d`?
bool is_all_of(const TensorSlice& slice, const Shape& whole, size_t d);

/// A dimension that the part has all of is start 0, length -1.
std::string slice_key(std::string_view name, const TensorSlice& slice, const Shape& whole);

/// Nothing if it is no such key.
std::optional<std::pair<std::string, TensorSlice>> parse_slice_key(std::string_view key);

}  // namespace emplace
