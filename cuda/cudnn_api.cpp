#include "cuda/cudnn_api.h"

#if !defined(EMPLACE_STANDIN) && __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>

namespace emplace::cuda::cudnn {
namespace {

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  static_assert(sizeof(Ours) == sizeof(Theirs));
  return static_cast<int>(ours) == static_cast<int>(theirs);
}

static_assert(CUDNN_MAJOR == 9);
static_assert(same(Data::kFloat, CUDNN_DATA_FLOAT) && same(Data::kDouble, CUDNN_DATA_DOUBLE) &&
              same(Data::kHalf, CUDNN_DATA_HALF) && same(Data::kBFloat16, CUDNN_DATA_BFLOAT16));
static_assert(same(Kind::kConvolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) &&
              same(Kind::kEngine, CUDNN_BACKEND_ENGINE_DESCRIPTOR) &&
              same(Kind::kEngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) &&
              same(Kind::kHeuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) &&
              same(Kind::kPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) &&
              same(Kind::kForward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) &&
              same(Kind::kBackwardFilter, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR) &&
              same(Kind::kBackwardData, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) &&
              same(Kind::kGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) &&
              same(Kind::kVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) &&
              same(Kind::kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
static_assert(same(Type::kHandle, CUDNN_TYPE_HANDLE) && same(Type::kData, CUDNN_TYPE_DATA_TYPE) &&
              same(Type::kInt64, CUDNN_TYPE_INT64) && same(Type::kFloat, CUDNN_TYPE_FLOAT) &&
              same(Type::kDouble, CUDNN_TYPE_DOUBLE) && same(Type::kPointer, CUDNN_TYPE_VOID_PTR) &&
              same(Type::kConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE) &&
              same(Type::kHeuristicMode, CUDNN_TYPE_HEUR_MODE) && same(Type::kNote, CUDNN_TYPE_NUMERICAL_NOTE) &&
              same(Type::kDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));
static_assert(same(Kind::kCard, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR) && same(Type::kChar, CUDNN_TYPE_CHAR) &&
              same(Attribute::kHeuristicCard, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP) &&
              same(Attribute::kPlanCard, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP) &&
              same(Attribute::kCardJson, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION));
static_assert(same(Mode::kCrossCorrelation, CUDNN_CROSS_CORRELATION) &&
              same(Heuristic::kFallback, CUDNN_HEUR_MODE_FALLBACK) && same(Heuristic::kA, CUDNN_HEUR_MODE_A));
static_assert(same(Note::kTensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) &&
              same(Note::kDownConvert, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) &&
              same(Note::kReducedReduction, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) &&
              same(Note::kNondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) &&
              same(Note::kCount, CUDNN_NUMERICAL_NOTE_TYPE_COUNT));
static_assert(same(Attribute::kConvolutionCompute, CUDNN_ATTR_CONVOLUTION_COMP_TYPE) &&
              same(Attribute::kConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE) &&
              same(Attribute::kDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS) &&
              same(Attribute::kStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES) &&
              same(Attribute::kPostPaddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) &&
              same(Attribute::kPrePaddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) &&
              same(Attribute::kSpatialDims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
static_assert(same(Attribute::kHeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE) &&
              same(Attribute::kHeuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH) &&
              same(Attribute::kHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS) &&
              same(Attribute::kConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE) &&
              same(Attribute::kPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE) &&
              same(Attribute::kPlanConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) &&
              same(Attribute::kPlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
static_assert(same(Attribute::kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA) &&
              same(Attribute::kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA) &&
              same(Attribute::kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA) &&
              same(Attribute::kGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE) &&
              same(Attribute::kGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS));
static_assert(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W - CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA == 3 &&
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X - CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA == 4 &&
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y - CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA == 5);
static_assert(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W - CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA == 3 &&
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX - CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA == 4 &&
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY - CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA == 5);
static_assert(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW - CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA == 3 &&
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X - CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA == 4 &&
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY - CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA == 5);
static_assert(same(Attribute::kTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) &&
              same(Attribute::kTensorType, CUDNN_ATTR_TENSOR_DATA_TYPE) &&
              same(Attribute::kTensorDims, CUDNN_ATTR_TENSOR_DIMENSIONS) &&
              same(Attribute::kTensorStrides, CUDNN_ATTR_TENSOR_STRIDES) &&
              same(Attribute::kTensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID));
static_assert(same(Attribute::kPackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) &&
              same(Attribute::kPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) &&
              same(Attribute::kPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE) &&
              same(Attribute::kEngineIndex, CUDNN_ATTR_ENGINE_GLOBAL_INDEX) &&
              same(Attribute::kEngineNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE));

}  // namespace
}  // namespace emplace::cuda::cudnn

#endif
