/// Names of what the messages of TensorFlow's and ONNX's graph files are made of: kinds of fields, the messages and
/// enumerations themselves, and Field, a row of the tables.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace emplace::proto {

enum class Kind : uint8_t {
  kInt32,
  kInt64,
  kUInt32,
  kUInt64,
  kBool,
  kEnum,
  kFloat,
  kDouble,
  kFixed32,
  kFixed64,
  kSInt64,
  kString,
  kBytes,
  kMessage
};
/// How often a field stands: a kOneof says that it is there even when its value is 0; a kMap is a list of entries
/// {key, value}, of which the last one with a key counts.
enum class Label : uint8_t { kOne, kOneof, kMany, kPacked, kMap };

/// Which message.
enum class Message : uint8_t {
  kGraphDef,
  kNodeDef,
  kNodeDefAttrEntry,
  kAttrValue,
  kAttrValueListValue,
  kTensorShapeProto,
  kTensorShapeProtoDim,
  kTensorProto,
  kResourceHandleProto,
  kResourceHandleProtoDtypeAndShape,
  kVariantTensorDataProto,
  kNameAttrList,
  kNameAttrListAttrEntry,
  kNodeDefExperimentalDebugInfo,
  kFullTypeDef,
  kFunctionDefLibrary,
  kFunctionDef,
  kOpDef,
  kOpDefArgDef,
  kOpDefAttrDef,
  kOpDeprecation,
  kFunctionDefRetEntry,
  kFunctionDefAttrEntry,
  kFunctionDefControlRetEntry,
  kFunctionDefArgAttrEntry,
  kFunctionDefArgAttrs,
  kFunctionDefArgAttrsAttrEntry,
  kFunctionDefResourceArgUniqueIdEntry,
  kGradientDef,
  kRegisteredGradient,
  kVersionDef,
  kGraphDebugInfo,
  kGraphDebugInfoTracesEntry,
  kGraphDebugInfoStackTrace,
  kGraphDebugInfoFileLineCol,
  kGraphDebugInfoFramesByIdEntry,
  kGraphDebugInfoNameToTraceIdEntry,
  kGraphDebugInfoTracesByIdEntry,
  kMetaGraphDef,
  kMetaGraphDefMetaInfoDef,
  kOpList,
  kAny,
  kMetaGraphDefMetaInfoDefFunctionAliasesEntry,
  kSaverDef,
  kMetaGraphDefCollectionDefEntry,
  kCollectionDef,
  kCollectionDefNodeList,
  kCollectionDefBytesList,
  kCollectionDefInt64List,
  kCollectionDefFloatList,
  kCollectionDefAnyList,
  kMetaGraphDefSignatureDefEntry,
  kSignatureDef,
  kSignatureDefInputsEntry,
  kTensorInfo,
  kTensorInfoCooSparse,
  kTensorInfoCompositeTensor,
  kTypeSpecProto,
  kStructuredValue,
  kNoneValue,
  kTensorSpecProto,
  kBoundedTensorSpecProto,
  kListValue,
  kTupleValue,
  kDictValue,
  kDictValueFieldsEntry,
  kNamedTupleValue,
  kPairValue,
  kSignatureDefOutputsEntry,
  kSignatureDefDefaultsEntry,
  kAssetFileDef,
  kSavedObjectGraph,
  kSavedObject,
  kTrackableObjectGraphTrackableObjectObjectReference,
  kTrackableObjectGraphTrackableObjectSlotVariableReference,
  kSavedUserObject,
  kSavedAsset,
  kSavedFunction,
  kFunctionSpec,
  kSavedVariable,
  kSavedBareConcreteFunction,
  kSavedConstant,
  kSavedResource,
  kSavedObjectSaveableObjectsEntry,
  kSaveableObject,
  kCapturedTensor,
  kSavedObjectGraphConcreteFunctionsEntry,
  kSavedConcreteFunction,
  kVariableDef,
  kSaveSliceInfoDef,
  kSavedModel,
  kTensorSliceProto,
  kTensorSliceProtoExtent,
  kBundleHeaderProto,
  kBundleEntryProto,
  kSavedTensorSlices,
  kSavedTensorSliceMeta,
  kSavedSliceMeta,
  kSavedSlice,
  kCheckpointState,
  kOnnxModel,
  kOnnxGraph,
  kOnnxNode,
  kOnnxAttribute,
  kOnnxTensor,
  kOnnxEntry,
  kOnnxValueInfo,
  kOnnxType,
  kOnnxTensorType,
  kOnnxElementType,
  kOnnxShape,
  kOnnxDimension,
  kOnnxOpset,
  kOnnxFunction,
  kOnnxSparseTensor,
};
/// Which enumeration.
enum class Enum : uint8_t {
  kDataType,
  kFullTypeId,
  kSaverDefCheckpointFormatVersion,
  kTypeSpecProtoTypeSpecClass,
  kFunctionSpecJitCompile,
  kVariableSynchronization,
  kVariableAggregation,
};

struct Field {
  std::string_view name;
  uint32_t number = 0;
  Kind kind = Kind::kInt64;
  Label label = Label::kOne;
  uint8_t type = 0;  // of a kMessage: which Message; of a kEnum: which Enum

  constexpr Message message() const { return static_cast<Message>(type); }
  constexpr Enum values() const { return static_cast<Enum>(type); }
  constexpr bool repeated() const { return label >= Label::kMany; }
};

}  // namespace emplace::proto
