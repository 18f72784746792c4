#include "core/formats/onnx/op_table.h"

#include <map>
#include <vector>

#include "core/base/cat.h"
#include "core/base/suggest.h"

namespace emplace {
namespace {

using OnnxRows = std::map<std::string_view, std::vector<const OnnxOp*>>;

OnnxRows all_onnx_rows() {
  OnnxRows rows;
  for (std::span<const OnnxOp> topic : {onnx_math_ops(),      onnx_activation_ops(), onnx_shape_ops(),
                                        onnx_index_ops(),     onnx_reduce_ops(),     onnx_nn_ops(),
                                        onnx_norm_ops(),      onnx_pool_ops(),       onnx_resize_ops(),
                                        onnx_quantized_ops(), onnx_recurrent_ops(),  onnx_attention_ops(),
                                        onnx_control_ops(),   onnx_sampling_ops(),   onnx_sequence_ops(),
                                        onnx_signal_ops(),    onnx_learning_ops(),   onnx_tree_ops(),
                                        onnx_runtime_ops(),   onnx_region_ops(),     onnx_text_ops(),
                                        onnx_optimizer_ops(), onnx_label_ops(),      onnx_map_ops(),
                                        onnx_svm_ops(),       onnx_ngram_ops(),      onnx_linear_attention_ops()}) {
    for (const OnnxOp& op : topic) rows[op.name].push_back(&op);
  }
  return rows;
}

const OnnxRows& onnx_rows() {
  static const OnnxRows rows = all_onnx_rows();
  return rows;
}

}  // namespace

const OnnxOp* find_onnx_op(std::string_view name, int64_t version) {
  auto rows = onnx_rows().find(name);
  const OnnxOp* best = nullptr;
  if (rows == onnx_rows().end()) return nullptr;
  for (const OnnxOp* op : rows->second) {
    if (op->since <= version && (!best || op->since > best->since)) best = op;
  }
  return best;
}

std::string onnx_op_name(std::string_view domain, std::string_view op) {
  return domain.empty() ? std::string(op) : cat(domain, ".", op);
}

std::string near_onnx_op(std::string_view name) {
  Suggestion near(name);
  for (const auto& [known, rows] : onnx_rows()) near.offer(known);
  return near.text();
}

}  // namespace emplace
