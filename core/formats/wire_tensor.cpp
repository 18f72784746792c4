#include "core/formats/wire_tensor.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>

#include "core/base/cat.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/tensor_content.h"
#include "core/formats/tensor_reader.h"
#include "core/tensor/mapped_buffer.h"
#include "core/tensor/texts.h"

namespace emplace {
namespace {

using proto::kTensorProtoFields;
using proto::number;
using proto::WireReader;
using proto::WireType;

constexpr size_t kMostDims = 254;               // TensorFlow's
constexpr size_t kLooseFrom = size_t{1} << 20;  // bytes of a constant that may lie at any address

/// Bytes of a file, which stays open as long as somebody has them.
class FileBytes final : public MappedBuffer {
 public:
  FileBytes(std::shared_ptr<const Source> file, std::string_view bytes)
      : MappedBuffer(const_cast<char*>(bytes.data()), bytes.size()), file_(std::move(file)) {}
  void move_part(std::string_view bytes, void* to) const override { file_->move_out(bytes, to); }

 private:
  std::shared_ptr<const Source> file_;
};

/// The field that holds values of a type, and how they stand there; 0: none can.
struct ValueField {
  uint32_t number = 0;
  WireType wire = WireType::kVarint;
};

ValueField field_of(DType t) {
  switch (t) {
    case DType::kFloat:
      return {number(kTensorProtoFields, "float_val"), WireType::kFixed32};
    case DType::kDouble:
      return {number(kTensorProtoFields, "double_val"), WireType::kFixed64};
    case DType::kHalf:
    case DType::kBFloat16:
      return {number(kTensorProtoFields, "half_val")};
    case DType::kString:
      return {number(kTensorProtoFields, "string_val"), WireType::kBytes};
    case DType::kComplex64:
      return {number(kTensorProtoFields, "scomplex_val"), WireType::kFixed32};
    case DType::kComplex128:
      return {number(kTensorProtoFields, "dcomplex_val"), WireType::kFixed64};
    case DType::kInt64:
      return {number(kTensorProtoFields, "int64_val")};
    case DType::kBool:
      return {number(kTensorProtoFields, "bool_val")};
    case DType::kUInt32:
      return {number(kTensorProtoFields, "uint32_val")};
    case DType::kUInt64:
      return {number(kTensorProtoFields, "uint64_val")};
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E4M3B11FNUZ:
    case DType::kFloat8E5M2FNUZ:
      return {number(kTensorProtoFields, "float8_val"), WireType::kBytes};
    case DType::kInvalid:
    case DType::kResource:
    case DType::kVariant:
      return {};
    default:
      return dtype_size(t) > 0 ? ValueField{number(kTensorProtoFields, "int_val")} : ValueField{};
  }
}

struct TensorParts {
  DType dtype = DType::kInvalid;
  Shape shape;
  std::string_view content;
  const char* at = nullptr;
};

/// Must bytes of the file be where such elements belong? Few are copied, and so is what shapes may depend on: whoever
/// looks at values while a graph is prepared finds them there. Large weights stay (core/plan/loose_readers.h).
bool stay(DType t, std::string_view content) {
  return reinterpret_cast<uintptr_t>(content.data()) % dtype_size(t) == 0 ||
         (content.size() >= kLooseFrom && is_floating(t));
}

Result<Tensor> from_bytes(WireContext& w, const TensorParts& parts, std::string_view content) {
  const std::optional<int64_t> count = parts.shape.checked_num_elements();
  const size_t element = dtype_size(parts.dtype);
  const bool strings = parts.dtype == DType::kString;
  const bool fits = count && (strings ? static_cast<uint64_t>(*count) <= content.size()
                                      : element > 0 && content.size() % element == 0 &&
                                            static_cast<uint64_t>(*count) == content.size() / element);
  if (fits && !strings && w.source.binary() && stay(parts.dtype, content)) {
    auto owner = std::make_shared<FileBytes>(w.c.file.source, content);
    return Tensor::wrap(parts.dtype, parts.shape, owner->data(), owner);
  }
  if (fits) {
    ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(parts.dtype, parts.shape));
    if (strings && unpack_strings(content, t.data<std::string>(), static_cast<size_t>(*count))) return t;
    if (!strings) {
      w.source.move_out(content, t.raw());
      return t;
    }
  }
  return invalid_argument(cat("tensor_content holds ", content.size(), " bytes, which is not what shape ",
                              parts.shape.to_string(), " of ", dtype_name(parts.dtype), " takes"));
}

/// Puts the values of a list into a tensor's memory, at most as many as fit.
class ValueSink {
 public:
  explicit ValueSink(const Tensor& t)
      : out_(static_cast<char*>(t.raw())),
        size_(is_complex(t.dtype()) ? dtype_size(t.dtype()) / 2 : dtype_size(t.dtype())),
        room_(static_cast<size_t>(t.num_elements()) * (is_complex(t.dtype()) ? 2 : 1)) {}

  // The low bytes of a number's bits are the element: integers are cut as TensorFlow cuts them.
  void add(uint64_t bits) {
    if (used_ == room_) return;
    std::memcpy(out_ + used_ * size_, &bits, size_);
    ++used_;
  }
  size_t used() const { return used_; }

 private:
  char* out_;
  size_t size_, room_, used_ = 0;
};

/// The last element is repeated to the end.
Status fill(Tensor& t, size_t written) {
  const auto count = static_cast<size_t>(t.num_elements());
  if (t.dtype() == DType::kString) {
    if (written == 0) return ok_status();
    return repeat_text(t, static_cast<int64_t>(written), std::string(t.data<std::string>()[written - 1]));
  }
  const size_t size = dtype_size(t.dtype());
  char* p = static_cast<char*>(t.raw());
  if (written == 0) {
    if (count > 0) std::memset(p, 0, count * size);
    return ok_status();
  }
  // Doubling what is there: the copies grow long.
  size_t unit = size, from = (written - 1) * size, done = unit, wanted = (count - written + 1) * size;
  while (done < wanted) {
    const size_t n = std::min(done, wanted - done);
    std::memcpy(p + from + done, p + from, n);
    done += n;
  }
  return ok_status();
}

/// How many values of that field there are, and whether another field has any, which is told.
std::optional<size_t> count_values(WireContext& w, std::string_view message, const TensorParts& parts, ValueField own) {
  size_t values = 0;
  for (WireReader reader(message, w.error); reader.next();) {
    if (reader.field() <= number(kTensorProtoFields, "tensor_content")) continue;
    const proto::Field* field = proto::find_field(proto::Message::kTensorProto, reader.field());
    if (!field) continue;
    const size_t n = own.wire == WireType::kBytes ? 1 : reader.count_numbers(own.wire);
    if (reader.field() == own.number) {
      values += n;
    } else if (reader.type() != WireType::kBytes || !reader.bytes().empty()) {
      w.problem(reader.tag_at(), cat("a tensor of type ", dtype_enum_name(parts.dtype), " with ", field->name));
      return std::nullopt;
    }
  }
  return values;
}

Result<Tensor> from_lists(WireContext& w, std::string_view message, const TensorParts& parts, ValueField own) {
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(parts.dtype, parts.shape));
  size_t used = 0;
  if (own.wire == WireType::kBytes) {
    const auto count = static_cast<size_t>(t.num_elements());
    for (WireReader reader(message, w.error); reader.next();) {
      if (!reader.is(own.number, WireType::kBytes) || used == count) continue;
      t.data<std::string>()[used++] = reader.bytes();
    }
  } else {
    ValueSink sink(t);
    const bool flags = parts.dtype == DType::kBool;
    for (WireReader reader(message, w.error); reader.next();) {
      if (reader.field() == own.number) reader.numbers(own.wire, [&](uint64_t n) { sink.add(flags ? n != 0 : n); });
    }
    used = sink.used() / (is_complex(parts.dtype) ? 2 : 1);
  }
  RETURN_IF_ERROR(fill(t, used));
  return t;
}

std::optional<TensorParts> read_parts_of(WireContext& w, std::string_view message) {
  TensorParts parts;
  parts.at = message.data();
  for (WireReader reader(message, w.error); reader.next();) {
    if (reader.is(number(kTensorProtoFields, "dtype"), WireType::kVarint)) {
      std::optional<DType> dtype = read_wire_dtype(w, reader.number(), reader.tag_at());
      if (!dtype) return std::nullopt;
      parts.dtype = *dtype;
    } else if (reader.is(number(kTensorProtoFields, "tensor_shape"), WireType::kBytes)) {
      std::optional<Shape> shape = read_wire_shape(w, reader.bytes());
      if (!shape) return std::nullopt;
      if (!shape->fully_known()) {
        w.problem(reader.tag_at(), cat("the shape of a value must be known, found ", shape->to_string()));
        return std::nullopt;
      }
      parts.shape = *shape;
    } else if (reader.is(number(kTensorProtoFields, "tensor_content"), WireType::kBytes)) {
      parts.content = reader.bytes();
    }
  }
  if (!w.sound()) return std::nullopt;
  return parts;
}

/// A tensor, or nothing if a problem was told, or why there is none.
Result<std::optional<Tensor>> read_values(WireContext& w, std::string_view message, const TensorParts& parts) {
  if (parts.dtype == DType::kResource || parts.dtype == DType::kVariant) {
    if (!parts.shape.checked_num_elements()) return invalid_argument("a shape of more than 2^63 elements");
    return std::optional(Tensor::wrap(parts.dtype, parts.shape, nullptr));  // a handle has no value in a file
  }
  const ValueField own = field_of(parts.dtype);
  if (own.number == 0) return invalid_argument(cat("a tensor of type ", dtype_enum_name(parts.dtype)));
  const std::optional<size_t> values = count_values(w, message, parts, own);
  if (!values || !w.sound()) return std::optional<Tensor>();
  if (!parts.content.empty()) {
    ASSIGN_OR_RETURN(Tensor t, from_bytes(w, parts, parts.content));
    return std::optional(std::move(t));
  }
  if (own.wire == WireType::kBytes && parts.dtype != DType::kString && *values > 0) {
    proto::WireError ignored;
    for (WireReader reader(message, ignored); reader.next();) {
      if (!reader.is(own.number, WireType::kBytes) || reader.bytes().empty()) continue;
      ASSIGN_OR_RETURN(Tensor t, from_bytes(w, parts, reader.bytes()));
      return std::optional(std::move(t));
    }
  }
  const int64_t entries = is_complex(parts.dtype) ? 2 : 1;
  if (static_cast<int64_t>(*values) % entries != 0)
    return invalid_argument("an odd number of entries for complex values");
  if (!charge_fill(w.c, static_cast<size_t>(std::max<int64_t>(w.position_of(parts.at), 0)), parts.dtype, parts.shape,
                   static_cast<int64_t>(*values) / entries))
    return std::optional<Tensor>();
  ASSIGN_OR_RETURN(Tensor t, from_lists(w, message, parts, own));
  if (!w.sound()) return std::optional<Tensor>();
  return std::optional(std::move(t));
}

}  // namespace

std::optional<DType> read_wire_dtype(WireContext& w, uint64_t number, const char* at) {
  std::optional<DType> dtype = dtype_from_number(proto::as_int32(number));
  if (!dtype) w.problem(at, cat("there is no DataType of number ", proto::as_int32(number)));
  return dtype;
}

std::optional<Shape> read_wire_shape(WireContext& w, std::string_view message) {
  using proto::kTensorShapeProtoDimFields;
  using proto::kTensorShapeProtoFields;
  std::vector<int64_t> dims;
  bool unknown = false;
  for (WireReader reader(message, w.error); reader.next();) {
    if (reader.is(number(kTensorShapeProtoFields, "unknown_rank"), WireType::kVarint)) {
      unknown = reader.number() != 0;
    } else if (reader.is(number(kTensorShapeProtoFields, "dim"), WireType::kBytes)) {
      int64_t size = 0;
      for (WireReader dim(reader.bytes(), w.error); dim.next();) {
        if (dim.is(number(kTensorShapeProtoDimFields, "size"), WireType::kVarint)) size = proto::as_int64(dim.number());
      }
      if (size < -1) {
        w.problem(reader.tag_at(), cat("a size of ", size, " in a shape"), "sizes are at least 0, or -1 for unknown");
        return std::nullopt;
      }
      dims.push_back(size);
    }
  }
  if (!w.sound()) return std::nullopt;
  if (unknown) return Shape::unknown();
  if (dims.size() > kMostDims) {
    w.problem(message.data(), cat("a shape of ", dims.size(), " dimensions"), cat("there are at most ", kMostDims));
    return std::nullopt;
  }
  return Shape(dims);
}

std::optional<Tensor> read_wire_tensor(WireContext& w, std::string_view message) {
  std::optional<TensorParts> parts = read_parts_of(w, message);
  if (!parts) return std::nullopt;
  Result<std::optional<Tensor>> tensor = read_values(w, message, *parts);
  if (tensor.ok()) return std::move(*tensor);
  const Status& status = tensor.status();
  w.c.problems.add(w.position_of(parts->at), status.message(), "", status.code());
  return std::nullopt;
}

}  // namespace emplace
