#include "core/tensor/difference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "core/base/cat.h"
#include "core/tensor/element.h"
#include "core/tensor/print.h"
#include "core/tensor/tiny.h"

namespace emplace {
namespace {

/// The floating-point numbers of a type in a row: neighbours are one apart, -0 comes before +0.
template <class Bits, class T>
int64_t rung(T v) {
  const auto bits = std::bit_cast<Bits>(v);
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const auto size = static_cast<int64_t>(bits & static_cast<Bits>(~kSign));
  return (bits & kSign) != 0 ? -size - 1 : size;
}
int64_t rung_of(float v) { return rung<uint32_t>(v); }
int64_t rung_of(double v) { return rung<uint64_t>(v); }
int64_t rung_of(half v) { return rung<uint16_t>(v.bits); }
int64_t rung_of(bfloat16 v) { return rung<uint16_t>(v.bits); }

double wide(double v) { return v; }
double wide(float v) { return v; }
double wide(half v) { return static_cast<float>(v); }
double wide(bfloat16 v) { return static_cast<float>(v); }

template <class T>
concept Floats = kFloating.has(dtype_of<T>);

/// One element's part in the whole.
struct Distance {
  bool equal = true, beyond = false;
  double ulp = 0, relative = 0;
  bool nan_a = false, nan_b = false;
};

template <Floats T>
Distance distance(T a, T b, const Tolerance& t) {
  Distance d;
  const double x = wide(a), y = wide(b);
  d.nan_a = std::isnan(x);
  d.nan_b = std::isnan(y);
  if (d.nan_a || d.nan_b) {
    d.equal = d.nan_a && d.nan_b;
    d.beyond = !d.equal;
    return d;
  }
  const int64_t from = rung_of(a), to = rung_of(b);
  if (from == to) return d;
  d.equal = false;
  d.ulp = std::abs(static_cast<double>(from) - static_cast<double>(to));
  const double gap = std::abs(x - y), size = std::abs(x);
  if (std::isfinite(gap) && size > 0) d.relative = gap / size;
  d.beyond = x != y && !(std::isfinite(size) && gap <= t.absolute + t.relative * size);
  return d;
}

template <class T>
Distance distance(std::complex<T> a, std::complex<T> b, const Tolerance& t) {
  const Distance re = distance(a.real(), b.real(), t), im = distance(a.imag(), b.imag(), t);
  Distance d;
  d.equal = re.equal && im.equal;
  d.ulp = std::max(re.ulp, im.ulp);
  d.nan_a = re.nan_a || im.nan_a;
  d.nan_b = re.nan_b || im.nan_b;
  if (d.nan_a || d.nan_b) {
    d.equal = d.nan_a && d.nan_b;
    d.beyond = !d.equal;
    return d;
  }
  const double gap = static_cast<double>(std::abs(a - b)), size = static_cast<double>(std::abs(a));
  if (std::isfinite(gap) && size > 0) d.relative = gap / size;
  d.beyond = a != b && !(std::isfinite(size) && gap <= t.absolute + t.relative * size);
  return d;
}

template <class T>
requires std::is_integral_v<T> Distance distance(T a, T b, const Tolerance&) {
  Distance d;
  d.equal = a == b;
  d.beyond = !d.equal;
  d.ulp = std::abs(static_cast<double>(a) - static_cast<double>(b));
  if (a != T{0}) d.relative = d.ulp / std::abs(static_cast<double>(a));
  return d;
}

Distance distance(const std::string& a, const std::string& b, const Tolerance&) {
  Distance d;
  d.equal = a == b;
  d.beyond = !d.equal;
  return d;
}

/// At most this many distances are kept for the percentile: every n-th of a larger tensor.
constexpr int64_t kMostKept = int64_t{1} << 20;

template <class T>
void walk(const Tensor& a, const Tensor& b, const Tolerance& t, TensorDifference& found) {
  const T* x = a.data<T>();
  const T* y = b.data<T>();
  const int64_t stride = found.elements / kMostKept + 1;
  std::vector<double> kept;
  double sum = 0, worst = -1;
  int64_t numbers = 0;
  for (int64_t i = 0; i < found.elements; ++i) {
    const Distance d = distance(x[i], y[i], t);
    found.nan_a += d.nan_a;
    found.nan_b += d.nan_b;
    found.unequal += !d.equal;
    found.beyond += d.beyond;
    found.max_ulp = std::max(found.max_ulp, d.ulp);
    found.max_relative = std::max(found.max_relative, d.relative);
    if (!d.nan_a && !d.nan_b) ++numbers, sum += d.ulp;
    if (i % stride == 0) kept.push_back(d.ulp);
    // What is out of tolerance counts before what is not; a NaN against a number most of all.
    constexpr double kBeyond = 1e30;
    const double weight =
        d.equal ? -1 : (d.beyond ? kBeyond : 0) + (d.nan_a != d.nan_b ? kBeyond : std::min(d.ulp, kBeyond / 2));
    if (weight > worst) worst = weight, found.worst = i;
  }
  if (numbers > 0) found.mean_ulp = sum / static_cast<double>(numbers);
  if (kept.empty()) return;
  const auto p99 = kept.begin() + static_cast<std::ptrdiff_t>((kept.size() - 1) * 99 / 100);
  std::nth_element(kept.begin(), p99, kept.end());
  found.p99_ulp = *p99;
}

std::string place_of(int64_t flat, const Shape& shape) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text.insert(0, cat(axis > 0 ? "," : "", flat % shape.dim(axis)));
    flat /= shape.dim(axis);
  }
  return cat("[", text, "]");
}

std::string type_and_shape(const Tensor& t) { return cat(dtype_name(t.dtype()), t.shape().to_string()); }

std::string element_words(const Tensor& t, int64_t i) {
  std::string text;
  with_type(t.dtype(), [&]<class T>() { text = print_tensor(Tensor::wrap(t.dtype(), Shape{}, t.data<T>() + i)); });
  return text;
}

}  // namespace

TensorDifference tensor_difference(const Tensor& a, const Tensor& b, const Tolerance& tolerance) {
  TensorDifference found;
  if (!a.valid() && !b.valid()) return found;
  if (!a.valid() || !b.valid()) {
    found.misfit = cat("there is a tensor on ", a.valid() ? "A" : "B", " only");
    return found;
  }
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) {
    found.misfit = cat(type_and_shape(a), " and ", type_and_shape(b));
    return found;
  }
  found.elements = a.num_elements();
  if (is_ref(a.dtype()) || a.dtype() == DType::kResource || a.dtype() == DType::kVariant) {
    found.known = false;
    return found;
  }
  if (a.dtype() != DType::kString && std::memcmp(a.raw(), b.raw(), a.size_bytes()) == 0) return found;
  if (plain_type(a.dtype()) != a.dtype()) {
    Result<Tensor> x = as_plain(a), y = as_plain(b);
    if (x.ok() && y.ok()) return tensor_difference(*x, *y, tolerance);
  }
  found.known = with_type(a.dtype(), [&]<class T>() { walk<T>(a, b, tolerance, found); });
  if (found.worst < 0) return found;
  found.worst_at = place_of(found.worst, a.shape());
  found.worst_a = element_words(a, found.worst);
  found.worst_b = element_words(b, found.worst);
  return found;
}

}  // namespace emplace
