// For which types emplace has CPU kernels, beside TensorFlow's registry: every difference is listed with its reason.
#include "core/report/op_coverage.h"

#include <catch2/catch.hpp>
#include <set>

#include "core/base/cat.h"

using namespace emplace;

namespace {

using Ops = std::set<std::string_view>;

// Types that TensorFlow runs and emplace does not.
struct Missing {
  std::string_view reason;
  DTypeSet types;
  Ops ops;  // empty: any
};
const Missing kMissing[] = {
    {"nothing makes variants (tensor lists, datasets) yet", DTypeSet{DType::kVariant}, {}},
    {"sub-byte types can be placed, not run",
     DTypeSet{DType::kInt4, DType::kUInt4, DType::kInt2, DType::kUInt2, DType::kFloat4E2M1FN},
     {}},
    {"handles are compared and chosen by nobody",
     DTypeSet{DType::kResource},
     {"RandomShuffle", "Roll", "Select", "SelectV2", "StatelessShuffle"}},
    {"a handle means nothing outside of its run",
     DTypeSet{DType::kResource},
     {"SerializeManySparse", "SerializeTensor"}},
    {"quantized numbers are moved, not computed with",
     DTypeSet{DType::kQInt8, DType::kQUInt8, DType::kQInt16, DType::kQUInt16, DType::kQInt32, DType::kInt8},
     {"Equal", "NotEqual", "_FusedConv2D"}},
    {"nothing computes with 8-bit floating-point numbers",
     DTypeSet{DType::kFloat8E5M2, DType::kFloat8E4M3FN},
     {"Cast"}},
    {"XLA compiles no texts, quantized numbers and handles",
     DTypeSet{DType::kString, DType::kQInt8, DType::kQUInt8, DType::kQInt16, DType::kQUInt16, DType::kQInt32,
              DType::kResource},
     {"XlaDynamicSlice", "XlaDynamicUpdateSlice"}},
    {"complex numbers have no order", kComplexes, {"ClipByValue"}},
    {"TensorFlow's ends the process", DTypeSet{DType::kInt32}, {"UnicodeDecodeWithOffsets"}},
    {"nothing is added to truth", DTypeSet{DType::kBool}, {"ResourceScatterNdAdd", "ResourceScatterNdSub"}},
    {"TF.js has float32 only", kHalves, {"FusedDepthwiseConv2dNative", "Prelu"}},
};

// Kernels that move data are written by element size, so they take more types than TensorFlow registers.
const Ops kMovers = {"Assign",
                     "AssignVariableOp",
                     "BatchToSpaceND",
                     "BroadcastTo",
                     "Concat",
                     "ConcatV2",
                     "ConjugateTranspose",
                     "DepthToSpace",
                     "Diag",
                     "DiagPart",
                     "Fill",
                     "Gather",
                     "GatherNd",
                     "GatherV2",
                     "MatrixBandPart",
                     "MatrixDiag",
                     "MatrixDiagPart",
                     "MirrorPad",
                     "NextIteration",
                     "OneHot",
                     "Pack",
                     "Pad",
                     "PadV2",
                     "RaggedGather",
                     "RaggedTensorToTensor",
                     "RefSwitch",
                     "ScatterUpdate",
                     "Slice",
                     "Snapshot",
                     "SpaceToBatchND",
                     "SpaceToDepth",
                     "SparseToDense",
                     "Split",
                     "SplitV",
                     "StridedSlice",
                     "StridedSliceGrad",
                     "Switch",
                     "Transpose",
                     "Unpack"};

std::string names(DTypeSet set) {
  std::string out;
  for (DType t : in_order(set)) append(out, out.empty() ? "" : " ", dtype_name(t));
  return out;
}

}  // namespace

TEST_CASE("every op that runs has a signature and kernels to be placed by") {
  OpTable table;
  for (std::string_view name : OpLibrary::names()) {
    INFO(name);
    CHECK(table.find(name) != nullptr);
    CHECK_FALSE(table.kernels(name).empty());
  }
}

TEST_CASE("emplace runs an op on the CPU for the types for which TensorFlow does, but for listed exceptions") {
  OpTable table;
  for (std::string_view name : OpLibrary::names()) {
    const OpSignature* op = table.find(name);
    if (!op) continue;
    Coverage ours = coverage(table, *op, *OpLibrary::find(name));
    if (ours.attr.empty()) continue;
    DTypeSet theirs = covered_types(*op, ours.attr, table.kernels(name), true);
    DTypeSet missing = theirs.without(ours.cpu);
    for (const Missing& m : kMissing) {
      if (m.ops.empty() || m.ops.contains(name)) missing = missing.without(m.types);
    }
    DTypeSet more = ours.cpu.without(theirs);
    if (kMovers.contains(name) || name.starts_with("TensorList") || name.starts_with("TensorArray") ||
        name == "_SwitchN")
      more = {};
    INFO(name);
    CHECK(names(missing) == "");
    CHECK(names(more) == "");
  }
}
