#include "core/cluster/message.h"

#include <cstring>
#include <optional>

namespace emplace::message {
namespace {

/// What stands for a tensor; `data`: its elements as memory has them.
struct TensorMessage {
  int dtype = 0;
  std::vector<int64_t> shape;
  std::vector<std::string> strings;
  bool valid = false;

  template <class F>
  void fields(F& field) {
    field(1, dtype), field(2, shape), field(3, strings), field(4, valid);
  }
};
constexpr uint32_t kDataField = 5;

/// A dtype, and a shape whose elements are `bytes` at most.
Result<size_t> size_of(DType dtype, const Shape& shape, size_t bytes) {
  for (const int64_t dim : shape.dims()) {
    if (dim < 0) return invalid_argument(cat("a tensor of shape ", shape.to_string()));
  }
  const std::optional<int64_t> count = shape.checked_num_elements();
  const size_t each = dtype == DType::kString ? 1 : dtype_size(dtype);
  if (!count || each == 0 || static_cast<uint64_t>(*count) > bytes / each)
    return invalid_argument(cat("a tensor of shape ", shape.to_string(), " in ", bytes, " bytes"));
  return static_cast<size_t>(*count) * each;
}

Result<Tensor> strings_tensor(const Shape& shape, std::vector<std::string>& strings) {
  ASSIGN_OR_RETURN(const size_t count, size_of(DType::kString, shape, strings.size()));
  if (count != strings.size()) return invalid_argument(cat(strings.size(), " strings for ", shape.to_string()));
  ASSIGN_OR_RETURN(Tensor value, Tensor::allocate(DType::kString, shape));
  std::move(strings.begin(), strings.end(), value.data<std::string>());
  return value;
}

}  // namespace

Status write_tensor(const Tensor& value, std::string& out) {
  if (value.dtype() == DType::kVariant) return unimplemented("a list of tensors cannot be sent to another process");
  TensorMessage message;
  message.valid = value.valid();
  if (value.valid()) {
    message.dtype = static_cast<int>(value.dtype());
    message.shape.assign(value.shape().dims().begin(), value.shape().dims().end());
  }
  const bool text = value.dtype() == DType::kString;
  if (text) message.strings.assign(value.flat<std::string>().begin(), value.flat<std::string>().end());
  constexpr size_t kHead = 256;
  if (value.valid() && !text) out.reserve(out.size() + value.size_bytes() + kHead);
  Writer writer(out);
  message.fields(writer);
  if (value.valid() && !text)
    proto::WireWriter(out).bytes(kDataField, {static_cast<const char*>(value.raw()), value.size_bytes()});
  return ok_status();
}

Result<Tensor> read_tensor(std::string_view bytes) {
  proto::WireError error;
  TensorMessage message;
  for (Reader reader(bytes, error); reader.next();) message.fields(reader);
  std::string_view data;
  for (proto::WireReader reader(bytes, error); reader.next();) {
    if (reader.is(kDataField, proto::WireType::kBytes)) data = reader.bytes();
  }
  if (error.failed()) return invalid_argument(error.message);
  if (!message.valid) return Tensor();
  const std::optional<DType> dtype = dtype_from_number(message.dtype);
  if (!dtype || is_ref(*dtype) || *dtype == DType::kVariant || message.shape.size() > kMaxRank)
    return invalid_argument(cat("a tensor of type ", message.dtype, " and rank ", message.shape.size()));
  const Shape shape{std::span<const int64_t>(message.shape)};
  if (*dtype == DType::kString) return strings_tensor(shape, message.strings);
  ASSIGN_OR_RETURN(const size_t size, size_of(*dtype, shape, data.size()));
  if (size != data.size()) return invalid_argument(cat(data.size(), " bytes for a tensor of ", size));
  ASSIGN_OR_RETURN(Tensor value, Tensor::allocate(*dtype, shape));
  if (size > 0) std::memcpy(value.raw(), data.data(), size);
  return value;
}

}  // namespace emplace::message
