#include "core/place/op_traits.h"

#include <algorithm>
#include <iterator>

namespace emplace {
namespace {

template <size_t N>
bool contains(const std::string_view (&sorted)[N], std::string_view op) {
  return std::binary_search(std::begin(sorted), std::end(sorted), op);
}

constexpr std::string_view kExempt[] = {
    "DeleteMultiDeviceIterator",
    "ExperimentalGroupByReducerDataset",
    "ExperimentalGroupByWindowDataset",
    "ExperimentalMapAndBatchDataset",
    "ExperimentalParallelInterleaveDataset",
    "ExperimentalScanDataset",
    "ExperimentalTakeWhileDataset",
    "FilterDataset",
    "FlatMapDataset",
    "GeneratorDataset",
    "GroupByReducerDataset",
    "GroupByWindowDataset",
    "IdentityN",
    "InterleaveDataset",
    "LegacyParallelInterleaveDatasetV2",
    "MapAndBatchDataset",
    "MapDataset",
    "ParallelFilterDataset",
    "ParallelInterleaveDataset",
    "ParallelInterleaveDatasetV2",
    "ParallelInterleaveDatasetV3",
    "ParallelInterleaveDatasetV4",
    "ParallelMapDataset",
    "ParallelMapDatasetV2",
    "PartitionedCall",
    "ReduceDataset",
    "RpcServerRegister",
    "ScanDataset",
    "StatefulPartitionedCall",
    "TakeWhileDataset",
};

constexpr std::string_view kListOps[] = {
    "EmptyTensorList",
    "TensorListConcat",
    "TensorListConcatLists",
    "TensorListConcatV2",
    "TensorListFromTensor",
    "TensorListGather",
    "TensorListGetItem",
    "TensorListPopBack",
    "TensorListPushBack",
    "TensorListPushBackBatch",
    "TensorListReserve",
    "TensorListScatter",
    "TensorListScatterIntoExistingList",
    "TensorListScatterV2",
    "TensorListSetItem",
    "TensorListSplit",
    "TensorListStack",
};

static_assert(std::is_sorted(std::begin(kExempt), std::end(kExempt)));
static_assert(std::is_sorted(std::begin(kListOps), std::end(kListOps)));

// The element type of a list op; kInvalid if it has none.
DType element_type(const NodeType& type) {
  const AttrValue* value = type.view().find("element_dtype");
  const DType* dtype = value ? value->get_if<DType>() : nullptr;
  return dtype ? *dtype : DType::kInvalid;
}

bool attr_names_string(const NodeType& type, std::string_view attr) {
  const AttrValue* value = type.view().find(attr);
  if (!value) return false;
  if (const DType* one = value->get_if<DType>()) return *one == DType::kString;
  const auto* list = value->get_if<std::vector<DType>>();
  return list && std::find(list->begin(), list->end(), DType::kString) != list->end();
}

bool has_variant_output(const NodeType& type) {
  return std::find(type.output_types.begin(), type.output_types.end(), DType::kVariant) != type.output_types.end();
}

}  // namespace

bool is_metadata_op(std::string_view op) { return op == "Shape" || op == "Size" || op == "Rank"; }
bool is_identity_op(std::string_view op) { return op == "Identity" || op == "RefIdentity"; }
bool is_exempt_from_resource_colocation(std::string_view op) { return contains(kExempt, op); }

bool is_dataset_op(const NodeType& type) {
  if (type.output_types.size() != 1 || type.output_types[0] != DType::kVariant) return false;
  std::string_view op = type.op;
  if (op == "DatasetFromGraph" || op.ends_with("Dataset")) return true;
  const size_t last = op.find_last_not_of("0123456789");
  return last != op.npos && last + 1 < op.size() && op.substr(0, last + 1).ends_with("DatasetV");
}

bool passes_host_memory_on(std::string_view op) {
  return op == "Identity" || op == "Switch" || op == "Merge" || op == "Enter" || op == "Exit" ||
         op == "NextIteration" || op == "SymbolicGradient";
}

bool declares_host_output(const NodeType& type) {
  const std::string_view op = type.op;
  if (is_dataset_op(type) || op == "WindowOp" || op == "SnapshotDatasetReader" || op == "SnapshotNestedDatasetReader" ||
      op == "MutexLock") {
    return true;
  }
  if (op == "RaggedTensorToVariant") return attr_names_string(type, "Tvalues");
  if (op == "OptionalFromValue") return attr_names_string(type, "Toutput_types");
  if (op == "IteratorGetNextAsOptional") return attr_names_string(type, "output_types");
  return contains(kListOps, op) && has_variant_output(type) && element_type(type) == DType::kString;
}

ListMemory tensor_list_memory(const NodeType& type) {
  if (!contains(kListOps, type.op)) return ListMemory::kUndecided;
  const DType element = element_type(type);
  if (element == DType::kInvalid || element == DType::kVariant) return ListMemory::kUndecided;
  return element == DType::kString || element == DType::kResource ? ListMemory::kHost : ListMemory::kDevice;
}

}  // namespace emplace
