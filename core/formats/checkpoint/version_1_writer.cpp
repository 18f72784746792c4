#include "core/formats/checkpoint/version_1_writer.h"

#include <cstring>
#include <map>

#include "core/base/cat.h"
#include "core/base/output_file.h"
#include "core/formats/checkpoint/checkpoint_messages.h"
#include "core/formats/checkpoint/sstable_writer.h"
#include "core/formats/proto/field_tables.h"
#include "core/tensor/tensor_proto_fields.h"

namespace emplace {
namespace {

using proto::kSavedSliceFields;
using proto::kSavedSliceMetaFields;
using proto::number;
using proto::WireWriter;

/// The list of a TensorProto that has the values of a type, and what one of them is: complex numbers are two.
struct ValueList {
  uint32_t field;
  enum { kBits, kSigned, kUnsigned, kText } kind;
  size_t bytes;
};

std::optional<ValueList> list_of_version_1(DType dtype) {
  const uint32_t field = tensor_proto::values_of(dtype);
  switch (dtype) {
    case DType::kFloat:
    case DType::kComplex64:
      return ValueList{field, ValueList::kBits, 4};
    case DType::kDouble:
    case DType::kComplex128:
      return ValueList{field, ValueList::kBits, 8};
    case DType::kInt64:
      return ValueList{field, ValueList::kSigned, 8};
    case DType::kInt32:
    case DType::kQInt32:
      return ValueList{field, ValueList::kSigned, 4};
    case DType::kInt16:
      return ValueList{field, ValueList::kSigned, 2};
    case DType::kInt8:
    case DType::kQInt8:
      return ValueList{field, ValueList::kSigned, 1};
    case DType::kUInt16:
    case DType::kHalf:
      return ValueList{field, ValueList::kUnsigned, 2};
    case DType::kUInt8:
    case DType::kQUInt8:
    case DType::kBool:
      return ValueList{field, ValueList::kUnsigned, 1};
    case DType::kString:
      return ValueList{field, ValueList::kText, 0};
    default:
      return std::nullopt;
  }
}

uint64_t number_at(const char* at, const ValueList& list) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, list.bytes);
  if (list.kind != ValueList::kSigned) return bits;
  const auto unused = static_cast<int>(64 - 8 * list.bytes);
  return static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
}

void put_values(WireWriter& writer, const Tensor& value, const ValueList& list) {
  if (list.kind == ValueList::kText) {
    for (const std::string& text : value.flat<std::string>()) writer.bytes(list.field, text);
    return;
  }
  const auto* bytes = static_cast<const char*>(value.raw());
  if (list.kind == ValueList::kBits) return writer.bytes(list.field, {bytes, value.size_bytes()});
  for (size_t at = 0; at < value.size_bytes(); at += list.bytes) writer.varint(list.field, number_at(bytes + at, list));
}

/// The part as such a file has it: the whole is a part that has all of every dimension.
TensorSlice stored_slice(const TensorToSave& t) {
  if (!t.slice.start.empty()) return t.slice;
  const auto rank = static_cast<size_t>(t.whole.rank());
  return {std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, -1)};
}

std::string data_message(const TensorToSave& t, const ValueList& list) {
  std::string wire;
  WireWriter writer(wire);
  const size_t data = writer.begin(number(proto::kSavedTensorSlicesFields, "data"));
  writer.bytes(number(kSavedSliceFields, "name"), t.key);
  put_slice(writer, number(kSavedSliceFields, "slice"), stored_slice(t), t.whole);
  const size_t tensor = writer.begin(number(kSavedSliceFields, "data"));
  put_values(writer, t.value, list);
  writer.end(tensor);
  writer.end(data);
  return short_form(proto::Message::kSavedTensorSlices, wire);
}

/// What the table of contents says of a tensor.
struct Content {
  DType dtype = DType::kInvalid;
  Shape whole;
  std::vector<TensorSlice> slices;
};

std::string contents_message(const std::map<std::string, Content>& contents) {
  std::string wire;
  WireWriter writer(wire);
  const size_t meta = writer.begin(number(proto::kSavedTensorSlicesFields, "meta"));
  for (const auto& [key, content] : contents) {
    const size_t tensor = writer.begin(number(proto::kSavedTensorSliceMetaFields, "tensor"));
    writer.bytes(number(kSavedSliceMetaFields, "name"), key);
    put_shape(writer, number(kSavedSliceMetaFields, "shape"), content.whole);
    writer.varint(number(kSavedSliceMetaFields, "type"), static_cast<uint64_t>(content.dtype));
    for (const TensorSlice& slice : content.slices)
      put_slice(writer, number(kSavedSliceMetaFields, "slice"), slice, content.whole);
    writer.end(tensor);
  }
  const size_t versions = writer.begin(number(proto::kSavedTensorSliceMetaFields, "versions"));
  writer.varint(number(proto::kVersionDefFields, "producer"), 1);
  writer.end(versions);
  writer.end(meta);
  return short_form(proto::Message::kSavedTensorSlices, wire);
}

}  // namespace

Status write_version_1(const std::string& file, std::span<const TensorToSave> tensors) {
  std::map<std::string, Content> contents;
  std::map<std::string, std::string> messages;
  for (const TensorToSave& t : tensors) {
    RETURN_IF_ERROR(check_part(t));
    const std::optional<ValueList> list = list_of_version_1(t.value.dtype());
    if (!list) return unimplemented(cat("Saving data type ", dtype_enum_name(t.value.dtype()), " not yet supported"));
    const auto [at, is_new] = contents.try_emplace(t.key, Content{t.value.dtype(), t.whole, {}});
    Content& content = at->second;
    if (content.dtype != t.value.dtype() || content.whole != t.whole)
      return invalid_argument(cat("parts of tensor '", t.key, "' have different types or whole shapes"));
    const TensorSlice slice = stored_slice(t);
    content.slices.push_back(slice);
    if (!messages.emplace(slice_key(t.key, slice, t.whole), data_message(t, *list)).second)
      return invalid_argument(cat(file, ": tensor '", t.key, "' stands twice"));
  }
  SsTableWriter table;
  table.add("", contents_message(contents));
  for (const auto& [key, message] : messages) table.add(key, message);
  ASSIGN_OR_RETURN(OutputFile out, OutputFile::open(file));
  RETURN_IF_ERROR(out.write(table.finish()));
  return out.commit();
}

}  // namespace emplace
