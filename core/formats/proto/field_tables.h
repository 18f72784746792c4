/// The tables behind fields.h, open to readers that want a field's number at compile time:
///   case number(kNodeDefFields, "op"):
///
/// Names and numbers are TensorFlow's; see fields.h and NOTICE.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/formats/proto/messages.h"

namespace emplace::proto {

consteval uint32_t number(std::span<const Field> fields, std::string_view name) {
  for (const Field& f : fields) {
    if (f.name == name) return f.number;
  }
  throw "no such field";
}

struct EnumValue {
  int64_t number;
  std::string_view name;
};

// clang-format off
using enum Kind;
using enum Label;

constexpr uint8_t of(Message message) { return static_cast<uint8_t>(message); }
constexpr uint8_t of(Enum values) { return static_cast<uint8_t>(values); }

inline constexpr Field kGraphDefFields[] = {
    {"node", 1, kMessage, kMany, of(Message::kNodeDef)},
    {"library", 2, kMessage, kOne, of(Message::kFunctionDefLibrary)},
    {"version", 3, kInt32, kOne},
    {"versions", 4, kMessage, kOne, of(Message::kVersionDef)},
    {"debug_info", 5, kMessage, kOne, of(Message::kGraphDebugInfo)},
};
inline constexpr Field kNodeDefFields[] = {
    {"name", 1, kString, kOne},
    {"op", 2, kString, kOne},
    {"input", 3, kString, kMany},
    {"device", 4, kString, kOne},
    {"attr", 5, kMessage, kMap, of(Message::kNodeDefAttrEntry)},
    {"experimental_debug_info", 6, kMessage, kOne, of(Message::kNodeDefExperimentalDebugInfo)},
    {"experimental_type", 7, kMessage, kOne, of(Message::kFullTypeDef)},
};
inline constexpr Field kNodeDefAttrEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kAttrValue)},
};
inline constexpr Field kAttrValueFields[] = {
    {"list", 1, kMessage, kOneof, of(Message::kAttrValueListValue)},
    {"s", 2, kBytes, kOneof},
    {"i", 3, kInt64, kOneof},
    {"f", 4, kFloat, kOneof},
    {"b", 5, kBool, kOneof},
    {"type", 6, kEnum, kOneof, of(Enum::kDataType)},
    {"shape", 7, kMessage, kOneof, of(Message::kTensorShapeProto)},
    {"tensor", 8, kMessage, kOneof, of(Message::kTensorProto)},
    {"placeholder", 9, kString, kOneof},
    {"func", 10, kMessage, kOneof, of(Message::kNameAttrList)},
};
inline constexpr Field kAttrValueListValueFields[] = {
    {"s", 2, kBytes, kMany},
    {"i", 3, kInt64, kPacked},
    {"f", 4, kFloat, kPacked},
    {"b", 5, kBool, kPacked},
    {"type", 6, kEnum, kPacked, of(Enum::kDataType)},
    {"shape", 7, kMessage, kMany, of(Message::kTensorShapeProto)},
    {"tensor", 8, kMessage, kMany, of(Message::kTensorProto)},
    {"func", 9, kMessage, kMany, of(Message::kNameAttrList)},
};
inline constexpr Field kTensorShapeProtoFields[] = {
    {"dim", 2, kMessage, kMany, of(Message::kTensorShapeProtoDim)},
    {"unknown_rank", 3, kBool, kOne},
};
inline constexpr Field kTensorShapeProtoDimFields[] = {
    {"size", 1, kInt64, kOne},
    {"name", 2, kString, kOne},
};
inline constexpr Field kTensorProtoFields[] = {
    {"dtype", 1, kEnum, kOne, of(Enum::kDataType)},
    {"tensor_shape", 2, kMessage, kOne, of(Message::kTensorShapeProto)},
    {"version_number", 3, kInt32, kOne},
    {"tensor_content", 4, kBytes, kOne},
    {"float_val", 5, kFloat, kPacked},
    {"double_val", 6, kDouble, kPacked},
    {"int_val", 7, kInt32, kPacked},
    {"string_val", 8, kBytes, kMany},
    {"scomplex_val", 9, kFloat, kPacked},
    {"int64_val", 10, kInt64, kPacked},
    {"bool_val", 11, kBool, kPacked},
    {"dcomplex_val", 12, kDouble, kPacked},
    {"half_val", 13, kInt32, kPacked},
    {"resource_handle_val", 14, kMessage, kMany, of(Message::kResourceHandleProto)},
    {"variant_val", 15, kMessage, kMany, of(Message::kVariantTensorDataProto)},
    {"uint32_val", 16, kUInt32, kPacked},
    {"uint64_val", 17, kUInt64, kPacked},
    {"float8_val", 18, kBytes, kOne},
};
inline constexpr Field kResourceHandleProtoFields[] = {
    {"device", 1, kString, kOne},
    {"container", 2, kString, kOne},
    {"name", 3, kString, kOne},
    {"hash_code", 4, kUInt64, kOne},
    {"maybe_type_name", 5, kString, kOne},
    {"dtypes_and_shapes", 6, kMessage, kMany, of(Message::kResourceHandleProtoDtypeAndShape)},
};
inline constexpr Field kResourceHandleProtoDtypeAndShapeFields[] = {
    {"dtype", 1, kEnum, kOne, of(Enum::kDataType)},
    {"shape", 2, kMessage, kOne, of(Message::kTensorShapeProto)},
};
inline constexpr Field kVariantTensorDataProtoFields[] = {
    {"type_name", 1, kString, kOne},
    {"metadata", 2, kBytes, kOne},
    {"tensors", 3, kMessage, kMany, of(Message::kTensorProto)},
};
inline constexpr Field kNameAttrListFields[] = {
    {"name", 1, kString, kOne},
    {"attr", 2, kMessage, kMap, of(Message::kNameAttrListAttrEntry)},
};
inline constexpr Field kNameAttrListAttrEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kAttrValue)},
};
inline constexpr Field kNodeDefExperimentalDebugInfoFields[] = {
    {"original_node_names", 1, kString, kMany},
    {"original_func_names", 2, kString, kMany},
};
inline constexpr Field kFullTypeDefFields[] = {
    {"type_id", 1, kEnum, kOne, of(Enum::kFullTypeId)},
    {"args", 2, kMessage, kMany, of(Message::kFullTypeDef)},
    {"s", 3, kString, kOneof},
    {"i", 4, kInt64, kOneof},
};
inline constexpr Field kFunctionDefLibraryFields[] = {
    {"function", 1, kMessage, kMany, of(Message::kFunctionDef)},
    {"gradient", 2, kMessage, kMany, of(Message::kGradientDef)},
    {"registered_gradients", 3, kMessage, kMany, of(Message::kRegisteredGradient)},
};
inline constexpr Field kFunctionDefFields[] = {
    {"signature", 1, kMessage, kOne, of(Message::kOpDef)},
    {"node_def", 3, kMessage, kMany, of(Message::kNodeDef)},
    {"ret", 4, kMessage, kMap, of(Message::kFunctionDefRetEntry)},
    {"attr", 5, kMessage, kMap, of(Message::kFunctionDefAttrEntry)},
    {"control_ret", 6, kMessage, kMap, of(Message::kFunctionDefControlRetEntry)},
    {"arg_attr", 7, kMessage, kMap, of(Message::kFunctionDefArgAttrEntry)},
    {"resource_arg_unique_id", 8, kMessage, kMap, of(Message::kFunctionDefResourceArgUniqueIdEntry)},
};
inline constexpr Field kOpDefFields[] = {
    {"name", 1, kString, kOne},
    {"input_arg", 2, kMessage, kMany, of(Message::kOpDefArgDef)},
    {"output_arg", 3, kMessage, kMany, of(Message::kOpDefArgDef)},
    {"attr", 4, kMessage, kMany, of(Message::kOpDefAttrDef)},
    {"summary", 5, kString, kOne},
    {"description", 6, kString, kOne},
    {"deprecation", 8, kMessage, kOne, of(Message::kOpDeprecation)},
    {"is_aggregate", 16, kBool, kOne},
    {"is_stateful", 17, kBool, kOne},
    {"is_commutative", 18, kBool, kOne},
    {"allows_uninitialized_input", 19, kBool, kOne},
    {"control_output", 20, kString, kMany},
    {"is_distributed_communication", 21, kBool, kOne},
};
inline constexpr Field kOpDefArgDefFields[] = {
    {"name", 1, kString, kOne},
    {"description", 2, kString, kOne},
    {"type", 3, kEnum, kOne, of(Enum::kDataType)},
    {"type_attr", 4, kString, kOne},
    {"number_attr", 5, kString, kOne},
    {"type_list_attr", 6, kString, kOne},
    {"handle_data", 7, kMessage, kMany, of(Message::kResourceHandleProtoDtypeAndShape)},
    {"is_ref", 16, kBool, kOne},
    {"experimental_full_type", 17, kMessage, kOne, of(Message::kFullTypeDef)},
};
inline constexpr Field kOpDefAttrDefFields[] = {
    {"name", 1, kString, kOne},
    {"type", 2, kString, kOne},
    {"default_value", 3, kMessage, kOne, of(Message::kAttrValue)},
    {"description", 4, kString, kOne},
    {"has_minimum", 5, kBool, kOne},
    {"minimum", 6, kInt64, kOne},
    {"allowed_values", 7, kMessage, kOne, of(Message::kAttrValue)},
};
inline constexpr Field kOpDeprecationFields[] = {
    {"version", 1, kInt32, kOne},
    {"explanation", 2, kString, kOne},
};
inline constexpr Field kFunctionDefRetEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kString, kOne},
};
inline constexpr Field kFunctionDefAttrEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kAttrValue)},
};
inline constexpr Field kFunctionDefControlRetEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kString, kOne},
};
inline constexpr Field kFunctionDefArgAttrEntryFields[] = {
    {"key", 1, kUInt32, kOne},
    {"value", 2, kMessage, kOne, of(Message::kFunctionDefArgAttrs)},
};
inline constexpr Field kFunctionDefArgAttrsFields[] = {
    {"attr", 1, kMessage, kMap, of(Message::kFunctionDefArgAttrsAttrEntry)},
};
inline constexpr Field kFunctionDefArgAttrsAttrEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kAttrValue)},
};
inline constexpr Field kFunctionDefResourceArgUniqueIdEntryFields[] = {
    {"key", 1, kUInt32, kOne},
    {"value", 2, kUInt32, kOne},
};
inline constexpr Field kGradientDefFields[] = {
    {"function_name", 1, kString, kOne},
    {"gradient_func", 2, kString, kOne},
};
inline constexpr Field kRegisteredGradientFields[] = {
    {"gradient_func", 1, kString, kOne},
    {"registered_op_type", 2, kString, kOne},
};
inline constexpr Field kVersionDefFields[] = {
    {"producer", 1, kInt32, kOne},
    {"min_consumer", 2, kInt32, kOne},
    {"bad_consumers", 3, kInt32, kPacked},
};
inline constexpr Field kGraphDebugInfoFields[] = {
    {"files", 1, kString, kMany},
    {"traces", 2, kMessage, kMap, of(Message::kGraphDebugInfoTracesEntry)},
    {"frames_by_id", 4, kMessage, kMap, of(Message::kGraphDebugInfoFramesByIdEntry)},
    {"name_to_trace_id", 5, kMessage, kMap, of(Message::kGraphDebugInfoNameToTraceIdEntry)},
    {"traces_by_id", 6, kMessage, kMap, of(Message::kGraphDebugInfoTracesByIdEntry)},
};
inline constexpr Field kGraphDebugInfoTracesEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kGraphDebugInfoStackTrace)},
};
inline constexpr Field kGraphDebugInfoStackTraceFields[] = {
    {"file_line_cols", 1, kMessage, kMany, of(Message::kGraphDebugInfoFileLineCol)},
    {"frame_id", 2, kFixed64, kPacked},
};
inline constexpr Field kGraphDebugInfoFileLineColFields[] = {
    {"file_index", 1, kInt32, kOne},
    {"line", 2, kInt32, kOne},
    {"col", 3, kInt32, kOne},
    {"func", 4, kString, kOne},
    {"code", 5, kString, kOne},
};
inline constexpr Field kGraphDebugInfoFramesByIdEntryFields[] = {
    {"key", 1, kFixed64, kOne},
    {"value", 2, kMessage, kOne, of(Message::kGraphDebugInfoFileLineCol)},
};
inline constexpr Field kGraphDebugInfoNameToTraceIdEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kFixed64, kOne},
};
inline constexpr Field kGraphDebugInfoTracesByIdEntryFields[] = {
    {"key", 1, kFixed64, kOne},
    {"value", 2, kMessage, kOne, of(Message::kGraphDebugInfoStackTrace)},
};
inline constexpr Field kMetaGraphDefFields[] = {
    {"meta_info_def", 1, kMessage, kOne, of(Message::kMetaGraphDefMetaInfoDef)},
    {"graph_def", 2, kMessage, kOne, of(Message::kGraphDef)},
    {"saver_def", 3, kMessage, kOne, of(Message::kSaverDef)},
    {"collection_def", 4, kMessage, kMap, of(Message::kMetaGraphDefCollectionDefEntry)},
    {"signature_def", 5, kMessage, kMap, of(Message::kMetaGraphDefSignatureDefEntry)},
    {"asset_file_def", 6, kMessage, kMany, of(Message::kAssetFileDef)},
    {"object_graph_def", 7, kMessage, kOne, of(Message::kSavedObjectGraph)},
};
inline constexpr Field kMetaGraphDefMetaInfoDefFields[] = {
    {"meta_graph_version", 1, kString, kOne},
    {"stripped_op_list", 2, kMessage, kOne, of(Message::kOpList)},
    {"any_info", 3, kMessage, kOne, of(Message::kAny)},
    {"tags", 4, kString, kMany},
    {"tensorflow_version", 5, kString, kOne},
    {"tensorflow_git_version", 6, kString, kOne},
    {"stripped_default_attrs", 7, kBool, kOne},
    {"function_aliases", 8, kMessage, kMap, of(Message::kMetaGraphDefMetaInfoDefFunctionAliasesEntry)},
};
inline constexpr Field kOpListFields[] = {
    {"op", 1, kMessage, kMany, of(Message::kOpDef)},
};
inline constexpr Field kAnyFields[] = {
    {"type_url", 1, kString, kOne},
    {"value", 2, kBytes, kOne},
};
inline constexpr Field kMetaGraphDefMetaInfoDefFunctionAliasesEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kString, kOne},
};
inline constexpr Field kSaverDefFields[] = {
    {"filename_tensor_name", 1, kString, kOne},
    {"save_tensor_name", 2, kString, kOne},
    {"restore_op_name", 3, kString, kOne},
    {"max_to_keep", 4, kInt32, kOne},
    {"sharded", 5, kBool, kOne},
    {"keep_checkpoint_every_n_hours", 6, kFloat, kOne},
    {"version", 7, kEnum, kOne, of(Enum::kSaverDefCheckpointFormatVersion)},
};
inline constexpr Field kMetaGraphDefCollectionDefEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kCollectionDef)},
};
inline constexpr Field kCollectionDefFields[] = {
    {"node_list", 1, kMessage, kOneof, of(Message::kCollectionDefNodeList)},
    {"bytes_list", 2, kMessage, kOneof, of(Message::kCollectionDefBytesList)},
    {"int64_list", 3, kMessage, kOneof, of(Message::kCollectionDefInt64List)},
    {"float_list", 4, kMessage, kOneof, of(Message::kCollectionDefFloatList)},
    {"any_list", 5, kMessage, kOneof, of(Message::kCollectionDefAnyList)},
};
inline constexpr Field kCollectionDefNodeListFields[] = {
    {"value", 1, kString, kMany},
};
inline constexpr Field kCollectionDefBytesListFields[] = {
    {"value", 1, kBytes, kMany},
};
inline constexpr Field kCollectionDefInt64ListFields[] = {
    {"value", 1, kInt64, kPacked},
};
inline constexpr Field kCollectionDefFloatListFields[] = {
    {"value", 1, kFloat, kPacked},
};
inline constexpr Field kCollectionDefAnyListFields[] = {
    {"value", 1, kMessage, kMany, of(Message::kAny)},
};
inline constexpr Field kMetaGraphDefSignatureDefEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kSignatureDef)},
};
inline constexpr Field kSignatureDefFields[] = {
    {"inputs", 1, kMessage, kMap, of(Message::kSignatureDefInputsEntry)},
    {"outputs", 2, kMessage, kMap, of(Message::kSignatureDefOutputsEntry)},
    {"method_name", 3, kString, kOne},
    {"defaults", 4, kMessage, kMap, of(Message::kSignatureDefDefaultsEntry)},
};
inline constexpr Field kSignatureDefInputsEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kTensorInfo)},
};
inline constexpr Field kTensorInfoFields[] = {
    {"name", 1, kString, kOneof},
    {"dtype", 2, kEnum, kOne, of(Enum::kDataType)},
    {"tensor_shape", 3, kMessage, kOne, of(Message::kTensorShapeProto)},
    {"coo_sparse", 4, kMessage, kOneof, of(Message::kTensorInfoCooSparse)},
    {"composite_tensor", 5, kMessage, kOneof, of(Message::kTensorInfoCompositeTensor)},
};
inline constexpr Field kTensorInfoCooSparseFields[] = {
    {"values_tensor_name", 1, kString, kOne},
    {"indices_tensor_name", 2, kString, kOne},
    {"dense_shape_tensor_name", 3, kString, kOne},
};
inline constexpr Field kTensorInfoCompositeTensorFields[] = {
    {"type_spec", 1, kMessage, kOne, of(Message::kTypeSpecProto)},
    {"components", 2, kMessage, kMany, of(Message::kTensorInfo)},
};
inline constexpr Field kTypeSpecProtoFields[] = {
    {"type_spec_class", 1, kEnum, kOne, of(Enum::kTypeSpecProtoTypeSpecClass)},
    {"type_state", 2, kMessage, kOne, of(Message::kStructuredValue)},
    {"type_spec_class_name", 3, kString, kOne},
    {"num_flat_components", 4, kInt32, kOne},
};
inline constexpr Field kStructuredValueFields[] = {
    {"none_value", 1, kMessage, kOneof, of(Message::kNoneValue)},
    {"float64_value", 11, kDouble, kOneof},
    {"int64_value", 12, kSInt64, kOneof},
    {"string_value", 13, kString, kOneof},
    {"bool_value", 14, kBool, kOneof},
    {"tensor_shape_value", 31, kMessage, kOneof, of(Message::kTensorShapeProto)},
    {"tensor_dtype_value", 32, kEnum, kOneof, of(Enum::kDataType)},
    {"tensor_spec_value", 33, kMessage, kOneof, of(Message::kTensorSpecProto)},
    {"type_spec_value", 34, kMessage, kOneof, of(Message::kTypeSpecProto)},
    {"bounded_tensor_spec_value", 35, kMessage, kOneof, of(Message::kBoundedTensorSpecProto)},
    {"list_value", 51, kMessage, kOneof, of(Message::kListValue)},
    {"tuple_value", 52, kMessage, kOneof, of(Message::kTupleValue)},
    {"dict_value", 53, kMessage, kOneof, of(Message::kDictValue)},
    {"named_tuple_value", 54, kMessage, kOneof, of(Message::kNamedTupleValue)},
    {"tensor_value", 55, kMessage, kOneof, of(Message::kTensorProto)},
    {"numpy_value", 56, kMessage, kOneof, of(Message::kTensorProto)},
};
inline constexpr Field kTensorSpecProtoFields[] = {
    {"name", 1, kString, kOne},
    {"shape", 2, kMessage, kOne, of(Message::kTensorShapeProto)},
    {"dtype", 3, kEnum, kOne, of(Enum::kDataType)},
};
inline constexpr Field kBoundedTensorSpecProtoFields[] = {
    {"name", 1, kString, kOne},
    {"shape", 2, kMessage, kOne, of(Message::kTensorShapeProto)},
    {"dtype", 3, kEnum, kOne, of(Enum::kDataType)},
    {"minimum", 4, kMessage, kOne, of(Message::kTensorProto)},
    {"maximum", 5, kMessage, kOne, of(Message::kTensorProto)},
};
inline constexpr Field kListValueFields[] = {
    {"values", 1, kMessage, kMany, of(Message::kStructuredValue)},
};
inline constexpr Field kTupleValueFields[] = {
    {"values", 1, kMessage, kMany, of(Message::kStructuredValue)},
};
inline constexpr Field kDictValueFields[] = {
    {"fields", 1, kMessage, kMap, of(Message::kDictValueFieldsEntry)},
};
inline constexpr Field kDictValueFieldsEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kStructuredValue)},
};
inline constexpr Field kNamedTupleValueFields[] = {
    {"name", 1, kString, kOne},
    {"values", 2, kMessage, kMany, of(Message::kPairValue)},
};
inline constexpr Field kPairValueFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kStructuredValue)},
};
inline constexpr Field kSignatureDefOutputsEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kTensorInfo)},
};
inline constexpr Field kSignatureDefDefaultsEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kTensorProto)},
};
inline constexpr Field kAssetFileDefFields[] = {
    {"tensor_info", 1, kMessage, kOne, of(Message::kTensorInfo)},
    {"filename", 2, kString, kOne},
};
inline constexpr Field kSavedObjectGraphFields[] = {
    {"nodes", 1, kMessage, kMany, of(Message::kSavedObject)},
    {"concrete_functions", 2, kMessage, kMap, of(Message::kSavedObjectGraphConcreteFunctionsEntry)},
};
inline constexpr Field kSavedObjectFields[] = {
    {"children", 1, kMessage, kMany, of(Message::kTrackableObjectGraphTrackableObjectObjectReference)},
    {"slot_variables", 3, kMessage, kMany, of(Message::kTrackableObjectGraphTrackableObjectSlotVariableReference)},
    {"user_object", 4, kMessage, kOneof, of(Message::kSavedUserObject)},
    {"asset", 5, kMessage, kOneof, of(Message::kSavedAsset)},
    {"function", 6, kMessage, kOneof, of(Message::kSavedFunction)},
    {"variable", 7, kMessage, kOneof, of(Message::kSavedVariable)},
    {"bare_concrete_function", 8, kMessage, kOneof, of(Message::kSavedBareConcreteFunction)},
    {"constant", 9, kMessage, kOneof, of(Message::kSavedConstant)},
    {"resource", 10, kMessage, kOneof, of(Message::kSavedResource)},
    {"saveable_objects", 11, kMessage, kMap, of(Message::kSavedObjectSaveableObjectsEntry)},
    {"captured_tensor", 12, kMessage, kOneof, of(Message::kCapturedTensor)},
    {"registered_name", 13, kString, kOne},
    {"serialized_user_proto", 14, kMessage, kOne, of(Message::kAny)},
    {"dependencies", 15, kMessage, kMany, of(Message::kTrackableObjectGraphTrackableObjectObjectReference)},
    {"registered_saver", 16, kString, kOne},
};
inline constexpr Field kTrackableObjectGraphTrackableObjectObjectReferenceFields[] = {
    {"node_id", 1, kInt32, kOne},
    {"local_name", 2, kString, kOne},
};
inline constexpr Field kTrackableObjectGraphTrackableObjectSlotVariableReferenceFields[] = {
    {"original_variable_node_id", 1, kInt32, kOne},
    {"slot_name", 2, kString, kOne},
    {"slot_variable_node_id", 3, kInt32, kOne},
};
inline constexpr Field kSavedUserObjectFields[] = {
    {"identifier", 1, kString, kOne},
    {"version", 2, kMessage, kOne, of(Message::kVersionDef)},
    {"metadata", 3, kString, kOne},
};
inline constexpr Field kSavedAssetFields[] = {
    {"asset_file_def_index", 1, kInt32, kOne},
};
inline constexpr Field kSavedFunctionFields[] = {
    {"concrete_functions", 1, kString, kMany},
    {"function_spec", 2, kMessage, kOne, of(Message::kFunctionSpec)},
};
inline constexpr Field kFunctionSpecFields[] = {
    {"fullargspec", 1, kMessage, kOne, of(Message::kStructuredValue)},
    {"is_method", 2, kBool, kOne},
    {"input_signature", 5, kMessage, kOne, of(Message::kStructuredValue)},
    {"jit_compile", 6, kEnum, kOne, of(Enum::kFunctionSpecJitCompile)},
};
inline constexpr Field kSavedVariableFields[] = {
    {"dtype", 1, kEnum, kOne, of(Enum::kDataType)},
    {"shape", 2, kMessage, kOne, of(Message::kTensorShapeProto)},
    {"trainable", 3, kBool, kOne},
    {"synchronization", 4, kEnum, kOne, of(Enum::kVariableSynchronization)},
    {"aggregation", 5, kEnum, kOne, of(Enum::kVariableAggregation)},
    {"name", 6, kString, kOne},
    {"device", 7, kString, kOne},
    {"experimental_distributed_variable_components", 8, kMessage, kMany, of(Message::kSavedVariable)},
};
inline constexpr Field kSavedBareConcreteFunctionFields[] = {
    {"concrete_function_name", 1, kString, kOne},
    {"argument_keywords", 2, kString, kMany},
    {"allowed_positional_arguments", 3, kInt64, kOne},
    {"function_spec", 4, kMessage, kOne, of(Message::kFunctionSpec)},
};
inline constexpr Field kSavedConstantFields[] = {
    {"operation", 1, kString, kOne},
};
inline constexpr Field kSavedResourceFields[] = {
    {"device", 1, kString, kOne},
};
inline constexpr Field kSavedObjectSaveableObjectsEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kSaveableObject)},
};
inline constexpr Field kSaveableObjectFields[] = {
    {"save_function", 2, kInt32, kOne},
    {"restore_function", 3, kInt32, kOne},
};
inline constexpr Field kCapturedTensorFields[] = {
    {"name", 1, kString, kOne},
    {"concrete_function", 2, kString, kOne},
};
inline constexpr Field kSavedObjectGraphConcreteFunctionsEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kMessage, kOne, of(Message::kSavedConcreteFunction)},
};
inline constexpr Field kSavedConcreteFunctionFields[] = {
    {"bound_inputs", 2, kInt32, kPacked},
    {"canonicalized_input_signature", 3, kMessage, kOne, of(Message::kStructuredValue)},
    {"output_signature", 4, kMessage, kOne, of(Message::kStructuredValue)},
};
inline constexpr Field kVariableDefFields[] = {
    {"variable_name", 1, kString, kOne},
    {"initializer_name", 2, kString, kOne},
    {"snapshot_name", 3, kString, kOne},
    {"save_slice_info_def", 4, kMessage, kOne, of(Message::kSaveSliceInfoDef)},
    {"is_resource", 5, kBool, kOne},
    {"initial_value_name", 6, kString, kOne},
    {"trainable", 7, kBool, kOne},
    {"synchronization", 8, kEnum, kOne, of(Enum::kVariableSynchronization)},
    {"aggregation", 9, kEnum, kOne, of(Enum::kVariableAggregation)},
};
inline constexpr Field kSaveSliceInfoDefFields[] = {
    {"full_name", 1, kString, kOne},
    {"full_shape", 2, kInt64, kPacked},
    {"var_offset", 3, kInt64, kPacked},
    {"var_shape", 4, kInt64, kPacked},
};
inline constexpr Field kSavedModelFields[] = {
    {"saved_model_schema_version", 1, kInt64, kOne},
    {"meta_graphs", 2, kMessage, kMany, of(Message::kMetaGraphDef)},
};
inline constexpr Field kTensorSliceProtoFields[] = {
    {"extent", 1, kMessage, kMany, of(Message::kTensorSliceProtoExtent)},
};
inline constexpr Field kTensorSliceProtoExtentFields[] = {
    {"start", 1, kInt64, kOne},
    {"length", 2, kInt64, kOneof},
};
inline constexpr Field kBundleHeaderProtoFields[] = {
    {"num_shards", 1, kInt32, kOne},
    {"endianness", 2, kInt32, kOne},
    {"version", 3, kMessage, kOne, of(Message::kVersionDef)},
};
inline constexpr Field kBundleEntryProtoFields[] = {
    {"dtype", 1, kEnum, kOne, of(Enum::kDataType)},
    {"shape", 2, kMessage, kOne, of(Message::kTensorShapeProto)},
    {"shard_id", 3, kInt32, kOne},
    {"offset", 4, kInt64, kOne},
    {"size", 5, kInt64, kOne},
    {"crc32c", 6, kFixed32, kOne},
    {"slices", 7, kMessage, kMany, of(Message::kTensorSliceProto)},
};
inline constexpr Field kSavedTensorSlicesFields[] = {
    {"meta", 1, kMessage, kOne, of(Message::kSavedTensorSliceMeta)},
    {"data", 2, kMessage, kOne, of(Message::kSavedSlice)},
};
inline constexpr Field kSavedTensorSliceMetaFields[] = {
    {"tensor", 1, kMessage, kMany, of(Message::kSavedSliceMeta)},
    {"versions", 2, kMessage, kOne, of(Message::kVersionDef)},
};
inline constexpr Field kSavedSliceMetaFields[] = {
    {"name", 1, kString, kOne},
    {"shape", 2, kMessage, kOne, of(Message::kTensorShapeProto)},
    {"type", 3, kEnum, kOne, of(Enum::kDataType)},
    {"slice", 4, kMessage, kMany, of(Message::kTensorSliceProto)},
};
inline constexpr Field kSavedSliceFields[] = {
    {"name", 1, kString, kOne},
    {"slice", 2, kMessage, kOne, of(Message::kTensorSliceProto)},
    {"data", 3, kMessage, kOne, of(Message::kTensorProto)},
};
inline constexpr Field kCheckpointStateFields[] = {
    {"model_checkpoint_path", 1, kString, kOne},
    {"all_model_checkpoint_paths", 2, kString, kMany},
    {"all_model_checkpoint_timestamps", 3, kDouble, kPacked},
    {"last_preserved_timestamp", 4, kDouble, kOne},
};
inline constexpr Field kOnnxModelFields[] = {
    {"ir_version", 1, kInt64, kOne},
    {"producer_name", 2, kString, kOne},
    {"producer_version", 3, kString, kOne},
    {"domain", 4, kString, kOne},
    {"model_version", 5, kInt64, kOne},
    {"doc_string", 6, kString, kOne},
    {"graph", 7, kMessage, kOne, of(Message::kOnnxGraph)},
    {"opset_import", 8, kMessage, kMany, of(Message::kOnnxOpset)},
    {"metadata_props", 14, kMessage, kMany, of(Message::kOnnxEntry)},
    {"functions", 25, kMessage, kMany, of(Message::kOnnxFunction)},
};
inline constexpr Field kOnnxGraphFields[] = {
    {"node", 1, kMessage, kMany, of(Message::kOnnxNode)},
    {"name", 2, kString, kOne},
    {"initializer", 5, kMessage, kMany, of(Message::kOnnxTensor)},
    {"doc_string", 10, kString, kOne},
    {"input", 11, kMessage, kMany, of(Message::kOnnxValueInfo)},
    {"output", 12, kMessage, kMany, of(Message::kOnnxValueInfo)},
    {"value_info", 13, kMessage, kMany, of(Message::kOnnxValueInfo)},
    {"sparse_initializer", 15, kMessage, kMany, of(Message::kOnnxSparseTensor)},
    {"metadata_props", 16, kMessage, kMany, of(Message::kOnnxEntry)},
};
inline constexpr Field kOnnxNodeFields[] = {
    {"input", 1, kString, kMany},
    {"output", 2, kString, kMany},
    {"name", 3, kString, kOne},
    {"op_type", 4, kString, kOne},
    {"attribute", 5, kMessage, kMany, of(Message::kOnnxAttribute)},
    {"doc_string", 6, kString, kOne},
    {"domain", 7, kString, kOne},
    {"overload", 8, kString, kOne},
    {"metadata_props", 9, kMessage, kMany, of(Message::kOnnxEntry)},
};
inline constexpr Field kOnnxAttributeFields[] = {
    {"name", 1, kString, kOne},
    {"f", 2, kFloat, kOne},
    {"i", 3, kInt64, kOne},
    {"s", 4, kBytes, kOne},
    {"t", 5, kMessage, kOne, of(Message::kOnnxTensor)},
    {"g", 6, kMessage, kOne, of(Message::kOnnxGraph)},
    {"floats", 7, kFloat, kPacked},
    {"ints", 8, kInt64, kPacked},
    {"strings", 9, kBytes, kMany},
    {"tensors", 10, kMessage, kMany, of(Message::kOnnxTensor)},
    {"graphs", 11, kMessage, kMany, of(Message::kOnnxGraph)},
    {"doc_string", 13, kString, kOne},
    {"tp", 14, kMessage, kOne, of(Message::kOnnxType)},
    {"type_protos", 15, kMessage, kMany, of(Message::kOnnxType)},
    {"type", 20, kInt32, kOne},
    {"ref_attr_name", 21, kString, kOne},
    {"sparse_tensor", 22, kMessage, kOne, of(Message::kOnnxSparseTensor)},
    {"sparse_tensors", 23, kMessage, kMany, of(Message::kOnnxSparseTensor)},
};
inline constexpr Field kOnnxTensorFields[] = {
    {"dims", 1, kInt64, kPacked},
    {"data_type", 2, kInt32, kOne},
    {"float_data", 4, kFloat, kPacked},
    {"int32_data", 5, kInt32, kPacked},
    {"string_data", 6, kBytes, kMany},
    {"int64_data", 7, kInt64, kPacked},
    {"name", 8, kString, kOne},
    {"raw_data", 9, kBytes, kOne},
    {"double_data", 10, kDouble, kPacked},
    {"uint64_data", 11, kUInt64, kPacked},
    {"doc_string", 12, kString, kOne},
    {"external_data", 13, kMessage, kMany, of(Message::kOnnxEntry)},
    {"data_location", 14, kInt32, kOne},
    {"metadata_props", 16, kMessage, kMany, of(Message::kOnnxEntry)},
};
inline constexpr Field kOnnxEntryFields[] = {
    {"key", 1, kString, kOne},
    {"value", 2, kString, kOne},
};
inline constexpr Field kOnnxValueInfoFields[] = {
    {"name", 1, kString, kOne},
    {"type", 2, kMessage, kOne, of(Message::kOnnxType)},
    {"doc_string", 3, kString, kOne},
};
inline constexpr Field kOnnxTypeFields[] = {
    {"tensor_type", 1, kMessage, kOneof, of(Message::kOnnxTensorType)},
    {"sequence_type", 4, kMessage, kOneof, of(Message::kOnnxElementType)},
    {"denotation", 6, kString, kOne},
    {"optional_type", 9, kMessage, kOneof, of(Message::kOnnxElementType)},
};
inline constexpr Field kOnnxTensorTypeFields[] = {
    {"elem_type", 1, kInt32, kOne},
    {"shape", 2, kMessage, kOne, of(Message::kOnnxShape)},
};
inline constexpr Field kOnnxElementTypeFields[] = {
    {"elem_type", 1, kMessage, kOne, of(Message::kOnnxType)},
};
inline constexpr Field kOnnxShapeFields[] = {
    {"dim", 1, kMessage, kMany, of(Message::kOnnxDimension)},
};
inline constexpr Field kOnnxDimensionFields[] = {
    {"dim_value", 1, kInt64, kOneof},
    {"dim_param", 2, kString, kOneof},
    {"denotation", 3, kString, kOne},
};
inline constexpr Field kOnnxOpsetFields[] = {
    {"domain", 1, kString, kOne},
    {"version", 2, kInt64, kOne},
};
inline constexpr Field kOnnxFunctionFields[] = {
    {"name", 1, kString, kOne},
    {"input", 4, kString, kMany},
    {"output", 5, kString, kMany},
    {"attribute", 6, kString, kMany},
    {"node", 7, kMessage, kMany, of(Message::kOnnxNode)},
    {"doc_string", 8, kString, kOne},
    {"opset_import", 9, kMessage, kMany, of(Message::kOnnxOpset)},
    {"domain", 10, kString, kOne},
    {"attribute_proto", 11, kMessage, kMany, of(Message::kOnnxAttribute)},
    {"value_info", 12, kMessage, kMany, of(Message::kOnnxValueInfo)},
    {"overload", 13, kString, kOne},
};
inline constexpr Field kOnnxSparseTensorFields[] = {
    {"values", 1, kMessage, kOne, of(Message::kOnnxTensor)},
    {"indices", 2, kMessage, kOne, of(Message::kOnnxTensor)},
    {"dims", 3, kInt64, kPacked},
};
inline constexpr EnumValue kDataTypeValues[] = {
    {0, "DT_INVALID"},
    {1, "DT_FLOAT"},
    {2, "DT_DOUBLE"},
    {3, "DT_INT32"},
    {4, "DT_UINT8"},
    {5, "DT_INT16"},
    {6, "DT_INT8"},
    {7, "DT_STRING"},
    {8, "DT_COMPLEX64"},
    {9, "DT_INT64"},
    {10, "DT_BOOL"},
    {11, "DT_QINT8"},
    {12, "DT_QUINT8"},
    {13, "DT_QINT32"},
    {14, "DT_BFLOAT16"},
    {15, "DT_QINT16"},
    {16, "DT_QUINT16"},
    {17, "DT_UINT16"},
    {18, "DT_COMPLEX128"},
    {19, "DT_HALF"},
    {20, "DT_RESOURCE"},
    {21, "DT_VARIANT"},
    {22, "DT_UINT32"},
    {23, "DT_UINT64"},
    {24, "DT_FLOAT8_E5M2"},
    {25, "DT_FLOAT8_E4M3FN"},
    {26, "DT_FLOAT8_E4M3FNUZ"},
    {27, "DT_FLOAT8_E4M3B11FNUZ"},
    {28, "DT_FLOAT8_E5M2FNUZ"},
    {29, "DT_INT4"},
    {30, "DT_UINT4"},
    {31, "DT_INT2"},
    {32, "DT_UINT2"},
    {33, "DT_FLOAT4_E2M1FN"},
    {101, "DT_FLOAT_REF"},
    {102, "DT_DOUBLE_REF"},
    {103, "DT_INT32_REF"},
    {104, "DT_UINT8_REF"},
    {105, "DT_INT16_REF"},
    {106, "DT_INT8_REF"},
    {107, "DT_STRING_REF"},
    {108, "DT_COMPLEX64_REF"},
    {109, "DT_INT64_REF"},
    {110, "DT_BOOL_REF"},
    {111, "DT_QINT8_REF"},
    {112, "DT_QUINT8_REF"},
    {113, "DT_QINT32_REF"},
    {114, "DT_BFLOAT16_REF"},
    {115, "DT_QINT16_REF"},
    {116, "DT_QUINT16_REF"},
    {117, "DT_UINT16_REF"},
    {118, "DT_COMPLEX128_REF"},
    {119, "DT_HALF_REF"},
    {120, "DT_RESOURCE_REF"},
    {121, "DT_VARIANT_REF"},
    {122, "DT_UINT32_REF"},
    {123, "DT_UINT64_REF"},
    {124, "DT_FLOAT8_E5M2_REF"},
    {125, "DT_FLOAT8_E4M3FN_REF"},
    {126, "DT_FLOAT8_E4M3FNUZ_REF"},
    {127, "DT_FLOAT8_E4M3B11FNUZ_REF"},
    {128, "DT_FLOAT8_E5M2FNUZ_REF"},
    {129, "DT_INT4_REF"},
    {130, "DT_UINT4_REF"},
    {131, "DT_INT2_REF"},
    {132, "DT_UINT2_REF"},
    {133, "DT_FLOAT4_E2M1FN_REF"},
};
inline constexpr EnumValue kFullTypeIdValues[] = {
    {0, "TFT_UNSET"},
    {1, "TFT_VAR"},
    {2, "TFT_ANY"},
    {3, "TFT_PRODUCT"},
    {4, "TFT_NAMED"},
    {20, "TFT_FOR_EACH"},
    {100, "TFT_CALLABLE"},
    {1000, "TFT_TENSOR"},
    {1001, "TFT_ARRAY"},
    {1002, "TFT_OPTIONAL"},
    {1003, "TFT_LITERAL"},
    {1004, "TFT_ENCODED"},
    {1005, "TFT_SHAPE_TENSOR"},
    {200, "TFT_BOOL"},
    {201, "TFT_UINT8"},
    {202, "TFT_UINT16"},
    {203, "TFT_UINT32"},
    {204, "TFT_UINT64"},
    {205, "TFT_INT8"},
    {206, "TFT_INT16"},
    {207, "TFT_INT32"},
    {208, "TFT_INT64"},
    {209, "TFT_HALF"},
    {210, "TFT_FLOAT"},
    {211, "TFT_DOUBLE"},
    {215, "TFT_BFLOAT16"},
    {212, "TFT_COMPLEX64"},
    {213, "TFT_COMPLEX128"},
    {214, "TFT_STRING"},
    {10102, "TFT_DATASET"},
    {10103, "TFT_RAGGED"},
    {10104, "TFT_ITERATOR"},
    {10202, "TFT_MUTEX_LOCK"},
    {10203, "TFT_LEGACY_VARIANT"},
};
inline constexpr EnumValue kSaverDefCheckpointFormatVersionValues[] = {
    {0, "LEGACY"},
    {1, "V1"},
    {2, "V2"},
};
inline constexpr EnumValue kTypeSpecProtoTypeSpecClassValues[] = {
    {0, "UNKNOWN"},
    {1, "SPARSE_TENSOR_SPEC"},
    {2, "INDEXED_SLICES_SPEC"},
    {3, "RAGGED_TENSOR_SPEC"},
    {4, "TENSOR_ARRAY_SPEC"},
    {5, "DATA_DATASET_SPEC"},
    {6, "DATA_ITERATOR_SPEC"},
    {7, "OPTIONAL_SPEC"},
    {8, "PER_REPLICA_SPEC"},
    {9, "VARIABLE_SPEC"},
    {10, "ROW_PARTITION_SPEC"},
    {12, "REGISTERED_TYPE_SPEC"},
    {13, "EXTENSION_TYPE_SPEC"},
};
inline constexpr EnumValue kFunctionSpecJitCompileValues[] = {
    {0, "DEFAULT"},
    {1, "ON"},
    {2, "OFF"},
};
inline constexpr EnumValue kVariableSynchronizationValues[] = {
    {0, "VARIABLE_SYNCHRONIZATION_AUTO"},
    {1, "VARIABLE_SYNCHRONIZATION_NONE"},
    {2, "VARIABLE_SYNCHRONIZATION_ON_WRITE"},
    {3, "VARIABLE_SYNCHRONIZATION_ON_READ"},
};
inline constexpr EnumValue kVariableAggregationValues[] = {
    {0, "VARIABLE_AGGREGATION_NONE"},
    {1, "VARIABLE_AGGREGATION_SUM"},
    {2, "VARIABLE_AGGREGATION_MEAN"},
    {3, "VARIABLE_AGGREGATION_ONLY_FIRST_REPLICA"},
};
// clang-format on

}  // namespace emplace::proto
