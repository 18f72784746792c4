// The traits of ops that placement knows although emplace does not run them. Those of an op that it runs are in its
// definition.
#include "core/op/trait_table.h"

#include <algorithm>
#include <iterator>

#include "core/op/op_def.h"

namespace emplace {
namespace {

struct NamedTraits {
  std::string_view op;
  OpTraits traits;
};

constexpr OpTraits kNone;
constexpr OpTraits kDataset{.dataset = true};
constexpr OpTraits kFunctionDataset{.ignores_resource_inputs = true, .dataset = true};
constexpr OpTraits kWriter{.writes_variable = true};
constexpr OpTraits kOnHost{.declares_host_output = true};
constexpr OpTraits kTensorList{.tensor_list = true, .element_attr = "element_dtype"};
constexpr OpTraits kWhile{.functional = Functional::kWhile, .body_decides_memory = true};
constexpr OpTraits kCall{.functional = Functional::kCall, .body_decides_memory = true, .ignores_resource_inputs = true};

constexpr NamedTraits kTraits[] = {
    {"Case", {.functional = Functional::kCase}},
    {"DatasetFromGraph", {.dataset = true}},
    {"DeleteMultiDeviceIterator", {.ignores_resource_inputs = true}},
    {"ExperimentalGroupByReducerDataset", kFunctionDataset},
    {"ExperimentalGroupByWindowDataset", kFunctionDataset},
    {"ExperimentalMapAndBatchDataset", kFunctionDataset},
    {"ExperimentalParallelInterleaveDataset", kFunctionDataset},
    {"ExperimentalScanDataset", kFunctionDataset},
    {"ExperimentalTakeWhileDataset", kFunctionDataset},
    {"FilterDataset", kFunctionDataset},
    {"FlatMapDataset", kFunctionDataset},
    {"GeneratorDataset", kFunctionDataset},
    {"GroupByReducerDataset", kFunctionDataset},
    {"GroupByWindowDataset", kFunctionDataset},
    {"If", {.functional = Functional::kIf}},
    {"InterleaveDataset", kFunctionDataset},
    {"IteratorGetNextAsOptional", {.element_attr = "output_types"}},
    {"LegacyParallelInterleaveDatasetV2", kFunctionDataset},
    {"MapAndBatchDataset", kFunctionDataset},
    {"MapDataset", kFunctionDataset},
    {"MutexLock", kOnHost},
    {"ParallelFilterDataset", kFunctionDataset},
    {"ParallelInterleaveDataset", kFunctionDataset},
    {"ParallelInterleaveDatasetV2", kFunctionDataset},
    {"ParallelInterleaveDatasetV3", kFunctionDataset},
    {"ParallelInterleaveDatasetV4", kFunctionDataset},
    {"ParallelMapDataset", kFunctionDataset},
    {"ParallelMapDatasetV2", kFunctionDataset},
    {"PartitionedCall", kCall},
    {"PlaceholderV2", {.placeholder = true}},
    {"ReduceDataset", kFunctionDataset},
    {"RefIdentity", {.placed_with_source = true}},
    {"ResourceGatherNd", {.leaves_state = true}},
    {"RpcServerRegister", {.ignores_resource_inputs = true}},
    {"ScanDataset", kFunctionDataset},
    {"SnapshotDatasetReader", kOnHost},
    {"SnapshotNestedDatasetReader", kOnHost},
    {"StatefulPartitionedCall", kCall},
    {"StatelessCase", {.functional = Functional::kCase}},
    {"StatelessIf", {.functional = Functional::kIf}},
    {"StatelessWhile", kWhile},
    {"SymbolicGradient", {.body_decides_memory = true, .passes_host_memory_on = true}},
    {"TakeWhileDataset", kFunctionDataset},
    {"TensorListConcat", kTensorList},
    {"TensorListPushBackBatch", kTensorList},
    {"While", kWhile},
    {"WindowOp", kOnHost},
    {"_Arg", {.argument = true}},
    {"_Retval", {.result = true}},
    {"_XlaMerge", {.control = Control::kMerge}},
};
static_assert(std::is_sorted(std::begin(kTraits), std::end(kTraits),
                             [](const NamedTraits& a, const NamedTraits& b) { return a.op < b.op; }));

// MapDataset, ParallelMapDatasetV2: as TensorFlow's placer tells them.
bool is_named_dataset(std::string_view op) {
  const std::string_view name = op.substr(0, op.find_last_not_of("0123456789") + 1);
  return op.ends_with("Dataset") || (name.size() < op.size() && name.ends_with("DatasetV"));
}

// ApplyFtrl, ResourceScatterNdAdd, ...: TensorFlow's names for what changes a variable.
bool is_named_writer(std::string_view op) {
  for (std::string_view prefix : {"Resource", "Sparse"}) {
    if (op.starts_with(prefix)) op.remove_prefix(prefix.size());
  }
  return op.starts_with("Assign") || op.starts_with("Apply") || op.starts_with("Scatter");
}

}  // namespace

std::vector<std::string_view> listed_traits() {
  std::vector<std::string_view> out;
  for (const NamedTraits& row : kTraits) out.push_back(row.op);
  return out;
}

const OpTraits& traits_of(std::string_view op) {
  const NamedTraits* row = std::lower_bound(std::begin(kTraits), std::end(kTraits), op,
                                            [](const NamedTraits& t, std::string_view name) { return t.op < name; });
  if (row != std::end(kTraits) && row->op == op) return row->traits;
  if (const OpDef* def = OpLibrary::find(op)) return def->traits();
  if (is_named_dataset(op)) return kDataset;
  return is_named_writer(op) ? kWriter : kNone;
}

}  // namespace emplace
