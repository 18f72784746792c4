#include "core/formats/proto/fields.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "core/base/suggest.h"
#include "core/formats/proto/field_tables.h"

namespace emplace::proto {
namespace {

struct MessageDescription {
  std::string_view name;
  std::span<const Field> fields;
};
constexpr MessageDescription kMessages[] = {
    {"GraphDef", kGraphDefFields},
    {"NodeDef", kNodeDefFields},
    {"NodeDefAttrEntry", kNodeDefAttrEntryFields},
    {"AttrValue", kAttrValueFields},
    {"AttrValueListValue", kAttrValueListValueFields},
    {"TensorShapeProto", kTensorShapeProtoFields},
    {"TensorShapeProtoDim", kTensorShapeProtoDimFields},
    {"TensorProto", kTensorProtoFields},
    {"ResourceHandleProto", kResourceHandleProtoFields},
    {"ResourceHandleProtoDtypeAndShape", kResourceHandleProtoDtypeAndShapeFields},
    {"VariantTensorDataProto", kVariantTensorDataProtoFields},
    {"NameAttrList", kNameAttrListFields},
    {"NameAttrListAttrEntry", kNameAttrListAttrEntryFields},
    {"NodeDefExperimentalDebugInfo", kNodeDefExperimentalDebugInfoFields},
    {"FullTypeDef", kFullTypeDefFields},
    {"FunctionDefLibrary", kFunctionDefLibraryFields},
    {"FunctionDef", kFunctionDefFields},
    {"OpDef", kOpDefFields},
    {"OpDefArgDef", kOpDefArgDefFields},
    {"OpDefAttrDef", kOpDefAttrDefFields},
    {"OpDeprecation", kOpDeprecationFields},
    {"FunctionDefRetEntry", kFunctionDefRetEntryFields},
    {"FunctionDefAttrEntry", kFunctionDefAttrEntryFields},
    {"FunctionDefControlRetEntry", kFunctionDefControlRetEntryFields},
    {"FunctionDefArgAttrEntry", kFunctionDefArgAttrEntryFields},
    {"FunctionDefArgAttrs", kFunctionDefArgAttrsFields},
    {"FunctionDefArgAttrsAttrEntry", kFunctionDefArgAttrsAttrEntryFields},
    {"FunctionDefResourceArgUniqueIdEntry", kFunctionDefResourceArgUniqueIdEntryFields},
    {"GradientDef", kGradientDefFields},
    {"RegisteredGradient", kRegisteredGradientFields},
    {"VersionDef", kVersionDefFields},
    {"GraphDebugInfo", kGraphDebugInfoFields},
    {"GraphDebugInfoTracesEntry", kGraphDebugInfoTracesEntryFields},
    {"GraphDebugInfoStackTrace", kGraphDebugInfoStackTraceFields},
    {"GraphDebugInfoFileLineCol", kGraphDebugInfoFileLineColFields},
    {"GraphDebugInfoFramesByIdEntry", kGraphDebugInfoFramesByIdEntryFields},
    {"GraphDebugInfoNameToTraceIdEntry", kGraphDebugInfoNameToTraceIdEntryFields},
    {"GraphDebugInfoTracesByIdEntry", kGraphDebugInfoTracesByIdEntryFields},
    {"MetaGraphDef", kMetaGraphDefFields},
    {"MetaGraphDefMetaInfoDef", kMetaGraphDefMetaInfoDefFields},
    {"OpList", kOpListFields},
    {"Any", kAnyFields},
    {"MetaGraphDefMetaInfoDefFunctionAliasesEntry", kMetaGraphDefMetaInfoDefFunctionAliasesEntryFields},
    {"SaverDef", kSaverDefFields},
    {"MetaGraphDefCollectionDefEntry", kMetaGraphDefCollectionDefEntryFields},
    {"CollectionDef", kCollectionDefFields},
    {"CollectionDefNodeList", kCollectionDefNodeListFields},
    {"CollectionDefBytesList", kCollectionDefBytesListFields},
    {"CollectionDefInt64List", kCollectionDefInt64ListFields},
    {"CollectionDefFloatList", kCollectionDefFloatListFields},
    {"CollectionDefAnyList", kCollectionDefAnyListFields},
    {"MetaGraphDefSignatureDefEntry", kMetaGraphDefSignatureDefEntryFields},
    {"SignatureDef", kSignatureDefFields},
    {"SignatureDefInputsEntry", kSignatureDefInputsEntryFields},
    {"TensorInfo", kTensorInfoFields},
    {"TensorInfoCooSparse", kTensorInfoCooSparseFields},
    {"TensorInfoCompositeTensor", kTensorInfoCompositeTensorFields},
    {"TypeSpecProto", kTypeSpecProtoFields},
    {"StructuredValue", kStructuredValueFields},
    {"NoneValue", {}},
    {"TensorSpecProto", kTensorSpecProtoFields},
    {"BoundedTensorSpecProto", kBoundedTensorSpecProtoFields},
    {"ListValue", kListValueFields},
    {"TupleValue", kTupleValueFields},
    {"DictValue", kDictValueFields},
    {"DictValueFieldsEntry", kDictValueFieldsEntryFields},
    {"NamedTupleValue", kNamedTupleValueFields},
    {"PairValue", kPairValueFields},
    {"SignatureDefOutputsEntry", kSignatureDefOutputsEntryFields},
    {"SignatureDefDefaultsEntry", kSignatureDefDefaultsEntryFields},
    {"AssetFileDef", kAssetFileDefFields},
    {"SavedObjectGraph", kSavedObjectGraphFields},
    {"SavedObject", kSavedObjectFields},
    {"TrackableObjectGraphTrackableObjectObjectReference", kTrackableObjectGraphTrackableObjectObjectReferenceFields},
    {"TrackableObjectGraphTrackableObjectSlotVariableReference",
     kTrackableObjectGraphTrackableObjectSlotVariableReferenceFields},
    {"SavedUserObject", kSavedUserObjectFields},
    {"SavedAsset", kSavedAssetFields},
    {"SavedFunction", kSavedFunctionFields},
    {"FunctionSpec", kFunctionSpecFields},
    {"SavedVariable", kSavedVariableFields},
    {"SavedBareConcreteFunction", kSavedBareConcreteFunctionFields},
    {"SavedConstant", kSavedConstantFields},
    {"SavedResource", kSavedResourceFields},
    {"SavedObjectSaveableObjectsEntry", kSavedObjectSaveableObjectsEntryFields},
    {"SaveableObject", kSaveableObjectFields},
    {"CapturedTensor", kCapturedTensorFields},
    {"SavedObjectGraphConcreteFunctionsEntry", kSavedObjectGraphConcreteFunctionsEntryFields},
    {"SavedConcreteFunction", kSavedConcreteFunctionFields},
    {"VariableDef", kVariableDefFields},
    {"SaveSliceInfoDef", kSaveSliceInfoDefFields},
    {"SavedModel", kSavedModelFields},
    {"TensorSliceProto", kTensorSliceProtoFields},
    {"TensorSliceProtoExtent", kTensorSliceProtoExtentFields},
    {"BundleHeaderProto", kBundleHeaderProtoFields},
    {"BundleEntryProto", kBundleEntryProtoFields},
    {"SavedTensorSlices", kSavedTensorSlicesFields},
    {"SavedTensorSliceMeta", kSavedTensorSliceMetaFields},
    {"SavedSliceMeta", kSavedSliceMetaFields},
    {"SavedSlice", kSavedSliceFields},
    {"CheckpointState", kCheckpointStateFields},
    {"ModelProto", kOnnxModelFields},
    {"GraphProto", kOnnxGraphFields},
    {"NodeProto", kOnnxNodeFields},
    {"AttributeProto", kOnnxAttributeFields},
    {"onnx.TensorProto", kOnnxTensorFields},
    {"StringStringEntryProto", kOnnxEntryFields},
    {"ValueInfoProto", kOnnxValueInfoFields},
    {"TypeProto", kOnnxTypeFields},
    {"TypeProto.Tensor", kOnnxTensorTypeFields},
    {"TypeProto.Sequence", kOnnxElementTypeFields},
    {"onnx.TensorShapeProto", kOnnxShapeFields},
    {"onnx.TensorShapeProto.Dimension", kOnnxDimensionFields},
    {"OperatorSetIdProto", kOnnxOpsetFields},
    {"FunctionProto", kOnnxFunctionFields},
    {"SparseTensorProto", kOnnxSparseTensorFields},
};

constexpr std::span<const EnumValue> kEnums[] = {
    kDataTypeValues,
    kFullTypeIdValues,
    kSaverDefCheckpointFormatVersionValues,
    kTypeSpecProtoTypeSpecClassValues,
    kFunctionSpecJitCompileValues,
    kVariableSynchronizationValues,
    kVariableAggregationValues,
};

std::span<const EnumValue> values_of(Enum values) { return kEnums[static_cast<size_t>(values)]; }

}  // namespace

std::string_view name_of(Message message) { return kMessages[static_cast<size_t>(message)].name; }

std::span<const Field> fields_of(Message message) { return kMessages[static_cast<size_t>(message)].fields; }

const Field* find_field(Message message, uint32_t number) {
  std::span<const Field> fields = fields_of(message);
  // Nearly all are numbered from 1 on without a gap.
  if (number - 1 < fields.size() && fields[number - 1].number == number) return &fields[number - 1];
  auto at = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.number == number; });
  return at == fields.end() ? nullptr : &*at;
}

const Field* find_field(Message message, std::string_view name) {
  std::span<const Field> fields = fields_of(message);
  auto at = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
  return at == fields.end() ? nullptr : &*at;
}

std::string_view enum_name(Enum values, int64_t number) {
  for (const EnumValue& v : values_of(values)) {
    if (v.number == number) return v.name;
  }
  return {};
}

bool enum_number(Enum values, std::string_view name, int64_t& number) {
  for (const EnumValue& v : values_of(values)) {
    if (v.name == name) return number = v.number, true;
  }
  return false;
}

std::string near_enum_name(Enum values, std::string_view name) {
  Suggestion near(name);
  for (const EnumValue& v : values_of(values)) near.offer(v.name);
  return near.text();
}

}  // namespace emplace::proto
