// Part of core/formats/tensor_reader.h: Tensors as a person writes them.
#include <optional>

#include "core/base/base64.h"
#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/formats/element_buffer.h"
#include "core/formats/file_access.h"
#include "core/formats/object_reader.h"
#include "core/formats/tensor_reader.h"
#include "core/formats/value_reader.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

// Reads nested lists into a buffer and finds their shape.
class NestedReader {
 public:
  NestedReader(JsonReader& reader, ElementBuffer& out, Untyped untyped)
      : reader_(reader), out_(out), untyped_(untyped) {}

  bool read() {
    read_level(0);
    return good_ && !reader_.failed();
  }
  const Shape& shape() const { return shape_; }

 private:
  static constexpr int64_t kOpen = -1;  // no list of this level has ended yet

  void problem(size_t at, std::string message) {
    if (good_) reader_.problem(at, std::move(message));
    good_ = false;
  }

  void read_level(size_t level) {
    Kind kind = reader_.peek();
    size_t at = reader_.position();
    if (kind != Kind::kArray) return read_scalar(kind, level, at);
    if (scalar_level_ && level >= *scalar_level_) problem(at, "found a list where the values before are not lists");
    if (level >= static_cast<size_t>(kMaxRank)) problem(at, cat("more than ", kMaxRank, " dimensions"));
    if (!good_) {
      reader_.skip();
      return;
    }
    auto dim = static_cast<int>(level);
    if (dim == shape_.rank()) shape_.add_dim(kOpen);
    int64_t count = 0;
    for (reader_.enter_array(); reader_.next_element(); ++count) read_level(level + 1);
    if (shape_.dim(dim) == kOpen) shape_.dim(dim) = count;
    if (shape_.dim(dim) != count)
      problem(at, cat("this list has ", count, count == 1 ? " entry" : " entries", ", the first beside it has ",
                      shape_.dim(dim)));
  }

  void read_scalar(Kind kind, size_t level, size_t at) {
    if (!scalar_level_) scalar_level_ = level;
    if (level != *scalar_level_ || level < static_cast<size_t>(shape_.rank()))
      problem(at, cat("found ", kind_name(kind), " beside lists"));
    Status status;
    switch (kind) {
      case Kind::kNumber:
        if (out_.dtype() == DType::kInvalid && untyped_ == Untyped::kFloat) out_ = ElementBuffer(DType::kFloat);
        status = out_.add_number(reader_.take_number());
        break;
      case Kind::kBool:
        status = out_.add_bool(reader_.take_bool());
        break;
      case Kind::kString:
        status = out_.add_text(reader_.take_string());
        break;
      case Kind::kObject:
        status = read_base64();
        break;
      default:
        reader_.skip();
        status = invalid_argument(cat("found ", kind_name(kind), ", wanted a value"));
    }
    if (status.code() == Code::kResourceExhausted) return reader_.give_up(status);
    if (!status.ok() && !reader_.failed()) problem(at, status.message());
  }

  // {"base64": "..."}: a string element that is not UTF-8.
  Status read_base64() {
    static constexpr std::string_view kKeys[] = {"base64"};
    std::optional<std::string> bytes;
    for (ObjectReader object(reader_, kKeys, "a string element"); object.next();) bytes = read_bytes(reader_, "base64");
    if (!bytes) return invalid_argument("found an object, wanted {\"base64\": \"...\"}");
    if (out_.dtype() != DType::kInvalid && out_.dtype() != DType::kString)
      return invalid_argument("found bytes among numbers");
    return out_.add_text(*bytes);
  }

  JsonReader& reader_;
  ElementBuffer& out_;
  Untyped untyped_;
  Shape shape_;
  std::optional<size_t> scalar_level_;
  bool good_ = true;
};

struct Written {
  ElementBuffer elements;
  Shape shape;
};

std::optional<Written> read_values(JsonReader& reader, DType dtype, Untyped untyped) {
  Written out{ElementBuffer(dtype), {}};
  NestedReader nested(reader, out.elements, untyped);
  if (!nested.read()) return std::nullopt;
  out.shape = nested.shape();
  if (out.elements.dtype() == DType::kInvalid)
    out.elements = ElementBuffer(DType::kFloat);  // as NumPy: [] is a float array
  return out;
}

// Pairs of a complex tensor are no dimension.
Shape without_pairs(const Shape& shape) { return Shape(shape.dims().first(static_cast<size_t>(shape.rank() - 1))); }

std::optional<Tensor> to_tensor(LoadContext& c, size_t at, const ElementBuffer& elements, const Shape& shape) {
  Result<Tensor> t = elements.to_tensor(shape);
  if (t.ok()) return *t;
  c.reader.problem(at, t.status());
  return std::nullopt;
}

// The members of {"dtype", "shape", "data" | "fill"} or {"file", "key"}.
struct Parts {
  std::optional<DType> dtype;
  std::optional<Shape> shape;
  std::optional<size_t> data, fill;  // where the values stand
  std::string_view file, key;
  size_t file_position = 0;
  bool good = true;
};

Parts read_parts(LoadContext& c) {
  enum { kDType, kShape, kData, kFill, kFile, kKey };
  static constexpr std::string_view kKeys[] = {"dtype", "shape", "data", "fill", "file", "key"};
  Parts parts;
  for (ObjectReader object(c.reader, kKeys, "a tensor"); object.next();) {
    switch (object.field()) {
      case kDType:
        parts.good &= (parts.dtype = read_value_dtype(c.reader, "dtype")).has_value();
        break;
      case kShape:
        parts.good &= (parts.shape = read_shape(c.reader, "shape")).has_value();
        break;
      case kData:
        parts.data = c.reader.position();
        break;
      case kFill:
        parts.fill = c.reader.position();
        break;
      case kFile:
        parts.file_position = c.reader.position();
        parts.file = read_text(c.reader, "file").value_or("");
        parts.good &= !parts.file.empty();
        break;
      case kKey:
        parts.key = read_text(c.reader, "key").value_or("");
        break;
      default:
        break;
    }
  }
  parts.good &= !c.reader.failed();
  return parts;
}

std::optional<Tensor> from_file(LoadContext& c, const Parts& parts) {
  std::optional<Tensor> value = read_tensor_file(c, parts.file_position, parts.file, parts.key);
  if (!value) return std::nullopt;
  if (parts.dtype && *parts.dtype != value->dtype()) {
    c.reader.problem(parts.file_position,
                     cat("the file holds ", dtype_name(value->dtype()), ", dtype says ", dtype_name(*parts.dtype)));
    return std::nullopt;
  }
  if (parts.shape && !parts.shape->compatible_with(value->shape())) {
    c.reader.problem(parts.file_position, cat("the file holds shape ", value->shape().to_string(), ", shape says ",
                                              parts.shape->to_string()));
    return std::nullopt;
  }
  return value;
}

std::optional<Tensor> filled(LoadContext& c, size_t at, const Shape& shape, const Written& one) {
  if (one.elements.size() != one.elements.entries_per_element()) {
    c.reader.problem(at, cat("fill: found ", one.elements.size(), " values, wanted one"));
    return std::nullopt;
  }
  if (!charge_fill(c, at, one.elements.dtype(), shape, 1)) return std::nullopt;
  return to_tensor(c, at, one.elements, shape);
}

std::optional<Tensor> shaped(LoadContext& c, size_t at, const Shape& shape, const Written& written) {
  int64_t count = written.elements.size();
  auto wanted = shape.checked_num_elements();
  int64_t entries = 0;
  bool fits =
      wanted && !__builtin_mul_overflow(*wanted, written.elements.entries_per_element(), &entries) && entries == count;
  if (fits) return to_tensor(c, at, written.elements, shape);
  c.reader.problem(at,
                   cat("found ", counted(count, "value"), " for shape ", shape.to_string(), ", wanted ",
                       wanted ? std::to_string(entries) : "fewer than 2^63"),
                   count == 1 ? "to repeat one value, write \"fill\" instead of \"data\"" : "");
  return std::nullopt;
}

std::optional<PlainTensor> read_object(LoadContext& c, DType wanted, Untyped untyped) {
  size_t at = c.reader.position();
  Parts parts = read_parts(c);
  if (!parts.good) return std::nullopt;
  if (!parts.file.empty()) {
    auto value = from_file(c, parts);
    if (!value) return std::nullopt;
    return PlainTensor{*value, true};
  }
  if (parts.data.has_value() == parts.fill.has_value()) {
    c.reader.problem(at, parts.data ? "a tensor with both 'data' and 'fill'" : "a tensor without values",
                     "wanted one of \"data\", \"fill\" and \"file\"");
    return std::nullopt;
  }
  if (parts.shape && !parts.shape->fully_known()) {
    c.reader.problem(at, cat("the shape of a value must be known, found ", parts.shape->to_string()));
    return std::nullopt;
  }
  size_t after = c.reader.position();
  size_t values_at = parts.data ? *parts.data : *parts.fill;
  c.reader.seek(values_at);
  auto written = read_values(c.reader, parts.dtype.value_or(wanted), untyped);
  c.reader.seek(after);
  if (!written) return std::nullopt;
  bool pairs = is_complex(written->elements.dtype()) && !parts.shape && written->shape.rank() > 0;
  Shape shape = parts.shape ? *parts.shape : pairs ? without_pairs(written->shape) : written->shape;
  auto value = parts.fill ? filled(c, values_at, shape, *written) : shaped(c, values_at, shape, *written);
  if (!value) return std::nullopt;
  return PlainTensor{*value, parts.dtype || wanted != DType::kInvalid};
}

}  // namespace

bool charge_fill(LoadContext& c, size_t at, DType dtype, const Shape& shape, int64_t elements_written) {
  auto count = shape.checked_num_elements();
  auto size = static_cast<int64_t>(dtype == DType::kString ? sizeof(std::string) : dtype_size(dtype));
  int64_t bytes = 0;
  if (count && *count <= elements_written) return true;
  if (count && !__builtin_mul_overflow(*count - elements_written, size, &bytes) && bytes <= c.fill_bytes_left) {
    c.fill_bytes_left -= bytes;
    return true;
  }
  c.problems.add(
      static_cast<int64_t>(at),
      cat("a value of shape ", shape.to_string(), " and type ", dtype_name(dtype),
          " that is not written out is too large: a graph file may take ", c.options.max_fill_bytes, " bytes that way"),
      "let a Fill node make it", Code::kResourceExhausted);
  return false;
}

std::optional<PlainTensor> read_plain_tensor(LoadContext& c, DType wanted, Untyped untyped) {
  if (c.reader.peek() == Kind::kObject) return read_object(c, wanted, untyped);
  size_t at = c.reader.position();
  auto written = read_values(c.reader, wanted, untyped);
  if (!written) return std::nullopt;
  bool pairs = is_complex(written->elements.dtype()) && written->shape.rank() > 0;
  auto value = shaped(c, at, pairs ? without_pairs(written->shape) : written->shape, *written);
  if (!value) return std::nullopt;
  return PlainTensor{*value, wanted != DType::kInvalid};
}

}  // namespace emplace
