#include "core/formats/checkpoint/checkpoint_messages.h"

#include "core/base/cat.h"
#include "core/formats/proto/field_tables.h"

namespace emplace {

using proto::number;
using proto::WireError;
using proto::WireWriter;

void put_shape(WireWriter& writer, uint32_t field, const Shape& shape) {
  const size_t begin = writer.begin(field);
  for (int64_t size : shape.dims()) {
    const size_t dim = writer.begin(number(proto::kTensorShapeProtoFields, "dim"));
    if (size != 0) writer.varint(number(proto::kTensorShapeProtoDimFields, "size"), static_cast<uint64_t>(size));
    writer.end(dim);
  }
  writer.end(begin);
}

void put_slice(WireWriter& writer, uint32_t field, const TensorSlice& slice, const Shape& whole) {
  const size_t begin = writer.begin(field);
  for (size_t d = 0; d < slice.start.size(); ++d) {
    const size_t extent = writer.begin(number(proto::kTensorSliceProtoFields, "extent"));
    if (!is_all_of(slice, whole, d)) {
      if (slice.start[d] != 0)
        writer.varint(number(proto::kTensorSliceProtoExtentFields, "start"), static_cast<uint64_t>(slice.start[d]));
      writer.varint(number(proto::kTensorSliceProtoExtentFields, "length"), static_cast<uint64_t>(slice.length[d]));
    }
    writer.end(extent);
  }
  writer.end(begin);
}

std::string short_form(proto::Message message, const std::string& wire) {
  std::string out;
  WireError error;
  proto::compact_wire(message, wire, out, error);
  return out;
}

Status check_part(const TensorToSave& t) {
  const std::optional<Shape> shape = t.slice.shape_in(t.whole);
  if (shape && *shape == t.value.shape()) return ok_status();
  return invalid_argument(
      cat("a part of tensor '", t.key, "' of shape ", t.whole.to_string(), " cannot be ", t.value.shape().to_string()));
}

}  // namespace emplace
