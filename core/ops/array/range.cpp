// Range and LinSpace: sequences of numbers.
#include <cmath>
#include <cstdio>
#include <limits>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status scalars(const ShapeContext& c, std::span<const std::string_view> names) {
  for (size_t i = 0; i < names.size(); ++i) {
    auto scalar = c.with_rank(static_cast<int>(i), 0);
    if (!scalar.ok()) return invalid_argument(cat(scalar.status().message(), "\n\t for '", names[i], "'"));
  }
  return ok_status();
}

// Calls f with the C++ type of Range's elements. Halves round after every operation, also where numbers are counted.
template <class F>
auto with_number(DType t, const F& f) {
  switch (t) {
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kDouble:
      return f(double{});
    case DType::kHalf:
      return f(half{});
    case DType::kBFloat16:
      return f(bfloat16{});
    default:
      return f(float{});
  }
}

template <class T>
using Widest = std::conditional_t<std::is_same_v<T, double>, double, float>;

// As TensorFlow prints numbers in messages.
template <class T>
std::string text(T v) {
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(v);
  } else {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", static_cast<double>(static_cast<Widest<T>>(v)));
    return digits;
  }
}

template <class T>
Result<int64_t> count(T start, T limit, T delta) {
  T zero = T(0);
  if (start > limit && delta > zero) {
    return invalid_argument(cat("Requires start <= limit when delta > 0: ", text(start), "/", text(limit)));
  }
  if (start < limit && delta < zero) {
    return invalid_argument(cat("Requires start >= limit when delta < 0: ", text(start), "/", text(limit)));
  }
  if (delta == zero) return invalid_argument("Requires delta != 0");
  if constexpr (std::is_integral_v<T>) {
    auto wide = [](T v) { return static_cast<uint64_t>(static_cast<int64_t>(v)); };
    uint64_t span = limit > start ? wide(limit) - wide(start) : wide(start) - wide(limit);
    uint64_t step = delta > zero ? wide(delta) : uint64_t{0} - wide(delta);
    uint64_t n = span / step + (span % step != 0 ? 1 : 0);
    if (n <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return static_cast<int64_t>(n);
  } else {
    auto n = static_cast<double>(std::ceil(std::abs(static_cast<Widest<T>>((limit - start) / delta))));
    if (n < 9.2e18) return static_cast<int64_t>(n);
  }
  return invalid_argument("Requires ((limit - start) / delta) <= 9223372036854775807");
}

template <class T>
Result<int64_t> count_of(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  return count<T>(*start.data<T>(), *limit.data<T>(), *delta.data<T>());
}

Status range_shape(ShapeContext& c) {
  constexpr std::string_view kNames[] = {"start", "limit", "delta"};
  RETURN_IF_ERROR(scalars(c, kNames));
  const Tensor *start = c.input_value(0), *limit = c.input_value(1), *delta = c.input_value(2);
  int64_t size = -1;
  if (start && limit && delta) {
    auto n = with_number(start->dtype(), [&]<class T>(T) { return count_of<T>(*start, *limit, *delta); });
    ASSIGN_OR_RETURN(size, n);
  }
  c.set_output(0, Shape{size});
  return ok_status();
}

template <class T>
Status range_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(int64_t n, count_of<T>(c.input(0), c.input(1), c.input(2)));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{n}));
  T start = *c.in<T>(0), delta = *c.in<T>(2);
  T* out = c.out<T>(0);
  c.parallel_for(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (std::is_integral_v<T>) {
        out[i] = static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
      } else {
        out[i] = start + T(static_cast<Widest<T>>(i)) * delta;
      }
    }
  });
  return ok_status();
}

Status any_range_cpu(KernelContext& c) {
  for (int i = 0; i < 3; ++i) {
    if (c.input(i).num_elements() != 1) {
      return invalid_argument("start, limit and delta must be scalars, not shape " + c.input(i).shape().to_string());
    }
  }
  return with_number(c.input(0).dtype(), [&]<class T>(T) { return range_cpu<T>(c); });
}

Status lin_space_shape(ShapeContext& c) {
  constexpr std::string_view kNames[] = {"start", "stop", "num"};
  RETURN_IF_ERROR(scalars(c, kNames));
  ASSIGN_OR_RETURN(auto num, scalar_value(c, 2));
  if (num && *num <= 0) return invalid_argument(cat("Requires num > 0: ", *num));
  c.set_output(0, Shape{num.value_or(-1)});
  return ok_status();
}

template <class T>
Status lin_space_cpu(KernelContext& c) {
  constexpr std::string_view kNames[] = {"start", "stop", "num"};
  for (int i = 0; i < 3; ++i) {
    if (c.input(i).num_elements() == 1) continue;
    return invalid_argument(cat(kNames[i], " must be a scalar, not shape ", c.input(i).shape().to_string()));
  }
  int64_t num = int_at(c.input(2), 0);
  if (num <= 0) return invalid_argument(cat("Requires num > 0: ", num));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{num}));
  T start = *c.in<T>(0), stop = *c.in<T>(1);
  T* out = c.out<T>(0);
  out[0] = start;
  if (num == 1) return ok_status();
  T step = (stop - start) / static_cast<T>(num - 1);
  for (int64_t i = 1; i < num - 1; ++i) out[i] = start + step * static_cast<T>(i);
  out[num - 1] = stop;  // exactly, whatever the steps add up to
  return ok_status();
}

}  // namespace

OpDef range_op() {
  return OpDef("Range")
      .doc("start, start + delta, ... up to, not including, limit.")
      .shape(range_shape)
      .kernel_attr("Tidx")
      .cpu(kFloating | DTypeSet{DType::kInt32, DType::kInt64}, stateless<any_range_cpu>)
      .value_inputs({0, 1, 2})
      .not_differentiable();
}
OpDef lin_space_op() {
  return OpDef("LinSpace")
      .doc("num evenly spaced numbers from start to stop.")
      .shape(lin_space_shape)
      .cpu<float>(stateless<lin_space_cpu<float>>)
      .cpu<double>(stateless<lin_space_cpu<double>>)
      .value_inputs({2})
      .not_differentiable();
}

}  // namespace emplace
