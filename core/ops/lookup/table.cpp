#include "core/ops/lookup/table.h"

#include <cstring>
#include <vector>

#include "core/base/cat.h"
#include "core/ops/kit/element.h"

namespace emplace {

Status Table::fill(const Tensor&, const Tensor&) {
  return invalid_argument(cat("Table localhost ", name, " is not initializable"));
}

Status Table::check_import(const Shape& keys, const Shape& values) const {
  RETURN_IF_ERROR(check_key_shape(form, keys));
  return check_value_shape(shape_of_values(form, keys), values);
}

Status check_key_shape(const TableForm& form, const Shape& keys) {
  const int own = form.key_shape.rank(), rank = keys.rank();
  bool fits = rank >= own;
  for (int d = 0; fits && d < own; ++d) fits = keys.dim(rank - own + d) == form.key_shape.dim(d);
  if (fits) return ok_status();
  return invalid_argument(
      cat("Input key shape ", keys.to_string(), " must end with the table's key shape ", form.key_shape.to_string()));
}

Shape shape_of_values(const TableForm& form, const Shape& keys) {
  Shape out{};
  for (int d = 0; d < keys.rank() - form.key_shape.rank(); ++d) out.add_dim(keys.dim(d));
  for (int64_t d : form.value_shape.dims()) out.add_dim(d);
  return out;
}

Status check_value_shape(const Shape& wanted, const Shape& values) {
  if (wanted == values) return ok_status();
  return invalid_argument(cat("Expected shape ", wanted.to_string(), " for value, got ", values.to_string()));
}

std::string_view element_bytes(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::kString) return t.data<std::string>()[i];
  return {static_cast<const char*>(element_at(t, i)), dtype_size(t.dtype())};
}

void set_element(Tensor& t, int64_t i, std::string_view bytes) {
  if (t.dtype() == DType::kString) {
    t.data<std::string>()[i] = bytes;
  } else {
    std::memcpy(element_at(t, i), bytes.data(), bytes.size());
  }
}

}  // namespace emplace
