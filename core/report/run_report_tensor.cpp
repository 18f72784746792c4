// A tensor in JSON: numbers that read back to the same bits.
#include <algorithm>
#include <complex>

#include "core/report/run_report.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

std::string base64(std::string_view bytes) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    size_t present = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < present ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += k <= present ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

void write(JsonWriter& json, const std::string& v) {
  if (is_utf8(v) && v.find('\0') == std::string::npos) {
    json.value(std::string_view(v));
  } else {
    json.begin_object().member("base64", base64(v)).end_object();
  }
}
void write(JsonWriter& json, half v) { json.value(static_cast<float>(v)); }
void write(JsonWriter& json, bfloat16 v) { json.value(static_cast<float>(v)); }
template <class T>
void write(JsonWriter& json, std::complex<T> v) {
  json.begin_array().value(v.real()).value(v.imag()).end_array();
}
template <class T>
void write(JsonWriter& json, T v) {
  json.value(v);
}

}  // namespace

void write_tensor(JsonWriter& json, std::string_view name, const Tensor& tensor) {
  json.begin_object().member("name", name).member("dtype", dtype_name(tensor.dtype())).key("shape").begin_array();
  for (int64_t size : tensor.shape().dims()) json.value(size);
  json.end_array().key("data").begin_array();
  with_type(tensor.dtype(), [&]<class T>() {
    for (const T& v : tensor.flat<T>()) write(json, v);
  });
  json.end_array().end_object();
}

}  // namespace emplace
