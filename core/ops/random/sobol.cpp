// SobolSample: points of a Sobol sequence.
#include <bit>
#include <vector>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

/// How many primitive polynomials there are of a degree: φ(2^degree - 1) / degree.
int primitive_polynomials(int degree) {
  const int order = (1 << degree) - 1;
  int phi = order, rest = order;
  for (int q = 2; q <= rest; ++q) {
    if (rest % q != 0) continue;
    phi -= phi / q;
    while (rest % q == 0) rest /= q;
  }
  return phi / degree;
}

/// kPolynomialGaps: of each dimension but the first its primitive polynomial over GF(2), without its first and last
/// term: how far behind the one before. kFirstNumbers: as many numbers as its degree, of 1, 2, 3 ... digits, without
/// the last digit, which is 1: the rest, the lowest first, 6 in a character of base 64.
#include "core/ops/random/sobol_tables.inc"

constexpr int64_t kMostDimensions = static_cast<int64_t>(std::size(kPolynomialGaps)) + 1;
constexpr int64_t kMostPoints = 0x7fffffff;

/// The digits of kFirstNumbers, one after the other.
class FirstDigits {
 public:
  uint32_t next() {
    const char c = kFirstNumbers[at_ / 6];
    const int value = c >= 'a' ? c - 'a' + 26 : c >= 'A' ? c - 'A' : c >= '0' ? c - '0' + 52 : c == '+' ? 62 : 63;
    return static_cast<uint32_t>(value >> (at_++ % 6) & 1);
  }

 private:
  size_t at_ = 0;
};

/// The direction numbers of the first dimensions: by dimension, `digits` of as many digits.
std::vector<uint32_t> direction_numbers(int64_t dimensions, int digits) {
  std::vector<uint32_t> all;
  all.reserve(static_cast<size_t>(dimensions) * static_cast<size_t>(digits));
  FirstDigits first;
  uint32_t numbers[32] = {};
  uint32_t polynomial = 1, inner = 0;
  int degree = 0, left = 1;  // polynomials of that degree
  for (int64_t j = 0; j < dimensions; ++j) {
    if (j > 0 && --left == 0) {
      ++degree;
      left = primitive_polynomials(degree);
      inner = 0;
    }
    if (j > 0) {
      inner += kPolynomialGaps[j - 1];
      polynomial = 1u << degree | inner << 1 | 1u;
    }
    for (int k = 0; k < degree; ++k) {
      numbers[k] = 1;
      for (int i = 1; i <= k; ++i) numbers[k] |= first.next() << i;
    }
    for (int k = degree; k < digits; ++k) {
      numbers[k] = j == 0 ? 1 : numbers[k - degree];
      for (int i = 1; i <= degree; ++i) numbers[k] ^= (polynomial >> (degree - i) & 1) != 0 ? numbers[k - i] << i : 0;
    }
    for (int k = 0; k < digits; ++k) all.push_back(numbers[k] << (digits - k - 1));
  }
  return all;
}

Status sobol_shape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.with_rank(i, 0).take_status());
  ASSIGN_OR_RETURN(const std::optional<int64_t> dimensions, scalar_value(c, 0));
  ASSIGN_OR_RETURN(const std::optional<int64_t> points, scalar_value(c, 1));
  const auto size = [](const std::optional<int64_t>& n) { return n && *n >= 0 ? *n : -1; };
  c.set_output(0, Shape{size(points), size(dimensions)});
  return ok_status();
}

template <class T>
void put_points(KernelContext& c, int64_t skip, int digits, const std::vector<uint32_t>& directions) {
  const int64_t points = c.output(0).shape().dim(0), dimensions = c.output(0).shape().dim(1);
  // With 31 digits TensorFlow divides by a power of two that has become negative.
  const T unit = digits == 31 ? T(-0x1p-31) : static_cast<T>(1.0 / static_cast<double>(1 << digits));
  c.parallel_for(points, static_cast<double>(dimensions), [&](int64_t begin, int64_t end) {
    std::vector<uint32_t> point(static_cast<size_t>(dimensions), 0);
    const auto flip = [&](int digit) {
      for (size_t j = 0; j < point.size(); ++j)
        point[j] ^= directions[j * static_cast<size_t>(digits) + static_cast<size_t>(digit)];
    };
    for (int64_t i = begin; i < end; ++i) {
      const auto number = static_cast<uint32_t>(skip + i + 1);
      if (i == begin) {
        const uint32_t gray = number ^ number >> 1;
        for (int k = 0; k < digits; ++k) {
          if ((gray >> k & 1) != 0) flip(k);
        }
      } else {
        flip(std::countr_zero(number));
      }
      T* const out = c.out<T>(0) + i * dimensions;
      for (size_t j = 0; j < point.size(); ++j) out[j] = static_cast<T>(static_cast<int32_t>(point[j])) * unit;
    }
  });
}

Status sobol_cpu(KernelContext& c) {
  for (int i = 0; i < 3; ++i) {
    if (c.input(i).shape().rank() != 0)
      return invalid_argument(
          cat("dim, num_results and skip must be scalars, got shape ", c.input(i).shape().to_string()));
  }
  const int64_t dimensions = int_at(c.input(0), 0), points = int_at(c.input(1), 0), skip = int_at(c.input(2), 0);
  if (dimensions < 1 || dimensions > kMostDimensions)
    return invalid_argument(cat("dim must be at least one and at most ", kMostDimensions, ", got ", dimensions));
  if (points < 1) return invalid_argument(cat("num_results must be at least one, got ", points));
  if (skip < 0) return invalid_argument(cat("skip must be non-negative, got ", skip));
  if (points >= kMostPoints - skip)
    return invalid_argument(cat("num_results+skip must be less than ", kMostPoints, ", got ", points + skip));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{points, dimensions}));
  const int digits = std::bit_width(static_cast<uint32_t>(skip + points + 1));
  const std::vector<uint32_t> directions = direction_numbers(dimensions, digits);
  if (c.output(0).dtype() == DType::kDouble) {
    put_points<double>(c, skip, digits, directions);
  } else {
    put_points<float>(c, skip, digits, directions);
  }
  return ok_status();
}

}  // namespace

OpDef sobol_sample_op() {
  return OpDef("SobolSample")
      .doc("Points of a Sobol sequence, a row each, from the one behind `skip` on.")
      .shape(sobol_shape)
      .kernel_attr("dtype")
      .cpu(DTypeSet{DType::kFloat, DType::kDouble}, stateless<sobol_cpu>)
      .value_inputs({0, 1});
}

}  // namespace emplace
