/// The ops of ONNX that can be translated: a row per op, in one file per topic.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/formats/onnx/block.h"

namespace emplace {

/// The tensors that the node's outputs are, in their order; trailing ones that nobody wants may be missing.
using OnnxTranslator = Endpoints (*)(OnnxBlock&);

struct OnnxOp {
  std::string_view name;  // of ops of another domain with that before it: "com.microsoft.QGemm"
  int64_t since;          // the first version of the operator set that this row is for
  OnnxTranslator translate;
  bool elementwise = false;   // an element of the result is made of one of each input: any order of dimensions will do
  bool with_singles = false;  // elementwise only where all inputs behind the first are single numbers
  bool moves = false;         // elements of its first input, as they are, whatever they stand for
};

std::span<const OnnxOp> onnx_math_ops();
std::span<const OnnxOp> onnx_activation_ops();
std::span<const OnnxOp> onnx_shape_ops();
std::span<const OnnxOp> onnx_index_ops();
std::span<const OnnxOp> onnx_reduce_ops();
std::span<const OnnxOp> onnx_nn_ops();
std::span<const OnnxOp> onnx_norm_ops();
std::span<const OnnxOp> onnx_pool_ops();
std::span<const OnnxOp> onnx_resize_ops();
std::span<const OnnxOp> onnx_quantized_ops();
std::span<const OnnxOp> onnx_recurrent_ops();
std::span<const OnnxOp> onnx_attention_ops();
std::span<const OnnxOp> onnx_control_ops();
std::span<const OnnxOp> onnx_sampling_ops();
std::span<const OnnxOp> onnx_sequence_ops();
std::span<const OnnxOp> onnx_signal_ops();
std::span<const OnnxOp> onnx_learning_ops();
std::span<const OnnxOp> onnx_label_ops();
std::span<const OnnxOp> onnx_map_ops();
std::span<const OnnxOp> onnx_svm_ops();
std::span<const OnnxOp> onnx_tree_ops();
std::span<const OnnxOp> onnx_runtime_ops();
std::span<const OnnxOp> onnx_region_ops();
std::span<const OnnxOp> onnx_text_ops();
std::span<const OnnxOp> onnx_optimizer_ops();
std::span<const OnnxOp> onnx_ngram_ops();
std::span<const OnnxOp> onnx_linear_attention_ops();

/// The row for an op, named as in OnnxOp: of several the last whose `since` is not above `version`. Null: there is
/// none.
const OnnxOp* find_onnx_op(std::string_view name, int64_t version);
/// Empty, or "did you mean 'X'?".
std::string near_onnx_op(std::string_view name);

/// A node's op as rows name it.
std::string onnx_op_name(std::string_view domain, std::string_view op);

/// Versions of ai.onnx that are read.
inline constexpr int64_t kFirstOnnxOpset = 1, kLastOnnxOpset = 28;

}  // namespace emplace
