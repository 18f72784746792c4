// Which of the kernels that TensorFlow registers for a GPU (or for any device) the plug-in has, for the ops that run
// here.
#include <catch2/catch.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/op/gpu_gaps.h"
#include "core/op/kernel_attr.h"
#include "core/op/op_def.h"
#include "core/op/op_table.h"
#include "core/report/op_coverage.h"
#include "cuda/kernel_table.h"

namespace emplace::cuda::testing {
namespace {

/// What emplace runs on no device, though TensorFlow has a kernel for a GPU.
struct Nowhere {
  std::string_view op;  // empty: any
  std::vector<DType> types;
  std::string_view reason;
};
const Nowhere kNowhere[] = {
    {"", {DType::kVariant}, "variants here hold lists of tensors, optional values and ragged tensors"},
    {"",
     {DType::kInt2, DType::kUInt2, DType::kInt4, DType::kUInt4, DType::kFloat4E2M1FN},
     "values of less than a byte are moved and cast, not computed"},
    {"ApproxTopK", {DType::kDouble}, "no type of the op"},
    {"MaxPool", {DType::kQInt8}, "of four channels in a word (NCHW_VECT_C), a layout that nothing here has"},
    {"MaxPoolV2", {DType::kQInt8}, "of four channels in a word (NCHW_VECT_C), a layout that nothing here has"},
    {"Relu", {DType::kQInt8}, "of four elements in a word"},
    {"_FusedConv2D", {DType::kInt8, DType::kQInt8}, "of four channels in a word"},
    {"Inv", {DType::kInt64}, "TensorFlow has it for no CPU: nothing to compare with"},
    {"Reciprocal", {DType::kInt64}, "TensorFlow has it for no CPU: nothing to compare with"},
    {"ExtractImagePatches", {DType::kBool}, "TensorFlow has it for no CPU: nothing to compare with"},
    {"Prelu", {DType::kHalf, DType::kBFloat16}, "an op of TensorFlow.js, which has no halves"},
    {"FusedDepthwiseConv2dNative", {DType::kHalf, DType::kBFloat16}, "an op of TensorFlow.js, which has no halves"},
};
bool runs_nowhere(std::string_view op, DType type) {
  return std::any_of(std::begin(kNowhere), std::end(kNowhere), [&](const Nowhere& n) {
    return (n.op.empty() || n.op == op) && std::find(n.types.begin(), n.types.end(), type) != n.types.end();
  });
}

/// The types of the op's kernel attr that a registered kernel is for; kInvalid for an op without that attr. Where the
/// kernel does not say, those that the op may have and that run here at all.
std::vector<DType> types_of(const KernelSignature& kernel, std::string_view attr, const OpDef& def) {
  if (attr.empty()) return {DType::kInvalid};
  for (const KernelConstraint& c : kernel.constraints) {
    if (c.attr == attr) return c.allowed_values.get<std::vector<DType>>();
  }
  std::vector<DType> types;
  for (int t = 1; t < kDTypeCount; ++t) {
    if (def.cpu_kernel(static_cast<DType>(t))) types.push_back(static_cast<DType>(t));
  }
  return types;
}

/// Are all of the kernel's arguments in host memory?
bool is_host_code(const KernelSignature& kernel, const OpSignature& op) {
  auto in_host_memory = [&](const ArgSignature& arg) {
    return std::find(kernel.host_memory_args.begin(), kernel.host_memory_args.end(), arg.name) !=
           kernel.host_memory_args.end();
  };
  return std::all_of(op.inputs.begin(), op.inputs.end(), in_host_memory) &&
         std::all_of(op.outputs.begin(), op.outputs.end(), in_host_memory);
}

TEST_CASE("what has all of its arguments in host memory is the CPU's code") {
  OpTable ops;
  for (std::string_view name : OpLibrary::names()) {
    const OpDef* def = OpLibrary::find(name);
    const OpSignature* op = ops.find(name);
    for (const KernelSignature& kernel : ops.kernels(name)) {
      if (kernel.device_type == "CPU" || !is_host_code(kernel, *op) || op->inputs.empty()) continue;
      if (name == "Unique" || !kernel.label.empty()) continue;  // there are both, the label chooses
      if (name == "RngSkip") continue;                          // changes a variable, which is in device memory
      for (DType type : types_of(kernel, kernel_attr(*op, def), *def)) {
        const KernelTable::Entry* entry = kernel_table().find(name, type);
        INFO(name << " " << (type == DType::kInvalid ? "" : dtype_name(type)));
        CHECK((!entry || !entry->maker));
      }
    }
  }
}

TEST_CASE("every kernel that TensorFlow has for a GPU, of the ops that run here, or a reason why not") {
  OpTable ops;
  std::set<std::pair<std::string_view, DType>> missing;
  int there = 0, nowhere = 0;
  for (std::string_view name : OpLibrary::names()) {
    const OpDef* def = OpLibrary::find(name);
    const OpSignature* op = ops.find(name);
    REQUIRE(op != nullptr);
    const std::string_view attr = kernel_attr(*op, def);
    for (const KernelSignature& kernel : ops.kernels(name)) {
      if (kernel.device_type != "GPU" && kernel.device_type != "DEFAULT") continue;
      for (DType type : types_of(kernel, attr, *def)) {
        if (kernel_table().find(name, type))
          ++there;
        else if (!def->cpu_kernel(type) && runs_nowhere(name, type))
          ++nowhere;
        else
          missing.emplace(name, type);
      }
    }
  }
  CHECK(there > 1000);
  CHECK(nowhere > 10);
  for (const auto& [op, type] : missing) {
    INFO(op << " " << dtype_name(type));
    CHECK(find_gpu_gap(op, type) != nullptr);
  }
  for (const GpuGap& gap : gpu_gaps()) {
    INFO(gap.op << " " << dtype_name(gap.type) << " is there: " << gap.reason);
    CHECK(std::any_of(missing.begin(), missing.end(),
                      [&](const auto& kernel) { return covers(gap, kernel.first, kernel.second); }));
  }
}

/// Ops that have no kernel for a GPU, here or in TensorFlow: nothing is placed there. Whoever adds an op writes it
/// here, or its kernel.
struct OnCpuAlone {
  std::string_view reason;
  std::vector<std::string_view> ops;
};
const OnCpuAlone kOnCpuAlone[] = {
    {"TensorFlow has it on the CPU alone", {"GuaranteeConst", "Timestamp"}},
    {"strings are in host memory",
     {"AsString",
      "DecodeBase64",
      "DecodeCSV",
      "DecodeCompressed",
      "DecodePaddedRaw",
      "DecodeRaw",
      "EncodeBase64",
      "Fingerprint",
      "ParseExample",
      "ParseExampleV2",
      "ParseSequenceExample",
      "ParseSequenceExampleV2",
      "ParseSingleExample",
      "ParseSingleSequenceExample",
      "ParseTensor",
      "ReduceJoin",
      "RegexFullMatch",
      "RegexReplace",
      "SerializeTensor",
      "StaticRegexFullMatch",
      "StaticRegexReplace",
      "StringFormat",
      "StringJoin",
      "StringLength",
      "StringLower",
      "StringNGrams",
      "StringSplit",
      "StringSplitV2",
      "StringStrip",
      "StringToHashBucket",
      "StringToHashBucketFast",
      "StringToHashBucketStrong",
      "StringToNumber",
      "StringUpper",
      "Substr",
      "UnicodeDecode",
      "UnicodeDecodeWithOffsets",
      "UnicodeEncode",
      "UnicodeScript",
      "UnicodeTranscode",
      "UnsortedSegmentJoin"}},
    {"lengths of rows decide where elements go",
     {"RaggedBincount", "RaggedCountSparseOutput", "RaggedCross", "RaggedGather", "RaggedRange", "RaggedTensorToSparse",
      "RaggedTensorToTensor", "RaggedTensorToVariant", "RaggedTensorToVariantGradient"}},
    {"places decide where elements of sparse tensors go",
     {"DenseCountSparseOutput",
      "DenseToDenseSetOperation",
      "DenseToSparseSetOperation",
      "DeserializeManySparse",
      "EditDistance",
      "SerializeManySparse",
      "SerializeSparse",
      "SetSize",
      "SparseAdd",
      "SparseAddGrad",
      "SparseBincount",
      "SparseCountSparseOutput",
      "SparseCross",
      "SparseCrossHashed",
      "SparseCrossV2",
      "SparseDenseCwiseAdd",
      "SparseDenseCwiseDiv",
      "SparseDenseCwiseMul",
      "SparseMatMul",
      "SparseReduceMax",
      "SparseReduceMaxSparse",
      "SparseReduceSum",
      "SparseReduceSumSparse",
      "SparseSoftmax",
      "SparseSparseMaximum",
      "SparseSparseMinimum",
      "SparseTensorDenseAdd",
      "SparseToSparseSetOperation"}},
    {"products of bytes, by the CPU's instructions for them", {"OnnxConvInteger", "OnnxQLinearConv"}},
    {"layers of recurrent cells, a step behind the other, by the CPU's vectors",
     {"OnnxGRU", "OnnxGRUGrad", "OnnxLSTM", "OnnxLSTMGrad", "OnnxRNN", "OnnxRNNGrad"}},
    {"tables are in host memory",
     {"AnonymousHashTable",
      "AnonymousMutableDenseHashTable",
      "AnonymousMutableHashTable",
      "AnonymousMutableHashTableOfTensors",
      "HashTable",
      "HashTableV2",
      "InitializeTable",
      "InitializeTableFromTextFile",
      "InitializeTableFromTextFileV2",
      "InitializeTableV2",
      "LookupTableExport",
      "LookupTableExportV2",
      "LookupTableFind",
      "LookupTableFindV2",
      "LookupTableImport",
      "LookupTableImportV2",
      "LookupTableInsert",
      "LookupTableInsertV2",
      "LookupTableRemoveV2",
      "LookupTableSize",
      "LookupTableSizeV2",
      "MutableDenseHashTableV2",
      "MutableHashTable",
      "MutableHashTableOfTensors",
      "MutableHashTableOfTensorsV2",
      "MutableHashTableV2"}},
    {"TensorFlow has these updates on the CPU alone",
     {"ApplyAdagradDA", "ApplyProximalGradientDescent", "CountUpTo", "ResourceApplyAdagradDA",
      "ResourceApplyProximalGradientDescent", "ResourceCountUpTo", "ResourceSparseApplyAdagradDA",
      "ResourceSparseApplyProximalGradientDescent", "SparseApplyAdagradDA", "SparseApplyProximalGradientDescent"}},
    {"files and what is printed",
     {"MergeV2Checkpoints", "Print", "PrintV2", "Restore", "RestoreSlice", "RestoreV2", "Save", "SaveSlices", "SaveV2",
      "ShardedFilename"}},
    {"files of images",
     {"DecodeAndCropJpeg", "DecodeBmp", "DecodeGif", "DecodeImage", "DecodeJpeg", "DecodePng", "EncodeJpeg",
      "EncodeJpegVariableQuality", "EncodePng", "ExtractJpegShape"}},
    {"images as they are shown or prepared",
     {"DrawBoundingBoxes", "DrawBoundingBoxesV2", "ExtractGlimpse", "ExtractGlimpseV2", "ResizeArea", "ResizeBicubic",
      "ResizeBicubicGrad", "ScaleAndTranslate", "ScaleAndTranslateGrad"}},
    {"parts of images, and windows, that are drawn",
     {"FractionalAvgPool", "FractionalAvgPoolGrad", "FractionalMaxPool", "FractionalMaxPoolGrad", "RandomCrop",
      "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "StatelessSampleDistortedBoundingBox"}},
    {"numbers that are drawn by trying",
     {"ComputeAccidentalHits", "FixedUnigramCandidateSampler", "AllCandidateSampler", "LearnedUnigramCandidateSampler",
      "LogUniformCandidateSampler", "RandomGamma", "RandomIndexShuffle", "RandomPoissonV2", "StatefulRandomBinomial",
      "StatelessParameterizedTruncatedNormal", "StatelessRandomBinomial", "StatelessRandomPoisson",
      "ThreadUnsafeUnigramCandidateSampler", "UniformCandidateSampler"}},
    {"points of a sequence, one from the other", {"SobolSample"}},
    {"maps are in host memory",
     {"EmptyTensorMap", "TensorMapErase", "TensorMapHasKey", "TensorMapInsert", "TensorMapLookup", "TensorMapSize",
      "TensorMapStackKeys"}},
    {"matrices and rows that are taken apart step by step", {"CholeskyGrad", "IsotonicRegression"}},
    {"sound, as recorded",
     {"AudioSpectrogram", "CTCBeamSearchDecoder", "CTCGreedyDecoder", "CTCLoss", "DecodeWav", "EncodeWav", "Mfcc"}},
    {"triangles of a few diagonals, least squares, functions of matrices",
     {"BandedTriangularSolve", "MatrixLogarithm", "MatrixSolveLs", "MatrixSquareRoot"}},
    {"one element decides about the next",
     {"CombinedNonMaxSuppression", "ListDiff", "NonMaxSuppression", "NonMaxSuppressionV5",
      "NonMaxSuppressionWithOverlaps", "RandomShuffle", "StatelessShuffle", "UniqueV2", "UniqueWithCountsV2",
      "UnravelIndex"}},
    {"rows that TensorFlow ranks on the CPU", {"InTopK", "NthElement"}},
    {"integers that stand for a range", {"Dequantize", "QuantizeV2"}},
    {"slots of rows that TensorFlow optimizes on the CPU",
     {"ResourceSparseApplyCenteredRMSProp", "ResourceSparseApplyMomentum", "ResourceSparseApplyRMSProp",
      "SparseApplyCenteredRMSProp", "SparseApplyMomentum", "SparseApplyRMSProp"}},
};
bool is_on_cpu_alone(std::string_view op) {
  return std::any_of(std::begin(kOnCpuAlone), std::end(kOnCpuAlone), [&](const OnCpuAlone& alone) {
    return std::find(alone.ops.begin(), alone.ops.end(), op) != alone.ops.end();
  });
}

TEST_CASE("an op without a kernel for a GPU is in the list of those, with its reason") {
  OpTable ops;
  std::set<std::string_view> known;
  for (std::string_view name : OpLibrary::names()) {
    known.insert(name);
    const std::vector<KernelSignature>& kernels = ops.kernels(name);
    const bool registered = std::any_of(kernels.begin(), kernels.end(), [](const KernelSignature& k) {
      return k.device_type == "GPU" || k.device_type == "DEFAULT";
    });
    INFO(name);
    CHECK(is_on_cpu_alone(name) == !registered);
    bool has_kernel = false, has_gap = false;
    for (int t = 0; t < kDTypeCount; ++t) {
      has_kernel |= kernel_table().find(name, static_cast<DType>(t)) != nullptr;
      has_gap |= find_gpu_gap(name, static_cast<DType>(t)) != nullptr;
    }
    CHECK((has_kernel || has_gap) == registered);
  }
  for (const OnCpuAlone& alone : kOnCpuAlone) {
    for (std::string_view op : alone.ops) {
      INFO(op);
      CHECK(known.count(op) == 1);
    }
  }
}

TEST_CASE("a kernel that the CPU has is a GPU's too, a gap with a reason, or one that TensorFlow has for no GPU") {
  OpTable ops;
  for (std::string_view name : OpLibrary::names()) {
    const OpDef* def = OpLibrary::find(name);
    const OpSignature* op = ops.find(name);
    const DTypeSet on_gpu = covered_types(*op, kernel_attr(*op, def), ops.kernels(name), false);
    for (int t = 1; t < kDTypeCount; ++t) {
      const auto type = static_cast<DType>(t);
      if (!def->cpu_kernel(type)) continue;
      INFO(name << " " << dtype_name(type));
      CHECK((kernel_table().find(name, type) || find_gpu_gap(name, type) || !on_gpu.has(type)));
    }
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
