// The traits of all ops of TensorFlow, by trait: whoever names an op twice or forgets one sees it here.
#include "core/op/trait_table.h"

#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/op/op_table.h"

namespace emplace {
namespace {

template <class F>
std::string ops_with(const F& has) {
  std::string out;
  for (std::string_view op : OpTable().names()) {
    if (has(traits_of(op))) append(out, out.empty() ? "" : " ", op);
  }
  return out;
}

std::string ops_with(bool OpTraits::*trait) {
  return ops_with([&](const OpTraits& t) { return t.*trait; });
}
std::string ops_with(Control control) {
  return ops_with([&](const OpTraits& t) { return t.control == control; });
}
std::string ops_with(PartialValue value) {
  return ops_with([&](const OpTraits& t) { return t.partial_value == value; });
}
std::string ops_with(Functional functional) {
  return ops_with([&](const OpTraits& t) { return t.functional == functional; });
}
std::string ops_with(OfSums of_sums) {
  return ops_with([&](const OpTraits& t) { return t.of_sums == of_sums; });
}
std::string ops_with(Work work) {
  return ops_with([&](const OpTraits& t) { return t.work == work; });
}

}  // namespace

TEST_CASE("traits: control flow") {
  CHECK(ops_with(Control::kSwitch) == "RefSwitch Switch _SwitchN");
  CHECK(ops_with(Control::kMerge) == "Merge RefMerge _XlaMerge");
  CHECK(ops_with(Control::kEnter) == "Enter RefEnter");
  CHECK(ops_with(Control::kExit) == "Exit RefExit");
  CHECK(ops_with(Control::kNextIteration) == "NextIteration RefNextIteration");
  CHECK(ops_with(Control::kTrigger) == "ControlTrigger");
  CHECK(ops_with(&OpTraits::loop_condition) == "LoopCond");
  CHECK(ops_with(&OpTraits::keeps_input) == "StackPushV2 TensorArrayScatterV3 TensorArraySplitV3 TensorArrayWriteV3");
  CHECK(ops_with(&OpTraits::reads_list_form) == "TensorListElementShape TensorListLength");
}

TEST_CASE("traits: what is known of values before a run") {
  CHECK(ops_with(&OpTraits::constant) == "Const");
  CHECK(ops_with(&OpTraits::placeholder) == "Placeholder PlaceholderV2");
  CHECK(ops_with(&OpTraits::placeholder_with_default) == "PlaceholderWithDefault");
  CHECK(ops_with(&OpTraits::identity) == "Identity");
  CHECK(ops_with(&OpTraits::does_nothing) == "NoOp");
  CHECK(ops_with(PartialValue::kShape) == "Shape ShapeN");
  CHECK(ops_with(PartialValue::kRank) == "Rank");
  CHECK(ops_with(PartialValue::kSize) == "Size");
  CHECK(ops_with(PartialValue::kInput) == "Cast Identity");
  CHECK(ops_with(PartialValue::kPack) == "Pack");
  CHECK(ops_with(PartialValue::kConcatAfterAxis) == "Concat");
  CHECK(ops_with(PartialValue::kConcatBeforeAxis) == "ConcatV2");
  CHECK(ops_with(PartialValue::kSlice) == "StridedSlice");
}

TEST_CASE("traits: work") {
  CHECK(ops_with(Work::kMatMul) == "BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum MatMul _FusedMatMul");
  CHECK(ops_with(Work::kConvolution) ==
        "Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2 "
        "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput "
        "FusedDepthwiseConv2dNative OnnxConvInteger OnnxQLinearConv _FusedConv2D");
}

TEST_CASE("traits: state") {
  CHECK(ops_with(&OpTraits::variable) == "VarHandleOp Variable VariableV2");
  CHECK(ops_with(&OpTraits::legacy_variable) == "Variable");
  CHECK(ops_with(&OpTraits::reads_variable) == "ReadVariableOp");
  CHECK(ops_with(&OpTraits::leaves_state) ==
        "Assert Empty LookupTableExport LookupTableExportV2 LookupTableFind LookupTableFindV2 LookupTableSize "
        "LookupTableSizeV2 "
        "PrintV2 ReadVariableOp ResourceGather ResourceGatherNd VarIsInitializedOp");
  CHECK(ops_with(&OpTraits::random) ==
        "AllCandidateSampler FixedUnigramCandidateSampler LogUniformCandidateSampler Multinomial "
        "ParameterizedTruncatedNormal RandomCrop RandomShuffle RandomStandardNormal RandomUniform RandomUniformInt "
        "SampleDistortedBoundingBox SampleDistortedBoundingBoxV2 TruncatedNormal UniformCandidateSampler");
  CHECK(ops_with(&OpTraits::collective) == "NcclAllReduce");
  for (std::string_view op : {"Assign", "AssignAddVariableOp", "ApplyAdam", "ResourceApplyFtrl", "SparseApplyMomentum",
                              "ResourceSparseApplyAdagradV2", "ScatterUpdate", "ResourceScatterNdAdd"}) {
    CHECK(traits_of(op).writes_variable);
  }
  for (std::string_view op : {"ReadVariableOp", "ResourceGather", "Sparse", "VarHandleOp", "Mul"}) {
    CHECK_FALSE(traits_of(op).writes_variable);
  }
}

TEST_CASE("traits: what training asks") {
  CHECK(ops_with(OfSums::kKeeps) ==
        "Cast CheckNumerics CheckNumericsV2 ExpandDims Identity Print Reshape Squeeze StopGradient");
  CHECK(ops_with(OfSums::kNegates) == "Neg");
  CHECK(ops_with(OfSums::kAdds) == "AccumulateNV2 Add AddN AddV2 Sub");
  CHECK(ops_with(OfSums::kMultiplies) == "Mul");
  CHECK(ops_with(OfSums::kDivides) == "Div DivNoNan RealDiv");
  CHECK(ops_with(OfSums::kSums) == "Sum");
  CHECK(ops_with(OfSums::kAverages) == "Mean");
  CHECK(ops_with(OfSums::kSumsSquares) == "L2Loss");
  CHECK(ops_with(&OpTraits::class_labels) == "SparseSoftmaxCrossEntropyWithLogits");
  CHECK(ops_with(&OpTraits::assigns) == "Assign AssignVariableOp");
  CHECK(ops_with(&OpTraits::restores) == "RestoreV2");
  CHECK(ops_with(&OpTraits::gives_kept) == "StackPopV2");
  CHECK(ops_with(&OpTraits::python_scope) == "Cast");
}

TEST_CASE("traits: no table has what a definition says") {
  for (std::string_view op : listed_traits()) {
    INFO(op);
    CHECK(OpLibrary::find(op) == nullptr);
  }
}

TEST_CASE("traits: functions") {
  CHECK(ops_with(&OpTraits::argument) == "_Arg");
  CHECK(ops_with(&OpTraits::result) == "_Retval");
  CHECK(ops_with(Functional::kCall) == "PartitionedCall StatefulPartitionedCall");
  CHECK(ops_with(Functional::kIf) == "If StatelessIf");
  CHECK(ops_with(Functional::kCase) == "Case StatelessCase");
  CHECK(ops_with(Functional::kWhile) == "StatelessWhile While");
  CHECK(ops_with(&OpTraits::body_decides_memory) ==
        "PartitionedCall StatefulPartitionedCall StatelessWhile SymbolicGradient While");
}

TEST_CASE("traits: what TensorFlow's placer knows by name") {
  CHECK(ops_with(&OpTraits::metadata) == "Rank Shape Size");
  CHECK(ops_with(&OpTraits::placed_with_source) == "Identity RefIdentity");
  CHECK(ops_with(&OpTraits::passes_host_memory_on) ==
        "Enter Exit Identity Merge NextIteration Switch SymbolicGradient");
  CHECK(ops_with(&OpTraits::declares_host_output) ==
        "MutexLock SnapshotDatasetReader SnapshotNestedDatasetReader WindowOp");
  CHECK(ops_with(&OpTraits::ignores_resource_inputs) ==
        "DeleteMultiDeviceIterator ExperimentalGroupByReducerDataset ExperimentalGroupByWindowDataset "
        "ExperimentalMapAndBatchDataset ExperimentalParallelInterleaveDataset ExperimentalScanDataset "
        "ExperimentalTakeWhileDataset FilterDataset FlatMapDataset GeneratorDataset GroupByReducerDataset "
        "GroupByWindowDataset IdentityN InterleaveDataset LegacyParallelInterleaveDatasetV2 MapAndBatchDataset "
        "MapDataset ParallelFilterDataset ParallelInterleaveDataset ParallelInterleaveDatasetV2 "
        "ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4 ParallelMapDataset ParallelMapDatasetV2 "
        "PartitionedCall ReduceDataset RpcServerRegister ScanDataset StatefulPartitionedCall TakeWhileDataset");
  CHECK(ops_with(&OpTraits::tensor_list) ==
        "EmptyTensorList TensorListConcat TensorListConcatLists TensorListConcatV2 TensorListFromTensor "
        "TensorListGather TensorListGetItem TensorListPopBack TensorListPushBack TensorListPushBackBatch "
        "TensorListReserve TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem "
        "TensorListSplit TensorListStack");
  for (std::string_view op : {"MapDataset", "BatchDatasetV2", "ParallelMapDatasetV10", "DatasetFromGraph", "MyDataset"})
    CHECK(traits_of(op).dataset);
  for (std::string_view op : {"DatasetV2x", "DatasetToGraph", "BatchDataset2", "DatasetCardinality", "Dataset22V"})
    CHECK_FALSE(traits_of(op).dataset);
}

}  // namespace emplace
