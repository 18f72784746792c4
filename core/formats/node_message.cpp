#include "core/formats/node_message.h"

#include "core/formats/proto/field_tables.h"

namespace emplace {

using proto::kAttrValueFields;
using proto::kTensorProtoFields;
using proto::number;
using proto::WireWriter;

NodeMessage::NodeMessage(std::string_view name, std::string_view op, std::string_view device) {
  writer_.bytes(number(proto::kNodeDefFields, "name"), name);
  writer_.bytes(number(proto::kNodeDefFields, "op"), op);
  if (!device.empty()) writer_.bytes(number(proto::kNodeDefFields, "device"), device);
}

NodeMessage& NodeMessage::input(std::string_view name) {
  writer_.bytes(number(proto::kNodeDefFields, "input"), name);
  return *this;
}

template <class F>
NodeMessage& NodeMessage::attr(std::string_view name, const F& write) {
  const size_t entry = writer_.begin(number(proto::kNodeDefFields, "attr"));
  writer_.bytes(number(proto::kNodeDefAttrEntryFields, "key"), name);
  const size_t value = writer_.begin(number(proto::kNodeDefAttrEntryFields, "value"));
  write();
  writer_.end(value);
  writer_.end(entry);
  return *this;
}

NodeMessage& NodeMessage::type(std::string_view name, DType value) {
  return attr(name, [&] { writer_.varint(number(kAttrValueFields, "type"), static_cast<uint64_t>(value)); });
}

NodeMessage& NodeMessage::types(std::string_view name, const std::vector<DType>& values) {
  return attr(name, [&] {
    const size_t list = writer_.begin(number(kAttrValueFields, "list"));
    for (DType value : values)
      writer_.varint(number(proto::kAttrValueListValueFields, "type"), static_cast<uint64_t>(value));
    writer_.end(list);
  });
}

NodeMessage& NodeMessage::integer(std::string_view name, int64_t value) {
  return attr(name, [&] { writer_.varint(number(kAttrValueFields, "i"), static_cast<uint64_t>(value)); });
}

NodeMessage& NodeMessage::text(std::string_view name, std::string_view value) {
  return attr(name, [&] { writer_.bytes(number(kAttrValueFields, "s"), value); });
}

NodeMessage& NodeMessage::shape(std::string_view name, const Shape& value) {
  return attr(name, [&] { write_shape_message(writer_, number(kAttrValueFields, "shape"), value); });
}

NodeMessage& NodeMessage::tensor(std::string_view name, const Tensor& value) {
  return attr(name, [&] { write_tensor_message(writer_, number(kAttrValueFields, "tensor"), value); });
}

NodeMessage& NodeMessage::entry(std::string_view bytes) {
  writer_.bytes(number(proto::kNodeDefFields, "attr"), bytes);
  return *this;
}

std::string const_message(std::string_view name, const Tensor& value, std::string_view device) {
  return NodeMessage(name, "Const", device).type("dtype", value.dtype()).tensor("value", value).take();
}

void write_shape_message(WireWriter& writer, uint32_t field, const Shape& shape) {
  const size_t begin = writer.begin(field);
  if (!shape.rank_known()) writer.varint(number(proto::kTensorShapeProtoFields, "unknown_rank"), 1);
  for (int d = 0; shape.rank_known() && d < shape.rank(); ++d) {
    const size_t dim = writer.begin(number(proto::kTensorShapeProtoFields, "dim"));
    writer.varint(number(proto::kTensorShapeProtoDimFields, "size"), static_cast<uint64_t>(shape.dim(d)));
    writer.end(dim);
  }
  writer.end(begin);
}

void write_tensor_message(WireWriter& writer, uint32_t field, const Tensor& value) {
  const size_t begin = writer.begin(field);
  writer.varint(number(kTensorProtoFields, "dtype"), static_cast<uint64_t>(value.dtype()));
  write_shape_message(writer, number(kTensorProtoFields, "tensor_shape"), value.shape());
  if (value.dtype() == DType::kString) {
    for (const std::string& text : value.flat<std::string>())
      writer.bytes(number(kTensorProtoFields, "string_val"), text);
  } else {
    writer.bytes(number(kTensorProtoFields, "tensor_content"),
                 {static_cast<const char*>(value.raw()), value.size_bytes()});
  }
  writer.end(begin);
}

}  // namespace emplace
