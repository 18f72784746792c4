#include "core/op/gpu_gaps.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr std::string_view kStepByStep = "matrices are taken apart step by step";
constexpr std::string_view kByPlaces = "places decide where elements of sparse tensors go";
constexpr std::string_view kHostIntegers = "TensorFlow changes them in host memory";
constexpr std::string_view kSeries = "series are as long as their argument asks for";
constexpr std::string_view kImages = "images are prepared where they are decoded";
constexpr std::string_view kWaves = "transforms go by halves, or as a convolution";
constexpr std::string_view kCells = "steps of recurrent cells go one after the other, on the CPU";
constexpr std::string_view kVolumes = "volumes are convolved and pooled on the CPU";
constexpr std::string_view kQuantised = "quantisation is tried out on the CPU";
constexpr std::string_view kTrials = "numbers that are drawn by trying take as many trials as it takes";
constexpr std::string_view kInTurn = "what an element draws hangs on those before it";
constexpr std::string_view kByHand = "elements that meet are compared and counted one after the other";
constexpr std::string_view kTinyNumbers = "numbers of 8 and 4 bits are converted on the CPU";

constexpr GpuGap kGaps[] = {
    {"AssignVariableOp", DType::kResource, "handles are kept in host memory"},
    {"AssignVariableOp", DType::kString, "strings are kept in host memory"},
    {"BatchMatMulV3", DType::kBFloat16, "bytes may stand beside it, which are multiplied on the CPU"},
    {"Cast", DType::kFloat8E4M3FN, kTinyNumbers},
    {"Cast", DType::kFloat8E5M2, kTinyNumbers},
    {"Cast", DType::kInt4, kTinyNumbers},
    {"Cast", DType::kUInt4, kTinyNumbers},
    {"Cholesky", DType::kInvalid, kStepByStep},
    {"Cross", DType::kInvalid, kStepByStep},
    {"LogMatrixDeterminant", DType::kInvalid, kStepByStep},
    {"Lu", DType::kInvalid, kStepByStep},
    {"MatrixDeterminant", DType::kInvalid, kStepByStep},
    {"MatrixInverse", DType::kInvalid, kStepByStep},
    {"MatrixSolve", DType::kInvalid, kStepByStep},
    {"MatrixTriangularSolve", DType::kInvalid, kStepByStep},
    {"Qr", DType::kInvalid, kStepByStep},
    {"SelfAdjointEigV2", DType::kInvalid, kStepByStep},
    {"Svd", DType::kInvalid, kStepByStep},
    {"TridiagonalMatMul", DType::kInvalid, kStepByStep},
    {"TridiagonalSolve", DType::kInvalid, kStepByStep},
    {"ResourceScatterNdAdd", DType::kInt32, kHostIntegers},
    {"ResourceScatterNdMax", DType::kInt32, kHostIntegers},
    {"ResourceScatterNdMin", DType::kInt32, kHostIntegers},
    {"ResourceScatterNdSub", DType::kInt32, kHostIntegers},
    {"ResourceScatterNdUpdate", DType::kInt32, kHostIntegers},
    {"RaggedFillEmptyRows", DType::kInvalid, kByPlaces},
    {"RaggedFillEmptyRowsGrad", DType::kInvalid, kByPlaces},
    {"SparseConcat", DType::kInvalid, kByPlaces},
    {"SparseFillEmptyRows", DType::kInvalid, kByPlaces},
    {"SparseFillEmptyRowsGrad", DType::kInvalid, kByPlaces},
    {"SparseReorder", DType::kInvalid, kByPlaces},
    {"SparseReshape", DType::kInvalid, kByPlaces},
    {"SparseSegmentMean", DType::kInvalid, kByPlaces},
    {"SparseSegmentMeanGrad", DType::kInvalid, kByPlaces},
    {"SparseSegmentMeanGradV2", DType::kInvalid, kByPlaces},
    {"SparseSegmentMeanWithNumSegments", DType::kInvalid, kByPlaces},
    {"SparseSegmentSqrtN", DType::kInvalid, kByPlaces},
    {"SparseSegmentSqrtNGrad", DType::kInvalid, kByPlaces},
    {"SparseSegmentSqrtNGradV2", DType::kInvalid, kByPlaces},
    {"SparseSegmentSqrtNWithNumSegments", DType::kInvalid, kByPlaces},
    {"SparseSegmentSum", DType::kInvalid, kByPlaces},
    {"SparseSegmentSumGrad", DType::kInvalid, kByPlaces},
    {"SparseSegmentSumGradV2", DType::kInvalid, kByPlaces},
    {"SparseSegmentSumWithNumSegments", DType::kInvalid, kByPlaces},
    {"SparseSlice", DType::kInvalid, kByPlaces},
    {"SparseSliceGrad", DType::kInvalid, kByPlaces},
    {"SparseSplit", DType::kInvalid, kByPlaces},
    {"SparseTensorDenseMatMul", DType::kInvalid, kByPlaces},
    {"BesselI0", DType::kInvalid, kSeries},
    {"BesselI0e", DType::kInvalid, kSeries},
    {"BesselI1", DType::kInvalid, kSeries},
    {"BesselI1e", DType::kInvalid, kSeries},
    {"BesselJ0", DType::kInvalid, kSeries},
    {"BesselJ1", DType::kInvalid, kSeries},
    {"BesselK0", DType::kInvalid, kSeries},
    {"BesselK0e", DType::kInvalid, kSeries},
    {"BesselK1", DType::kInvalid, kSeries},
    {"BesselK1e", DType::kInvalid, kSeries},
    {"BesselY0", DType::kInvalid, kSeries},
    {"BesselY1", DType::kInvalid, kSeries},
    {"Betainc", DType::kInvalid, kSeries},
    {"CumulativeLogsumexp", DType::kInvalid, kSeries},
    {"Dawsn", DType::kInvalid, kSeries},
    {"Erfinv", DType::kInvalid, kSeries},
    {"Expint", DType::kInvalid, kSeries},
    {"FresnelCos", DType::kInvalid, kSeries},
    {"FresnelSin", DType::kInvalid, kSeries},
    {"Igamma", DType::kInvalid, kSeries},
    {"IgammaGradA", DType::kInvalid, kSeries},
    {"Igammac", DType::kInvalid, kSeries},
    {"Ndtri", DType::kInvalid, kSeries},
    {"NextAfter", DType::kInvalid, kSeries},
    {"RandomGammaGrad", DType::kInvalid, kSeries},
    {"Spence", DType::kInvalid, kSeries},
    {"HistogramFixedWidth", DType::kInvalid, kByHand},
    {"InplaceAdd", DType::kInvalid, kByHand},
    {"InplaceSub", DType::kInvalid, kByHand},
    {"InplaceUpdate", DType::kInvalid, kByHand},
    {"ResourceScatterDiv", DType::kInvalid, kByHand},
    {"ResourceScatterMax", DType::kInvalid, kByHand},
    {"ResourceScatterMin", DType::kInvalid, kByHand},
    {"ResourceStridedSliceAssign", DType::kInvalid, kByHand},
    {"ScatterDiv", DType::kInvalid, kByHand},
    {"ScatterMax", DType::kInvalid, kByHand},
    {"ScatterMin", DType::kInvalid, kByHand},
    {"ScatterNdAdd", DType::kInt32, kHostIntegers},
    {"ScatterNdMax", DType::kInt32, kHostIntegers},
    {"ScatterNdMin", DType::kInt32, kHostIntegers},
    {"ScatterNdSub", DType::kInt32, kHostIntegers},
    {"ScatterNdUpdate", DType::kInt32, kHostIntegers},
    {"StridedSliceAssign", DType::kInvalid, kByHand},
    {"TensorScatterMax", DType::kInvalid, kByHand},
    {"TensorScatterMin", DType::kInvalid, kByHand},
    {"UniqueWithCounts", DType::kInvalid, kByHand},
    {"FFT", DType::kInvalid, kWaves},
    {"FFT2D", DType::kInvalid, kWaves},
    {"FFT3D", DType::kInvalid, kWaves},
    {"IFFT", DType::kInvalid, kWaves},
    {"IFFT2D", DType::kInvalid, kWaves},
    {"IFFT3D", DType::kInvalid, kWaves},
    {"IRFFT", DType::kInvalid, kWaves},
    {"IRFFT2D", DType::kInvalid, kWaves},
    {"IRFFT3D", DType::kInvalid, kWaves},
    {"RFFT", DType::kInvalid, kWaves},
    {"RFFT2D", DType::kInvalid, kWaves},
    {"RFFT3D", DType::kInvalid, kWaves},
    {"AdjustContrastv2", DType::kInvalid, kImages},
    {"AdjustHue", DType::kInvalid, kImages},
    {"AdjustSaturation", DType::kInvalid, kImages},
    {"CropAndResize", DType::kInvalid, kImages},
    {"CropAndResizeGradBoxes", DType::kInvalid, kImages},
    {"CropAndResizeGradImage", DType::kInvalid, kImages},
    {"HSVToRGB", DType::kInvalid, kImages},
    {"ImageProjectiveTransformV2", DType::kInvalid, kImages},
    {"ImageProjectiveTransformV3", DType::kInvalid, kImages},
    {"RGBToHSV", DType::kInvalid, kImages},
    {"BlockLSTM", DType::kInvalid, kCells},
    {"BlockLSTMGrad", DType::kInvalid, kCells},
    {"BlockLSTMGradV2", DType::kInvalid, kCells},
    {"BlockLSTMV2", DType::kInvalid, kCells},
    {"GRUBlockCell", DType::kInvalid, kCells},
    {"GRUBlockCellGrad", DType::kInvalid, kCells},
    {"LSTMBlockCell", DType::kInvalid, kCells},
    {"LSTMBlockCellGrad", DType::kInvalid, kCells},
    {"AvgPool3D", DType::kInvalid, kVolumes},
    {"AvgPool3DGrad", DType::kInvalid, kVolumes},
    {"Conv3D", DType::kInvalid, kVolumes},
    {"Conv3DBackpropFilterV2", DType::kInvalid, kVolumes},
    {"Conv3DBackpropInputV2", DType::kInvalid, kVolumes},
    {"MaxPool3D", DType::kInvalid, kVolumes},
    {"MaxPool3DGrad", DType::kInvalid, kVolumes},
    {"MaxPool3DGradGrad", DType::kInvalid, kVolumes},
    {"FakeQuantWithMinMaxArgs", DType::kInvalid, kQuantised},
    {"FakeQuantWithMinMaxArgsGradient", DType::kInvalid, kQuantised},
    {"FakeQuantWithMinMaxVars", DType::kInvalid, kQuantised},
    {"FakeQuantWithMinMaxVarsGradient", DType::kInvalid, kQuantised},
    {"FakeQuantWithMinMaxVarsPerChannel", DType::kInvalid, kQuantised},
    {"FakeQuantWithMinMaxVarsPerChannelGradient", DType::kInvalid, kQuantised},
    {"QuantizeAndDequantize", DType::kInvalid, kQuantised},
    {"QuantizeAndDequantizeV2", DType::kInvalid, kQuantised},
    {"QuantizeAndDequantizeV3", DType::kInvalid, kQuantised},
    {"QuantizeAndDequantizeV4", DType::kInvalid, kQuantised},
    {"QuantizeAndDequantizeV4Grad", DType::kInvalid, kQuantised},
    {"ParameterizedTruncatedNormal", DType::kInvalid, kTrials},
    {"StatelessRandomGammaV2", DType::kInvalid, kTrials},
    {"StatelessRandomGammaV3", DType::kInvalid, kTrials},
    {"StochasticCastToInt", DType::kInvalid, kInTurn},
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
