// Part of core/report/run_report.h: A tensor in JSON, as `run` prints it.
#include "core/report/run_report.h"
#include "core/tensor/json_elements.h"

namespace emplace {

namespace {

void write_elements(JsonWriter& json, const Tensor& tensor, const std::function<void()>& drain) {
  json.key("shape").begin_array();
  for (int64_t size : tensor.shape().dims()) json.value(size);
  json.end_array().key("data");
  write_json_elements(json, tensor, drain);
  json.end_object();
}

}  // namespace

void write_tensor(JsonWriter& json, std::string_view name, const Tensor& tensor, const std::function<void()>& drain) {
  json.begin_object().member("name", name).member("dtype", dtype_name(tensor.dtype()));
  write_elements(json, tensor, drain);
}

void write_sequence(JsonWriter& json, std::string_view name, DType dtype, const std::vector<Tensor>* elements,
                    const std::function<void()>& drain) {
  json.begin_object().member("name", name).member("dtype", dtype_name(dtype)).key("list");
  if (elements) {
    json.begin_array();
    for (const Tensor& t : *elements) write_elements(json.begin_object(), t, drain);
    json.end_array();
  } else {
    json.null();
  }
  json.end_object();
}

}  // namespace emplace
