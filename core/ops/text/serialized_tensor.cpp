#include "core/ops/text/serialized_tensor.h"

#include <algorithm>
#include <cstring>
#include <protozero/pbf_reader.hpp>

#include "core/base/cat.h"
#include "core/base/tiny_float.h"
#include "core/ops/kit/numeric.h"
#include "core/tensor/tensor_proto_fields.h"

namespace emplace {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

/// Those of int4 and of float8 are not read.
bool has_values(DType t) {
  return tensor_proto::values_of(t) != 0 && !kTiny.has(t) && t != DType::kResource && t != DType::kVariant;
}

std::string_view text_of(const protozero::data_view& bytes) { return {bytes.data(), bytes.size()}; }

bool read_shape(pbf_reader r, Shape& shape) {
  constexpr int kMostDims = 254;
  int dims = 0;
  while (r.next()) {
    if (r.tag() == 2 && r.wire_type() == pbf_wire_type::length_delimited) {
      int64_t size = 0;
      for (pbf_reader dim = r.get_message(); dim.next();) {
        if (dim.tag() == 1 && dim.wire_type() == pbf_wire_type::varint) {
          size = dim.get_int64();
        } else {
          dim.skip();
        }
      }
      if (size < 0 || ++dims > kMostDims) return false;
      shape.add_dim(size);
    } else {
      r.skip();
    }
  }
  return true;
}

/// Calls take(bits) with each number of a field, packed or not.
template <class Take>
void read_field(std::string_view message, uint32_t field, pbf_wire_type form, const Take& take) {
  for (pbf_reader r(message.data(), message.size()); r.next();) {
    if (r.tag() != field) {
      r.skip();
    } else if (r.wire_type() == pbf_wire_type::length_delimited) {
      if (form == pbf_wire_type::fixed32) {
        for (uint64_t bits : r.get_packed_fixed32()) take(bits);
      } else if (form == pbf_wire_type::fixed64) {
        for (uint64_t bits : r.get_packed_fixed64()) take(bits);
      } else {
        for (uint64_t bits : r.get_packed_uint64()) take(bits);
      }
    } else if (r.wire_type() == form) {
      take(form == pbf_wire_type::fixed32   ? r.get_fixed32()
           : form == pbf_wire_type::fixed64 ? r.get_fixed64()
                                            : r.get_uint64());
    } else {
      r.skip();
    }
  }
}

/// Texts as their lengths, then their bytes.
bool unpack_texts(std::string_view content, Tensor& t) {
  std::vector<size_t> lengths(static_cast<size_t>(t.num_elements()));
  for (size_t& length : lengths) {
    int shift = 0;
    for (uint8_t byte = 0x80; byte >= 0x80; shift += 7) {
      if (content.empty() || shift > 28) return false;
      byte = static_cast<uint8_t>(content.front());
      content.remove_prefix(1);
      length |= static_cast<size_t>(byte & 0x7f) << shift;
    }
  }
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > content.size()) return false;
    t.data<std::string>()[i] = content.substr(0, lengths[i]);
    content.remove_prefix(lengths[i]);
  }
  return content.empty();
}

void copy_texts_of(std::string_view message, Tensor& t) {
  int64_t written = 0;
  for (pbf_reader r(message.data(), message.size()); r.next();) {
    if (r.tag() != tensor_proto::kStringVal || r.wire_type() != pbf_wire_type::length_delimited) {
      r.skip();
      continue;
    }
    const std::string_view text = text_of(r.get_view());
    if (written < t.num_elements()) t.data<std::string>()[written++] = text;
  }
  for (; written > 0 && written < t.num_elements(); ++written)
    t.data<std::string>()[written] = t.data<std::string>()[written - 1];
}

void copy_numbers_of(std::string_view message, Tensor& t) {
  const uint32_t field = tensor_proto::values_of(t.dtype());
  const pbf_wire_type form =
      field == tensor_proto::kFloatVal || field == tensor_proto::kScomplexVal    ? pbf_wire_type::fixed32
      : field == tensor_proto::kDoubleVal || field == tensor_proto::kDcomplexVal ? pbf_wire_type::fixed64
                                                                                 : pbf_wire_type::varint;
  const size_t parts = is_complex(t.dtype()) ? 2 : 1, element = dtype_size(t.dtype()), part = element / parts;
  auto* const out = static_cast<char*>(t.raw());
  const size_t room = static_cast<size_t>(t.num_elements()) * parts;
  size_t written = 0;
  read_field(message, field, form, [&](uint64_t bits) {
    if (field == tensor_proto::kBoolVal) bits = bits != 0 ? 1 : 0;
    if (written < room) std::memcpy(out + written++ * part, &bits, part);  // the low bytes, as numbers are cut
  });
  size_t done = written / parts * element;
  if (done == 0) {
    std::memset(out, 0, t.size_bytes());
    return;
  }
  for (; done < t.size_bytes(); done += element) std::memcpy(out + done, out + done - element, element);
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_varint(out, field << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}

}  // namespace

Result<SerializedTensor> SerializedTensor::of(std::string_view message) {
  SerializedTensor found;
  found.message = message;
  int64_t type = 0;
  bool has_shape = true;
  try {
    for (pbf_reader r(message.data(), message.size()); r.next();) {
      if (r.tag() == tensor_proto::kDType && r.wire_type() == pbf_wire_type::varint) {
        type = r.get_int64();
      } else if (r.tag() == tensor_proto::kTensorShape && r.wire_type() == pbf_wire_type::length_delimited) {
        has_shape = read_shape(r.get_message(), found.shape) && has_shape;
      } else if (r.tag() == tensor_proto::kTensorContent && r.wire_type() == pbf_wire_type::length_delimited) {
        found.content = text_of(r.get_view());
      } else {
        r.skip();
      }
    }
  } catch (const protozero::exception&) {
    return invalid_argument(cat("Could not parse `serialized` as TensorProto, of ", message.size(), " bytes"));
  }
  const std::optional<DType> known = dtype_from_number(type);
  if (!known || is_ref(*known) || !has_values(*known))
    return invalid_argument(cat("the TensorProto is of DataType ", type, ", which has no elements to read"));
  if (!has_shape || !found.shape.checked_num_elements())
    return invalid_argument("the TensorProto has a shape that is not known, or too large");
  found.type = *known;
  return found;
}

Status SerializedTensor::copy_to(Tensor& t) const {
  try {
    if (!content.empty()) {
      const bool fits = type == DType::kString ? unpack_texts(content, t) : content.size() == t.size_bytes();
      if (!fits) {
        return invalid_argument(cat("tensor_content has ", content.size(), " bytes, which is not what shape ",
                                    shape.to_string(), " of ", dtype_tf_name(type), " takes"));
      }
      if (type != DType::kString) std::memcpy(t.raw(), content.data(), content.size());
    } else if (type == DType::kString) {
      copy_texts_of(message, t);
    } else if (t.num_elements() > 0) {
      copy_numbers_of(message, t);
    }
  } catch (const protozero::exception&) {
    return invalid_argument(cat("Could not parse `serialized` as TensorProto, of ", message.size(), " bytes"));
  }
  return ok_status();
}

std::string serialize_tensor(const Tensor& t, bool packs_texts) {
  std::string shape, out;
  for (int64_t size : t.shape().dims()) {
    std::string dim;
    if (size != 0) {
      dim += '\x08';  // field 1, a number
      put_varint(dim, static_cast<uint64_t>(size));
    }
    put_bytes(shape, 2, dim);
  }
  put_varint(out, tensor_proto::kDType << 3);
  put_varint(out, static_cast<uint64_t>(t.dtype()));
  put_bytes(out, tensor_proto::kTensorShape, shape);
  if (t.dtype() != DType::kString) {
    if (t.size_bytes() > 0)
      put_bytes(out, tensor_proto::kTensorContent, {static_cast<const char*>(t.raw()), t.size_bytes()});
    return out;
  }
  if (!packs_texts) {
    for (const std::string& text : t.flat<std::string>()) put_bytes(out, tensor_proto::kStringVal, text);
    return out;
  }
  std::string content;
  for (const std::string& text : t.flat<std::string>()) put_varint(content, text.size());
  for (const std::string& text : t.flat<std::string>()) content += text;
  if (!content.empty()) put_bytes(out, tensor_proto::kTensorContent, content);
  return out;
}

}  // namespace emplace
