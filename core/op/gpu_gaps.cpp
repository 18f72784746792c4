#include "core/op/gpu_gaps.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr GpuGap kGaps[] = {
    {"AssignVariableOp", DType::kResource, "handles are kept in host memory"},
    {"AssignVariableOp", DType::kString, "strings are kept in host memory"},
    {"", DType::kVariant, "lists of tensors are made and read by the CPU's kernels"},
    {"CheckNumerics", DType::kInvalid, "whether a step may go on is known on the host only: the CPU's kernel looks"},
    {"CheckNumericsV2", DType::kInvalid, "whether a step may go on is known on the host only: the CPU's kernel looks"},
    {"EmptyTensorList", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"NonMaxSuppressionV2", DType::kFloat, "boxes are chosen one after the other by the CPU's kernel"},
    {"NonMaxSuppressionV3", DType::kFloat, "boxes are chosen one after the other by the CPU's kernel"},
    {"NonMaxSuppressionV4", DType::kFloat, "boxes are chosen one after the other by the CPU's kernel"},
    {"TensorArrayCloseV3", DType::kInvalid, "arrays of tensors are made and read by the CPU's kernels"},
    {"TensorArrayConcatV3", DType::kInvalid, "arrays of tensors are made and read by the CPU's kernels"},
    {"TensorArrayGatherV3", DType::kInvalid, "arrays of tensors are made and read by the CPU's kernels"},
    {"TensorArrayGradV3", DType::kInvalid, "arrays of tensors are made and read by the CPU's kernels"},
    {"TensorArrayGradWithShape", DType::kInvalid, "arrays of tensors are made and read by the CPU's kernels"},
    {"TensorArrayReadV3", DType::kInvalid, "arrays of tensors are made and read by the CPU's kernels"},
    {"TensorArrayScatterV3", DType::kInvalid, "arrays of tensors are made and read by the CPU's kernels"},
    {"TensorArraySizeV3", DType::kInvalid, "arrays of tensors are made and read by the CPU's kernels"},
    {"TensorArraySplitV3", DType::kInvalid, "arrays of tensors are made and read by the CPU's kernels"},
    {"TensorArrayV3", DType::kInvalid, "arrays of tensors are made and read by the CPU's kernels"},
    {"TensorArrayWriteV3", DType::kInvalid, "arrays of tensors are made and read by the CPU's kernels"},
    {"TensorListConcatLists", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListConcatV2", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListElementShape", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListFromTensor", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListGather", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListGetItem", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListLength", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListPopBack", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListPushBack", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListReserve", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListResize", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListScatter", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListScatterIntoExistingList", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListScatterV2", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListSetItem", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListSplit", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"TensorListStack", DType::kInvalid, "lists of tensors are made and read by the CPU's kernels"},
    {"_SwitchN", DType::kInvalid, "a Case runs on the CPU"},
    {"VariableShape", DType::kInvalid, "shapes are kept in host memory"},
    {"DisableCopyOnRead", DType::kInvalid, "there is nothing to do"},
};

}  // namespace

std::span<const GpuGap> gpu_gaps() { return kGaps; }

bool covers(const GpuGap& gap, std::string_view op, DType type) {
  return (gap.op.empty() || gap.op == op) && (gap.type == DType::kInvalid || gap.type == type);
}

const GpuGap* find_gpu_gap(std::string_view op, DType type) {
  auto gap = std::find_if(std::begin(kGaps), std::end(kGaps), [&](const GpuGap& g) { return covers(g, op, type); });
  return gap == std::end(kGaps) ? nullptr : gap;
}

}  // namespace emplace
