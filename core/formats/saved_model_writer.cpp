#include "core/formats/saved_model_writer.h"

#include <unistd.h>

#include <filesystem>

#include "core/base/cat.h"
#include "core/base/heap_limit.h"
#include "core/base/printable.h"
#include "core/base/text_file.h"
#include "core/formats/checkpoint/bundle_writer.h"
#include "core/formats/file_access.h"
#include "core/formats/node_message.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/saver_nodes.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using proto::Message;
using proto::number;
using proto::WireError;
using proto::WireWriter;

void write_tensors(WireWriter& writer, uint32_t field, const std::map<std::string, TensorInfo>& tensors) {
  for (const auto& [key, info] : tensors) {
    const size_t entry = writer.begin(field);
    writer.bytes(number(proto::kSignatureDefInputsEntryFields, "key"), key);
    const size_t value = writer.begin(number(proto::kSignatureDefInputsEntryFields, "value"));
    writer.bytes(number(proto::kTensorInfoFields, "name"), info.name);
    writer.varint(number(proto::kTensorInfoFields, "dtype"), static_cast<uint64_t>(info.dtype));
    write_shape_message(writer, number(proto::kTensorInfoFields, "tensor_shape"), info.shape);
    writer.end(value);
    writer.end(entry);
  }
}

void write_signature(WireWriter& writer, std::string_view key, const Signature& signature) {
  const size_t entry = writer.begin(number(proto::kMetaGraphDefFields, "signature_def"));
  writer.bytes(number(proto::kMetaGraphDefSignatureDefEntryFields, "key"), key);
  const size_t value = writer.begin(number(proto::kMetaGraphDefSignatureDefEntryFields, "value"));
  write_tensors(writer, number(proto::kSignatureDefFields, "inputs"), signature.inputs);
  write_tensors(writer, number(proto::kSignatureDefFields, "outputs"), signature.outputs);
  writer.bytes(number(proto::kSignatureDefFields, "method_name"), signature.method);
  for (const auto& [input, tensor] : signature.defaults) {
    const size_t one = writer.begin(number(proto::kSignatureDefFields, "defaults"));
    writer.bytes(number(proto::kSignatureDefDefaultsEntryFields, "key"), input);
    write_tensor_message(writer, number(proto::kSignatureDefDefaultsEntryFields, "value"), tensor);
    writer.end(one);
  }
  writer.end(value);
  writer.end(entry);
}

void write_asset(WireWriter& writer, const std::string& tensor, const std::string& file) {
  const size_t asset = writer.begin(number(proto::kMetaGraphDefFields, "asset_file_def"));
  const size_t info = writer.begin(number(proto::kAssetFileDefFields, "tensor_info"));
  writer.bytes(number(proto::kTensorInfoFields, "name"), tensor);
  writer.end(info);
  writer.bytes(number(proto::kAssetFileDefFields, "filename"), file);
  writer.end(asset);
}

constexpr uint32_t kCollection = number(proto::kMetaGraphDefFields, "collection_def");
constexpr uint32_t kMessages = number(proto::kCollectionDefFields, "bytes_list");
constexpr uint32_t kNodes = number(proto::kCollectionDefFields, "node_list");
static_assert(number(proto::kCollectionDefBytesListFields, "value") ==
              number(proto::kCollectionDefNodeListFields, "value"));

/// `kind`: kMessages or kNodes.
void write_collection(WireWriter& writer, std::string_view name, uint32_t kind,
                      const std::vector<std::string>& values) {
  const size_t entry = writer.begin(kCollection);
  writer.bytes(number(proto::kMetaGraphDefCollectionDefEntryFields, "key"), name);
  const size_t value = writer.begin(number(proto::kMetaGraphDefCollectionDefEntryFields, "value"));
  const size_t list = writer.begin(kind);
  for (const std::string& one : values) writer.bytes(number(proto::kCollectionDefBytesListFields, "value"), one);
  writer.end(list);
  writer.end(value);
  writer.end(entry);
}

Result<std::string> saved_model_message(const ModelToWrite& model) {
  using proto::kMetaGraphDefFields;
  ASSIGN_OR_RETURN(const GraphWithSaver graph, add_saver(model.graph, model.contents));
  std::string wire;
  WireWriter writer(wire);
  writer.varint(number(proto::kSavedModelFields, "saved_model_schema_version"), 1);
  const size_t meta_graph = writer.begin(number(proto::kSavedModelFields, "meta_graphs"));
  const size_t info = writer.begin(number(kMetaGraphDefFields, "meta_info_def"));
  writer.bytes(number(proto::kMetaGraphDefMetaInfoDefFields, "tags"), "serve");
  writer.end(info);
  writer.bytes(number(kMetaGraphDefFields, "graph_def"), graph.bytes);
  if (!graph.restore.empty()) write_saver(writer, number(kMetaGraphDefFields, "saver_def"), graph);
  if (!graph.trainable.empty()) write_collection(writer, "trainable_variables", kMessages, graph.trainable);
  if (!graph.variables.empty()) write_collection(writer, "variables", kMessages, graph.variables);
  for (const auto& [tensor, file] : model.assets) write_asset(writer, tensor, file);
  for (const AssetToWrite& asset : model.new_assets) write_asset(writer, asset.tensor, asset.file);
  for (const auto& [key, signature] : model.signatures) write_signature(writer, key, signature);
  // Not as a signature, which TensorFlow's loader of version 2 would call without the assets.
  if (!model.main_op.empty()) write_collection(writer, "saved_model_main_op", kNodes, {model.main_op});
  writer.end(meta_graph);
  std::string out;
  WireError error;
  proto::compact_wire(Message::kSavedModel, wire, out, error);
  if (error.failed()) return invalid_argument(error.message).blamed(Blame::kFile);
  if (out.size() > proto::kMostBytes)
    return resource_exhausted("a SavedModel's graph ends at 2 GiB; its constants would have to be variables")
        .blamed(Blame::kWrite);
  return out;
}

/// Those of the other model lie in its folder, and in no folder beside or above it.
Status write_assets(const std::string& folder, const ModelToWrite& model) {
  std::error_code error;
  if (!model.assets.empty() || !model.new_assets.empty()) fs::create_directory(folder + "/assets", error);
  for (const AssetToWrite& asset : model.new_assets)
    RETURN_IF_ERROR(write_text_file(cat(folder, "/assets/", asset.file), asset.content));
  const std::string assets = model.from + "/assets";
  for (const auto& [tensor, file] : model.assets) {
    const std::string from = cat(assets, "/", file);
    if (!lies_in_one_of(from, std::vector{assets}) || !fs::is_regular_file(from, error))
      return invalid_argument(cat("the asset '", file, "' is not a file in ", assets)).blamed(Blame::kFile);
    const fs::path to = fs::path(folder) / "assets" / file;
    fs::create_directories(to.parent_path(), error);
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
    if (error)
      return invalid_argument(cat("cannot write '", printable(to.string()), "': ", error.message()))
          .blamed(Blame::kWrite);
  }
  return ok_status();
}

Status write_into(const std::string& folder, const std::string& message, const ModelToWrite& model) {
  RETURN_IF_ERROR(write_text_file(folder + "/saved_model.pb", message));
  RETURN_IF_ERROR(write_assets(folder, model));
  if (model.contents.empty()) return ok_status();
  return write_bundle(folder + "/variables/variables", tensors_of(model.contents));
}

/// The new folder takes the old one's name, and only then is that gone.
std::error_code take_name(const std::string& made, const std::string& name, bool replace) {
  std::error_code error;
  const std::string old = cat(made, ".old");
  if (replace) fs::rename(name, old, error);
  if (error) return error;
  fs::rename(made, name, error);
  if (error && replace) fs::rename(old, name);
  std::error_code ignored;
  if (!error && replace) fs::remove_all(old, ignored);
  return error;
}

Status cannot_write(const std::string& folder, const std::error_code& error) {
  return invalid_argument(cat("cannot write '", printable(folder), "': ", error.message())).blamed(Blame::kWrite);
}

}  // namespace

Status write_saved_model(const std::string& folder, const ModelToWrite& model, bool replace) {
  std::string target = folder;
  while (target.size() > 1 && target.ends_with('/')) target.pop_back();
  ASSIGN_OR_RETURN(const std::string message, saved_model_message(model));
  const HeapLimit no_limit = HeapLimit::none();  // its exception would leave folders behind
  const std::string aside = cat(target, ".part", getpid());
  std::error_code error;
  fs::remove_all(aside, error);
  fs::create_directories(aside + (model.contents.empty() ? "" : "/variables"), error);
  if (error) return cannot_write(target, error);
  Status status = write_into(aside, message, model);
  if (status.ok()) {
    error = take_name(aside, target, replace && fs::exists(target, error));
    if (error) status = cannot_write(target, error);
  }
  if (!status.ok()) fs::remove_all(aside, error);
  return status;
}

}  // namespace emplace
