#include "core/train/sample_array.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/cat.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

template <class T>
double as_double(T v) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
    return static_cast<double>(static_cast<float>(v));
  else
    return static_cast<double>(v);
}

template <class T>
constexpr bool is_real = !std::is_same_v<T, std::string> && !std::is_same_v<T, std::complex<float>> &&
                         !std::is_same_v<T, std::complex<double>>;

template <class To>
bool holds(double v) {
  if constexpr (std::is_integral_v<To>) {
    return v >= static_cast<double>(std::numeric_limits<To>::min()) &&
           v < static_cast<double>(std::numeric_limits<To>::max()) + 1.0;
  } else {
    return true;
  }
}

/// n elements; false at the first that `To` does not hold.
template <class From, class To>
bool convert(const From* from, int64_t n, double scale, double offset, To* to) {
  if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    if (scale == 1 && offset == 0) {
      for (int64_t i = 0; i < n; ++i) {
        if (!std::in_range<std::conditional_t<std::is_same_v<To, bool>, uint8_t, To>>(
                static_cast<std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>>(from[i])))
          return false;
        to[i] = static_cast<To>(from[i]);
      }
      return true;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    double v = as_double(from[i]) * scale + offset;
    if (!holds<To>(v)) return false;
    if constexpr (std::is_integral_v<To>)
      to[i] = static_cast<To>(v);
    else
      to[i] = number_as<To>(v);
  }
  return true;
}

}  // namespace

int64_t SampleArray::elements() const {
  if (!columns.empty()) return static_cast<int64_t>(columns.size());
  int64_t n = 1;
  for (int i = 1; i < values.shape().rank(); ++i) n *= values.shape().dim(i);
  return n;
}

Status SampleArray::gather(std::span<const int64_t> wanted, Tensor& out) const {
  const int64_t n = elements();
  const int64_t stride = rows() > 0 ? values.num_elements() / rows() : 0;
  bool fits = true;
  if (values.dtype() == DType::kString) {
    std::string* to = out.data<std::string>();
    for (int64_t row : wanted) {
      for (int64_t i = 0; i < n; ++i)
        *to++ = values.data<std::string>()[row * stride + (columns.empty() ? i : columns[static_cast<size_t>(i)])];
    }
    return ok_status();
  }
  if (values.dtype() == out.dtype() && scale == 1 && offset == 0 && columns.empty()) {
    const size_t bytes = static_cast<size_t>(n) * dtype_size(out.dtype());
    auto* to = out.data<std::byte>();
    for (int64_t row : wanted) {
      if (bytes > 0) std::memcpy(to, values.data<std::byte>() + static_cast<size_t>(row) * bytes, bytes);
      to += bytes;
    }
    return ok_status();
  }
  with_type(values.dtype(), [&]<class From>() {
    with_type(out.dtype(), [&]<class To>() {
      if constexpr (is_real<From> && is_real<To>) {
        const From* from = values.data<From>();
        To* to = out.data<To>();
        for (int64_t row : wanted) {
          const From* sample = from + row * stride;
          if (columns.empty()) {
            fits = fits && convert(sample, n, scale, offset, to);
          } else {
            for (int64_t i = 0; i < n; ++i)
              fits = fits && convert(sample + columns[static_cast<size_t>(i)], 1, scale, offset, to + i);
          }
          to += n;
        }
      }
    });
  });
  return fits ? ok_status() : out_of_range(cat("a number that ", dtype_name(out.dtype()), " does not hold"));
}

bool can_feed(DType from, DType to, bool scaled) {
  if (from == DType::kString || to == DType::kString) return from == to && !scaled;
  if (is_complex(from) || is_complex(to) || is_quantized(from) || is_quantized(to)) return false;
  bool whole = (is_integer(from) || from == DType::kBool) && !scaled;
  return whole || is_floating(to);
}

}  // namespace emplace
