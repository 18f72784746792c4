#include "core/tensor/json_elements.h"

#include <complex>

#include "core/base/base64.h"
#include "core/tensor/element.h"
#include "core/tensor/tiny.h"

namespace emplace {
namespace {

void write(JsonWriter& json, const std::string& v) {
  if (is_utf8(v) && v.find('\0') == std::string::npos) {
    json.value(std::string_view(v));
  } else {
    json.begin_object().member("base64", encode_base64(v)).end_object();
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

void write_json_elements(JsonWriter& json, const Tensor& given, const std::function<void()>& drain) {
  Result<Tensor> plain = as_plain(given);
  const Tensor tensor = plain.ok() ? plain.take() : given;
  constexpr int64_t kDrainAfter = 1 << 16;
  int64_t written = 0;
  json.begin_array();
  with_type(tensor.dtype(), [&]<class T>() {
    for (const T& v : tensor.flat<T>()) {
      write(json, v);
      if (drain && ++written % kDrainAfter == 0) drain();
    }
  });
  json.end_array();
}

}  // namespace emplace
