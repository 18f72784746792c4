#include "core/formats/tensor_writer.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "core/base/base64.h"
#include "core/base/stop.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

constexpr int64_t kFewElements = 16;  // written as a list that a person can read

template <class T>
constexpr bool kIsReal = std::is_same_v<T, float> || std::is_same_v<T, double>;

/// The field of TensorProto that holds elements of type T.
template <class T>
constexpr std::string_view value_field() {
  if constexpr (std::is_same_v<T, float>) return "float_val";
  if constexpr (std::is_same_v<T, double>) return "double_val";
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) return "half_val";
  if constexpr (std::is_same_v<T, bool>) return "bool_val";
  if constexpr (std::is_same_v<T, int64_t>) return "int64_val";
  if constexpr (std::is_same_v<T, uint32_t>) return "uint32_val";
  if constexpr (std::is_same_v<T, uint64_t>) return "uint64_val";
  if constexpr (std::is_same_v<T, std::complex<float>>) return "scomplex_val";
  if constexpr (std::is_same_v<T, std::complex<double>>) return "dcomplex_val";
  if constexpr (std::is_same_v<T, std::string>) return "string_val";
  return "int_val";
}

template <class T>
void write_value(JsonWriter& json, const T& v) {
  if constexpr (std::is_same_v<T, std::string>) {
    json.value(encode_base64(v));
  } else if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    json.value(std::bit_cast<uint16_t>(v));
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    json.value(v.real()).value(v.imag());
  } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>) {
    json.value(std::to_string(v));  // JSON's numbers are doubles to many readers
  } else {
    json.value(v);
  }
}

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::string>) {
    return a == b;
  } else {
    using Bytes = std::array<std::byte, sizeof(T)>;
    return std::bit_cast<Bytes>(a) == std::bit_cast<Bytes>(b);
  }
}

/// NaNs differ in their bits, which no number in a text can say.
template <class T>
bool has_text(const T& v) {
  if constexpr (kIsReal<T>) return !std::isnan(v);
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return !std::isnan(v.real()) && !std::isnan(v.imag());
  }
  return true;
}

/// An element; of a large constant, from any address (core/tensor/mapped_buffer.h).
template <class T>
T element_of(std::span<const T> values, size_t i) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    T v;
    std::memcpy(&v, values.data() + i, sizeof v);
    return v;
  } else {
    return values[i];
  }
}

template <class T>
bool has_texts(std::span<const T> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!has_text(element_of(values, i))) return false;
  }
  return true;
}

template <class T>
bool write_values(JsonWriter& json, std::span<const T> values) {
  if (values.empty()) return true;
  constexpr size_t kLookEvery = size_t{1} << 20;
  const T first = element_of(values, 0);
  bool equal = true;
  for (size_t i = 0; i < values.size() && equal; ++i) {
    equal = same(element_of(values, i), first);
    if (i % kLookEvery == 0 && stop_requested()) return true;  // nobody reads what is not whole
  }
  if (equal) values = values.first(1);
  bool listed = std::is_same_v<T, std::string> || static_cast<int64_t>(values.size()) <= kFewElements;
  if (!listed || !has_texts(values)) return false;
  json.key(value_field<T>()).begin_array();
  for (size_t i = 0; i < values.size(); ++i) write_value(json, element_of(values, i));
  json.end_array();
  return true;
}

}  // namespace

void write_shape_proto(JsonWriter& json, const Shape& shape) {
  json.begin_object();
  if (!shape.rank_known()) {
    json.member("unknown_rank", true);
  } else if (shape.rank() > 0) {
    json.key("dim").begin_array();
    for (int64_t size : shape.dims()) json.begin_object().member("size", std::to_string(size)).end_object();
    json.end_array();
  }
  json.end_object();
}

void write_tensor_proto(JsonWriter& json, const Tensor& tensor) {
  json.begin_object().member("dtype", dtype_enum_name(tensor.dtype())).key("tensor_shape");
  write_shape_proto(json, tensor.shape());
  bool written = tensor.raw() == nullptr;  // a handle has no value in a file
  with_type(tensor.dtype(), [&]<class T>() { written = written || write_values<T>(json, tensor.flat<T>()); });
  if (!written)
    json.member("tensor_content", encode_base64({static_cast<const char*>(tensor.raw()), tensor.size_bytes()}));
  json.end_object();
}

}  // namespace emplace
