#include "core/formats/onnx/tensor.h"

#include <charconv>
#include <cstring>

#include "core/base/cat.h"
#include "core/formats/file_access.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/message_fields.h"
#include "core/graph/open_source.h"

namespace emplace {
namespace {

using proto::kOnnxTensorFields;
using proto::number;
using proto::WireReader;
using proto::WireType;

/// Bytes of a mapped file, which stays open as long as somebody has them.
class OnnxBytes final : public Buffer {
 public:
  OnnxBytes(std::shared_ptr<const Source> file, std::string_view bytes)
      : Buffer(const_cast<char*>(bytes.data()), bytes.size()), file_(std::move(file)) {}

 private:
  std::shared_ptr<const Source> file_;
};

struct OnnxTensorParts {
  int64_t type = 0;
  std::vector<int64_t> dims;
  std::string_view raw;
  bool has_raw = false, external = false;
  std::string_view location;
  int64_t offset = 0, length = -1;
  const char* at = nullptr;
};

void read_external_entry(WireContext& w, std::string_view entry, OnnxTensorParts& parts) {
  const std::string_view key = proto::text_field(entry, 1), value = proto::text_field(entry, 2);
  if (key == "location") parts.location = value;
  if (key != "offset" && key != "length") return;
  int64_t& number = key == "offset" ? parts.offset : parts.length;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  if (read.ec != std::errc{} || read.ptr != value.data() + value.size() || number < 0)
    w.problem(entry.data(), cat("external data of ", key, " '", value.substr(0, 40), "'"), "wanted a number of bytes");
}

OnnxTensorParts onnx_tensor_parts(WireContext& w, std::string_view message) {
  OnnxTensorParts parts;
  parts.at = message.data();
  for (WireReader r(message, w.error); r.next();) {
    if (r.field() == number(kOnnxTensorFields, "dims"))
      r.numbers(WireType::kVarint, [&](uint64_t n) { parts.dims.push_back(proto::as_int64(n)); });
    if (r.is(number(kOnnxTensorFields, "data_type"), WireType::kVarint)) parts.type = proto::as_int64(r.number());
    if (r.is(number(kOnnxTensorFields, "raw_data"), WireType::kBytes)) parts.raw = r.bytes(), parts.has_raw = true;
    if (r.is(number(kOnnxTensorFields, "data_location"), WireType::kVarint)) parts.external = r.number() == 1;
    if (r.is(number(kOnnxTensorFields, "external_data"), WireType::kBytes)) read_external_entry(w, r.bytes(), parts);
  }
  return parts;
}

/// Two (four) elements of a byte, the low bits first.
int packed_bits(DType t) {
  if (t == DType::kInt4 || t == DType::kUInt4 || t == DType::kFloat4E2M1FN) return 4;
  return t == DType::kInt2 || t == DType::kUInt2 ? 2 : 8;
}

void unpack_bits(DType t, const unsigned char* in, Tensor& out) {
  const int bits = packed_bits(t), per_byte = 8 / bits, mask = (1 << bits) - 1;
  const bool is_signed = t == DType::kInt4 || t == DType::kInt2;
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    int v = (in[i / per_byte] >> (bits * static_cast<int>(i % per_byte))) & mask;
    if (is_signed && v >> (bits - 1)) v -= mask + 1;
    out.data<int8_t>()[i] = static_cast<int8_t>(v);
  }
}

Result<Tensor> from_raw_bytes(DType type, const Shape& shape, std::string_view bytes,
                              std::shared_ptr<const Source> file) {
  const auto count = static_cast<uint64_t>(shape.num_elements());
  const int bits = packed_bits(type);
  const uint64_t wanted = bits == 8 ? count * dtype_size(type) : (count * static_cast<uint64_t>(bits) + 7) / 8;
  if (type == DType::kString || bytes.size() != wanted)
    return invalid_argument(cat("data of ", bytes.size(), " bytes; shape ", shape.to_string(), " of ", dtype_name(type),
                                " takes ", wanted));
  if (bits == 8 && file && count > 0 && reinterpret_cast<uintptr_t>(bytes.data()) % dtype_size(type) == 0) {
    auto owner = std::make_shared<OnnxBytes>(std::move(file), bytes);
    return Tensor::wrap(type, shape, owner->data(), owner);
  }
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(type, shape));
  if (bits < 8) {
    unpack_bits(type, reinterpret_cast<const unsigned char*>(bytes.data()), t);
  } else if (file) {
    file->move_out(bytes, t.raw());
  } else if (wanted > 0) {
    std::memcpy(t.raw(), bytes.data(), wanted);
  }
  return t;
}

Result<Tensor> from_strings(WireContext& w, std::string_view message, const Shape& shape) {
  std::vector<std::string_view> texts;
  for (WireReader r(message, w.error); r.next();) {
    if (r.is(number(kOnnxTensorFields, "string_data"), WireType::kBytes)) texts.push_back(r.bytes());
  }
  if (static_cast<int64_t>(texts.size()) != shape.num_elements())
    return invalid_argument(cat(texts.size(), " strings for shape ", shape.to_string()));
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(DType::kString, shape));
  for (size_t i = 0; i < texts.size(); ++i) t.data<std::string>()[i] = texts[i];
  return t;
}

struct OnnxValueField {
  uint32_t number = 0;
  WireType wire = WireType::kVarint;
};

OnnxValueField onnx_field_of(DType t) {
  switch (t) {
    case DType::kFloat:
    case DType::kComplex64:
      return {number(kOnnxTensorFields, "float_data"), WireType::kFixed32};
    case DType::kDouble:
    case DType::kComplex128:
      return {number(kOnnxTensorFields, "double_data"), WireType::kFixed64};
    case DType::kInt64:
      return {number(kOnnxTensorFields, "int64_data")};
    case DType::kUInt32:
    case DType::kUInt64:
      return {number(kOnnxTensorFields, "uint64_data")};
    default:
      return {number(kOnnxTensorFields, "int32_data")};
  }
}

Result<Tensor> from_numbers(WireContext& w, std::string_view message, DType type, const Shape& shape) {
  const OnnxValueField field = onnx_field_of(type);
  const size_t parts = is_complex(type) ? 2 : 1;
  const int bits = packed_bits(type);
  const auto count = static_cast<size_t>(shape.num_elements());
  const size_t wanted = bits == 8 ? count * parts : (count * static_cast<size_t>(bits) + 7) / 8;
  size_t found = 0;
  for (WireReader r(message, w.error); r.next();) {
    if (r.field() == field.number) found += r.count_numbers(field.wire);
  }
  if (found != wanted)
    return invalid_argument(
        cat(found, " values for shape ", shape.to_string(), " of ", dtype_name(type), ", which takes ", wanted));
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(type, shape));
  std::string packed(bits < 8 ? wanted : 0, '\0');
  const size_t size = bits < 8 ? 1 : dtype_size(type) / parts;
  char* out = bits < 8 ? packed.data() : static_cast<char*>(t.raw());
  size_t used = 0;
  for (WireReader r(message, w.error); r.next();) {
    if (r.field() != field.number) continue;
    r.numbers(field.wire, [&](uint64_t n) {
      if (type == DType::kBool) n = n != 0;
      if (used < wanted) std::memcpy(out + used++ * size, &n, size);
    });
  }
  if (bits < 8) unpack_bits(type, reinterpret_cast<const unsigned char*>(packed.data()), t);
  return t;
}

std::optional<Tensor> external_tensor(WireContext& w, const OnnxTensorParts& parts, DType type, const Shape& shape) {
  const auto at = static_cast<size_t>(std::max<int64_t>(w.position_of(parts.at), 0));
  if (parts.location.empty()) return w.problem(parts.at, "external data without a location"), std::nullopt;
  std::optional<std::string> path = allowed_file(w.c, at, parts.location);
  if (!path) return std::nullopt;
  Result<std::shared_ptr<const Source>> file =
      open_source(*path, {.use = HostUse::kConstants, .pipes = false, .count_mapped = false});
  if (!file.ok()) return w.c.problems.add(static_cast<int64_t>(at), file.status().message()), std::nullopt;
  const std::string_view all = (*file)->text();
  const auto offset = static_cast<uint64_t>(parts.offset);
  const uint64_t left = offset <= all.size() ? all.size() - offset : 0;
  const uint64_t length = parts.length < 0 ? left : static_cast<uint64_t>(parts.length);
  if (offset > all.size() || length > left) {
    w.problem(parts.at, cat("external data of '", parts.location, "' from byte ", offset, ", ", length,
                            " bytes; the file has ", all.size()));
    return std::nullopt;
  }
  Result<Tensor> t = from_raw_bytes(type, shape, all.substr(offset, length), *file);
  if (t.ok()) return t.take();
  return w.problem(parts.at, t.status().message()), std::nullopt;
}

}  // namespace

std::optional<DType> onnx_dtype(int64_t number) {
  static constexpr DType kTypes[] = {
      DType::kInvalid,        DType::kFloat,    DType::kUInt8,        DType::kInt8,           DType::kUInt16,
      DType::kInt16,          DType::kInt32,    DType::kInt64,        DType::kString,         DType::kBool,
      DType::kHalf,           DType::kDouble,   DType::kUInt32,       DType::kUInt64,         DType::kComplex64,
      DType::kComplex128,     DType::kBFloat16, DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
      DType::kFloat8E5M2FNUZ, DType::kUInt4,    DType::kInt4,         DType::kFloat4E2M1FN,   DType::kInvalid,
      DType::kUInt2,          DType::kInt2};
  if (number < 0 || number >= static_cast<int64_t>(std::size(kTypes)) || kTypes[number] == DType::kInvalid)
    return std::nullopt;
  return kTypes[number];
}

std::optional<Tensor> read_onnx_tensor(WireContext& w, std::string_view message) {
  const OnnxTensorParts parts = onnx_tensor_parts(w, message);
  if (!w.sound() || !w.c.problems.empty()) return std::nullopt;
  const std::optional<DType> type = onnx_dtype(parts.type);
  if (!type)
    return w.problem(parts.at, cat("a tensor of element type ", parts.type, ", which is not read")), std::nullopt;
  const bool negative = std::any_of(parts.dims.begin(), parts.dims.end(), [](int64_t d) { return d < 0; });
  const Shape shape = parts.dims.size() > static_cast<size_t>(kMaxRank) ? Shape::unknown() : Shape(parts.dims);
  if (negative || !shape.rank_known() || !shape.checked_num_elements() ||
      *shape.checked_num_elements() > (int64_t{1} << 48))
    return w.problem(parts.at, cat("a tensor of shape ", shape.to_string())), std::nullopt;
  if (parts.external) return external_tensor(w, parts, *type, shape);
  Result<Tensor> t = parts.has_raw             ? from_raw_bytes(*type, shape, parts.raw, w.c.file.source)
                     : *type == DType::kString ? from_strings(w, message, shape)
                                               : from_numbers(w, message, *type, shape);
  if (!w.sound()) return std::nullopt;
  if (t.ok()) return t.take();
  return w.problem(parts.at, t.status().message()), std::nullopt;
}

}  // namespace emplace
