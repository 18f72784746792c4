/// Tensors in a graph file: as a person writes them, and as protobuf's JSON mapping does.
#pragma once

#include <optional>

#include "core/formats/load_context.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// What type a plain value without a stated one gets.
enum class Untyped {
  kFloat,      ///< numbers are float32
  kAsWritten,  ///< whole numbers are int64, others float64
};

struct PlainTensor {
  Tensor value;
  bool typed = false;  // the type was stated: by `dtype`, by a file, or as the wanted one
};

/// A number, a text, true or false, a (nested) list of them, {"dtype", "shape", "data"}, {"dtype", "shape", "fill"},
/// {"file"} or {"file", "key"}. `wanted`: the type of a value that states none; kInvalid: see `untyped`.
/// Complex elements are pairs [real, imaginary]: the innermost lists, or two entries each in a flat list with `shape`.
std::optional<PlainTensor> read_plain_tensor(LoadContext& c, DType wanted, Untyped untyped);

/// A TensorProto (tensorflow/core/framework/tensor.proto).
std::optional<Tensor> read_tensor_proto(LoadContext& c);

/// Counts bytes that values take but the file does not spell out; false and a problem at `at` if there are too many.
bool charge_fill(LoadContext& c, size_t at, DType dtype, const Shape& shape, int64_t elements_written);

}  // namespace emplace
