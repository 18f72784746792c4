#include "core/ops/kit/index_text.h"

#include "core/base/cat.h"

namespace emplace {

std::string place_text(const Shape& shape, int rank, int64_t flat) {
  std::string text;
  for (int d = rank; d-- > 0;) {
    text = cat(flat % shape.dim(d), text.empty() ? "" : ",", text);
    flat /= shape.dim(d);
  }
  return text.empty() ? text : "[" + text + "]";
}

std::string index_text(const Tensor& indices, int64_t begin, int64_t n, std::string_view separator) {
  std::string text;
  for (int64_t i = 0; i < n; ++i) append(text, i ? separator : std::string_view(), index_at(indices, begin + i));
  return text;
}

int64_t index_at(const Tensor& indices, int64_t i) {
  if (indices.dtype() == DType::kInt16) return indices.data<int16_t>()[i];
  return int_at(indices, i);
}

}  // namespace emplace
