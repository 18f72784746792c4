// RaggedRange: a row of numbers for each start, limit and step.
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

constexpr std::string_view kRangeArgs[] = {"starts", "limits", "deltas"};

Status ragged_range_shape(ShapeContext& c) {
  int64_t rows = 1;  // unless one of them is a vector
  for (int i = 0; i < 3; ++i) {
    const Shape& in = c.input(i);
    if (!in.rank_known()) {
      rows = -1;
    } else if (in.rank() > 1) {
      return invalid_argument(cat("Shape must be at most rank 1 but is rank ", in.rank()));
    } else if (in.rank() == 1 && in.dim(0) >= 0) {
      rows = in.dim(0);
    } else if (in.rank() == 1 && rows == 1) {
      rows = -1;
    }
  }
  c.set_output(0, Shape{rows < 0 ? -1 : rows + 1});
  c.set_output(1, Shape{-1});
  return ok_status();
}

/// How many numbers there are; negative: more than can be counted.
template <class T>
int64_t range_length(T start, T limit, T delta) {
  if ((delta > 0 && limit < start) || (delta < 0 && limit > start)) return 0;
  if constexpr (std::is_integral_v<T>) {
    const auto wide = [](T v) { return static_cast<uint64_t>(static_cast<int64_t>(v)); };
    const uint64_t span = limit > start ? wide(limit) - wide(start) : wide(start) - wide(limit);
    const uint64_t step = delta > 0 ? wide(delta) : uint64_t{0} - wide(delta);
    const uint64_t length = span / step + (span % step != 0);
    return length > uint64_t{INT64_MAX} ? -1 : static_cast<int64_t>(length);
  } else {
    const auto length = static_cast<double>(std::ceil(std::abs((limit - start) / delta)));
    return length < 9.2e18 ? static_cast<int64_t>(length) : -1;
  }
}

template <class T>
struct RangeRows {
  const KernelContext& c;
  int64_t rows = 1;

  T at(int input, int64_t row) const { return c.in<T>(input)[c.input(input).shape().rank() == 0 ? 0 : row]; }
  Status count_rows() {
    bool vector = false;
    for (int i = 0; i < 3; ++i) {
      const Shape& in = c.input(i).shape();
      if (in.rank() > 1) return invalid_argument(cat(kRangeArgs[i], " must be a scalar or vector"));
      if (in.rank() == 0) continue;
      if (vector && in.dim(0) != rows) return invalid_argument("starts, limits, and deltas must have the same shape");
      vector = true;
      rows = in.dim(0);
    }
    return ok_status();
  }
};

template <class T, class Split>
Status make_rows(KernelContext& c) {
  RangeRows<T> in{c};
  RETURN_IF_ERROR(in.count_rows());
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{in.rows + 1}));
  Split* splits = c.out<Split>(0);
  splits[0] = 0;
  for (int64_t row = 0; row < in.rows; ++row) {
    if (in.at(2, row) == T(0)) return invalid_argument("Requires delta != 0");
    const int64_t length = range_length(in.at(0, row), in.at(1, row), in.at(2, row));
    int64_t end = 0;
    if (length < 0 || __builtin_add_overflow(int64_t{splits[row]}, length, &end) ||
        end > int64_t{std::numeric_limits<Split>::max()})
      return invalid_argument(cat("Requires ((limit - start) / delta) <= ", std::numeric_limits<Split>::max()));
    splits[row + 1] = static_cast<Split>(end);
  }
  RETURN_IF_ERROR(ensure_output(c, 1, Shape{splits[in.rows]}));
  T* out = c.out<T>(1);
  for (int64_t row = 0; row < in.rows; ++row) {
    T value = in.at(0, row);
    for (Split i = splits[row]; i < splits[row + 1]; ++i) {
      *out++ = value;
      // What is behind the last number need not fit.
      if (i + 1 < splits[row + 1]) value = static_cast<T>(value + in.at(2, row));
    }
  }
  return ok_status();
}

template <class T>
Status ragged_range_cpu(KernelContext& c) {
  return c.output(0).dtype() == DType::kInt32 ? make_rows<T, int32_t>(c) : make_rows<T, int64_t>(c);
}

}  // namespace

OpDef ragged_range_op() {
  return OpDef("RaggedRange")
      .doc("Rows of numbers: row i begins with starts[i] and ends before limits[i]; their splits and values.")
      .shape(ragged_range_shape)
      .cpu<int32_t>(stateless<ragged_range_cpu<int32_t>>)
      .cpu<int64_t>(stateless<ragged_range_cpu<int64_t>>)
      .cpu<float>(stateless<ragged_range_cpu<float>>)
      .cpu<double>(stateless<ragged_range_cpu<double>>)
      .not_differentiable();
}

}  // namespace emplace
