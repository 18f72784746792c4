/// Values given on the command line: --feed NAME=SPEC and --expect NAME=@FILE.
#pragma once

#include <string_view>

#include "core/tensor/tensor.h"

namespace emplace {

/// The tensor that `spec` means where one of `dtype` and of (partly known) `shape` is wanted:
///   3.5, 1 2 3, [[1, 2], [3, 4]]        elements, separated by blanks or commas, or lists as in JSON
///   2x3xf32=1 2 3 4 5 6, 2x3xf32=0      with a shape; one element fills it
///   zeros, ones, random:SEED            needs a shape: the wanted one, or 2x3xf32=zeros
///   @x.npy, @b.npz:key, @x.json, @-     a file, or standard input
/// For strings the whole spec is one string, unless it is one of the forms with a shape, a list or a file.
/// random: floating-point numbers in [0, 1), integers from 0 to 9, the same for a seed everywhere.
/// Numbers of a file are converted where that keeps their kind (float64 to float32, int32 to int64 or float32 if they
/// fit). InvalidArgument says what was found and what was wanted.
Result<Tensor> parse_feed(std::string_view spec, DType dtype, const Shape& shape);

}  // namespace emplace
