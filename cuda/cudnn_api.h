/// The part of cuDNN's graph ("backend") interface that convolutions need, with cuDNN 9's names and values, so that it
/// can be called, and its descriptors tested, where the library has no headers. cudnn_api.cpp holds it to them where it
/// has.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace emplace::cuda::cudnn {

inline constexpr char kLibrary[] = "libcudnn.so.9";

using Handle = struct cudnnContext*;
using DescriptorHandle = void*;
using StatusCode = int;  // 0: fine; 2xxx: bad parameter; 3xxx: not supported

enum class Data : int { kFloat = 0, kDouble = 1, kHalf = 2, kBFloat16 = 9 };
enum class Kind : int {
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristics = 4,
  kPlan = 5,
  kForward = 10,
  kBackwardFilter = 11,
  kBackwardData = 12,
  kGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kCard = 38,
};
enum class Type : int {
  kHandle = 0,
  kData = 1,
  kInt64 = 3,
  kFloat = 4,
  kDouble = 5,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicMode = 8,
  kNote = 11,
  kDescriptor = 15,
  kChar = 24
};
enum class Mode : int { kCrossCorrelation = 1 };
enum class Heuristic : int { kFallback = 2, kA = 3 };
enum class Note : int { kTensorCore = 0, kDownConvert = 1, kReducedReduction = 2, kNondeterministic = 4, kCount = 10 };
enum class Attribute : int {
  kConvolutionCompute = 100,
  kConvolutionMode = 101,
  kDilations = 102,
  kStrides = 103,
  kPostPaddings = 104,
  kPrePaddings = 105,
  kSpatialDims = 106,
  kHeuristicMode = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kHeuristicCard = 204,
  kConfigEngine = 300,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kPlanCard = 407,
  kForward = 700,
  kBackwardData = 706,
  kBackwardFilter = 712,  // the first of six; see convolution_attributes() in cudnn.cpp
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorDims = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineIndex = 1301,
  kEngineNotes = 1303,
  kCardJson = 2702,
};

struct Functions {
  StatusCode (*create)(Handle*) = nullptr;
  StatusCode (*set_stream)(Handle, cudaStream_t) = nullptr;
  const char* (*error_text)(StatusCode) = nullptr;
  void (*last_error)(char*, size_t) = nullptr;
  StatusCode (*create_descriptor)(Kind, DescriptorHandle*) = nullptr;
  StatusCode (*destroy_descriptor)(DescriptorHandle) = nullptr;
  StatusCode (*finalize)(DescriptorHandle) = nullptr;
  StatusCode (*set)(DescriptorHandle, Attribute, Type, int64_t count, const void* values) = nullptr;
  StatusCode (*get)(DescriptorHandle, Attribute, Type, int64_t room, int64_t* count, void* values) = nullptr;
  StatusCode (*execute)(Handle, DescriptorHandle plan, DescriptorHandle pack) = nullptr;
};

}  // namespace emplace::cuda::cudnn
