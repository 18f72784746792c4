#include "core/tensor/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "core/base/cat.h"
#include "core/tensor/element.h"
#include "core/tensor/print.h"
#include "core/tensor/tiny.h"

namespace emplace {
namespace {

struct Differences {
  int64_t count = 0, first = -1;
  double largest_absolute = 0, largest_relative = 0;  // of the finite ones

  void add(int64_t at) {
    if (count++ == 0) first = at;
  }
};

bool nan(double v) { return std::isnan(v); }
bool nan(std::complex<double> v) { return std::isnan(v.real()) || std::isnan(v.imag()); }

template <class T>
auto widened(T v) {
  if constexpr (kComplexes.has(dtype_of<T>))
    return std::complex<double>(v);
  else if constexpr (kHalves.has(dtype_of<T>))
    return static_cast<double>(static_cast<float>(v));
  else
    return static_cast<double>(v);
}

template <class T>
Differences close(const Tensor& found, const Tensor& expected, double rtol, double atol) {
  Differences d;
  for (int64_t i = 0; i < found.num_elements(); ++i) {
    auto f = widened(found.data<T>()[i]), e = widened(expected.data<T>()[i]);
    if (f == e || (nan(f) && nan(e))) continue;
    double difference = std::abs(f - e), size = std::abs(e);
    // The tolerance of an infinite reference would be infinite.
    bool within = std::isfinite(size) && difference <= atol + rtol * size;
    if (!within) d.add(i);
    if (!std::isfinite(difference)) continue;
    d.largest_absolute = std::max(d.largest_absolute, difference);
    if (size > 0) d.largest_relative = std::max(d.largest_relative, difference / size);
  }
  return d;
}

template <class T>
Differences exact(const Tensor& found, const Tensor& expected) {
  Differences d;
  for (int64_t i = 0; i < found.num_elements(); ++i) {
    if (found.data<T>()[i] != expected.data<T>()[i]) d.add(i);
  }
  return d;
}

std::string index_text(int64_t flat, const Shape& shape) {
  std::string out;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    out.insert(0, cat(axis > 0 ? "," : "", flat % shape.dim(axis)));
    flat /= shape.dim(axis);
  }
  return cat("[", out, "]");
}

std::string element_text(const Tensor& t, int64_t i) {
  std::string out;
  with_type(t.dtype(), [&]<class T>() { out = print_tensor(Tensor::wrap(t.dtype(), Shape{}, t.data<T>() + i)); });
  return out;
}

}  // namespace

Status compare(const Tensor& found, const Tensor& expected, double rtol, double atol) {
  if (found.dtype() != expected.dtype()) {
    return failed_precondition(
        cat("found dtype ", dtype_name(found.dtype()), ", expected ", dtype_name(expected.dtype())));
  }
  if (!(found.shape() == expected.shape())) {
    return failed_precondition(
        cat("found shape ", found.shape().to_string(), ", expected ", expected.shape().to_string()));
  }
  if (plain_type(found.dtype()) != found.dtype()) {
    ASSIGN_OR_RETURN(const Tensor a, as_plain(found));
    ASSIGN_OR_RETURN(const Tensor b, as_plain(expected));
    return compare(a, b, rtol, atol);
  }
  Differences d;
  bool tolerant = false;
  bool known = with_type(found.dtype(), [&]<class T>() {
    tolerant = (kFloating | kComplexes).has(dtype_of<T>);
    if constexpr ((kFloating | kComplexes).has(dtype_of<T>))
      d = close<T>(found, expected, rtol, atol);
    else
      d = exact<T>(found, expected);
  });
  if (!known) return unimplemented(cat("tensors of type ", dtype_name(found.dtype()), " cannot be compared"));
  if (d.count == 0) return ok_status();
  std::string message =
      cat(d.count, " of ", found.num_elements(), " elements differ, first at ", index_text(d.first, found.shape()),
          ": found ", element_text(found, d.first), ", expected ", element_text(expected, d.first));
  if (tolerant) {
    append(message, "; largest difference ", d.largest_absolute, ", relative ", d.largest_relative, " (rtol ", rtol,
           ", atol ", atol, ")");
  }
  return failed_precondition(std::move(message));
}

}  // namespace emplace
