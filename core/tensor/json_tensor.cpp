#include "core/tensor/json_tensor.h"

#include <cmath>
#include <limits>

#include "core/base/base64.h"
#include "core/base/cat.h"
#include "core/base/json_document.h"
#include "core/tensor/element.h"
#include "core/tensor/tiny.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

Status wanted(std::string_view what, const Json& found) {
  return invalid_argument(cat("found ", shown(found), ", wanted ", what));
}

Status read_element(const Json& v, std::string& out) {
  if (v.is_string()) {
    out = v.get<std::string>();
    return ok_status();
  }
  if (v.is_object() && v.size() == 1 && v.contains("base64") && v["base64"].is_string()) {
    if (auto bytes = decode_base64(v["base64"].get_ref<const std::string&>())) {
      out = *std::move(bytes);
      return ok_status();
    }
  }
  return wanted("text or {\"base64\": ...}", v);
}

Status read_element(const Json& v, bool& out) {
  if (!v.is_boolean()) return wanted("true or false", v);
  out = v.get<bool>();
  return ok_status();
}

/// Numbers that do not fit a double (and NaN) stand in quotes.
Result<double> read_double(const Json& v) {
  if (v.is_number()) return v.get<double>();
  if (v == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (v == "Infinity") return std::numeric_limits<double>::infinity();
  if (v == "-Infinity") return -std::numeric_limits<double>::infinity();
  return wanted("a number", v);
}

template <class T>
Status read_element(const Json& v, std::complex<T>& out) {
  const bool pair = v.is_array() && v.size() == 2;
  ASSIGN_OR_RETURN(double real, read_double(pair ? v[0] : v));
  ASSIGN_OR_RETURN(double imaginary, pair ? read_double(v[1]) : Result<double>(0.0));
  out = {static_cast<T>(real), static_cast<T>(imaginary)};
  return ok_status();
}

template <class T>
Status read_integer(const Json& v, T& out) {
  if (v.is_number_integer()) {
    // As text, so that one rule says what fits.
    ASSIGN_OR_RETURN(out, parse_element<T>(v.dump()));
    return ok_status();
  }
  double number = v.is_number_float() ? v.get<double>() : 0.5;
  bool fits = number == std::trunc(number) && number >= static_cast<double>(std::numeric_limits<T>::min()) &&
              number < std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (!fits) return wanted(dtype_name(dtype_of<T>), v);
  out = static_cast<T>(number);
  return ok_status();
}

template <class T>
Status read_element(const Json& v, T& out) {
  if constexpr (std::is_integral_v<T>) {
    return read_integer(v, out);
  } else {
    ASSIGN_OR_RETURN(double number, read_double(v));
    out = number_as<T>(number);
    if (std::isfinite(number) && !std::isfinite(static_cast<float>(out)) && !std::is_same_v<T, double>)
      return wanted(dtype_name(dtype_of<T>), v);
    return ok_status();
  }
}

/// Lists within lists: the shape is that of the first element of each.
Result<Shape> nested_shape(const Json& list) {
  Shape shape;
  for (const Json* v = &list; v->is_array(); v = &v->front()) {
    if (shape.rank() == kMaxRank) return invalid_argument(cat("lists are nested more than ", kMaxRank, " deep"));
    shape.add_dim(static_cast<int64_t>(v->size()));
    if (v->empty()) break;
  }
  return shape;
}

Status check_nested(const Json& v, const Shape& shape, int axis) {
  if (axis == shape.rank()) return v.is_array() ? wanted("an element as its neighbours are", v) : ok_status();
  if (!v.is_array() || static_cast<int64_t>(v.size()) != shape.dim(axis)) {
    return wanted(cat("a list of ", shape.dim(axis), " as its neighbours are"), v);
  }
  for (const Json& member : v) RETURN_IF_ERROR(check_nested(member, shape, axis + 1));
  return ok_status();
}

template <class T>
Status fill_nested(const Json& v, T*& next) {
  if (!v.is_array()) return read_element(v, *next++);
  for (const Json& member : v) RETURN_IF_ERROR(fill_nested(member, next));
  return ok_status();
}

Status not_in_json(DType dtype) {
  return unimplemented(cat("a ", dtype_name(dtype), " tensor cannot be written in JSON"));
}

Result<Tensor> from_nested(const Json& v, DType dtype) {
  ASSIGN_OR_RETURN(Shape shape, nested_shape(v));
  RETURN_IF_ERROR(check_nested(v, shape, 0));
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(plain_type(dtype), shape));
  Status status;
  bool known = with_type(t.dtype(), [&]<class T>() {
    T* next = t.data<T>();
    status = fill_nested(v, next);
  });
  if (!known) return not_in_json(dtype);
  RETURN_IF_ERROR(status);
  return from_plain(t, dtype);
}

Result<Shape> read_shape(const Json& v) {
  if (!v.is_array() || v.size() > kMaxRank) return wanted("a shape, a list of sizes", v);
  Shape shape;
  for (const Json& size : v) {
    int64_t dim = -1;
    if (size.is_number_integer() && !(size.is_number_unsigned() && size.get<uint64_t>() > INT64_MAX))
      dim = size.get<int64_t>();
    if (dim < 0) return wanted("a size", size);
    shape.add_dim(dim);
  }
  return shape;
}

Result<Tensor> from_object(const Json& object, DType dtype) {
  for (const auto& [key, value] : object.items()) {
    if (key != "name" && key != "dtype" && key != "shape" && key != "data") {
      return invalid_argument(cat("unknown key \"", key, "\"; a tensor has dtype, shape and data"));
    }
  }
  if (object.contains("dtype")) {
    const Json& text = object["dtype"];
    auto found = text.is_string() ? parse_dtype(text.get_ref<const std::string&>()) : std::nullopt;
    if (!found) return wanted("a dtype", text);
    if (*found != dtype)
      return invalid_argument(cat("found dtype ", dtype_name(*found), ", wanted ", dtype_name(dtype)));
  }
  if (!object.contains("data")) return invalid_argument("a tensor object lacks \"data\"");
  const Json& data = object["data"];
  if (!object.contains("shape")) return from_nested(data, dtype);
  ASSIGN_OR_RETURN(Shape shape, read_shape(object["shape"]));
  auto count = shape.checked_num_elements();
  bool flat = data.is_array() && count && static_cast<uint64_t>(*count) == data.size();
  if (!flat) {
    return invalid_argument(cat("found ", data.is_array() ? data.size() : 1, " data for shape ", shape.to_string(),
                                ", wanted a flat list of ", count ? cat(*count) : "fewer than 2^63"));
  }
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(plain_type(dtype), shape));
  Status status;
  bool known = with_type(t.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < *count && status.ok(); ++i)
      status = read_element(data[static_cast<size_t>(i)], t.data<T>()[i]);
  });
  if (!known) return not_in_json(dtype);
  RETURN_IF_ERROR(status);
  return from_plain(t, dtype);
}

}  // namespace

Result<Tensor> parse_json_tensor(std::string_view json, DType dtype, std::string_view origin) {
  HostShare memory(HostUseScope::current());
  ASSIGN_OR_RETURN(const Json document, parse_json(json, origin, &memory));
  const bool text = document.is_object() && document.contains("base64");
  Result<Tensor> tensor = document.is_object() && !text ? from_object(document, dtype) : from_nested(document, dtype);
  return tensor.ok() ? std::move(tensor) : Result<Tensor>(tensor.status().with_context(origin));
}

}  // namespace emplace
