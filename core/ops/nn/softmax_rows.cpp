#include "core/ops/nn/softmax_rows.h"

#include "core/ops/kit/isa.h"
#include "core/ops/kit/vector_math.h"

namespace emplace {
namespace {

/// As many running results as fill the widest register four times, so that the order of additions is the same in
/// every clone.
constexpr int64_t kLanes = 64;

template <class T, class F>
EMPLACE_INLINE T fold_lanes(T (&lanes)[kLanes], const F& combine) {
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t i = 0; i < width; ++i) lanes[i] = combine(lanes[i], lanes[i + width]);
  }
  return lanes[0];
}

template <class T>
EMPLACE_INLINE T row_max(const T* x, int64_t n) {
  auto larger = [](T a, T b) __attribute__((always_inline)) { return maximum(a, b); };
  T top = x[0];
  int64_t i = 0;
  if (n >= kLanes) {
    T lanes[kLanes];
    for (int64_t j = 0; j < kLanes; ++j) lanes[j] = x[j];
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) lanes[j] = maximum(lanes[j], x[i + j]);
    }
    top = fold_lanes(lanes, larger);
  }
  for (; i < n; ++i) top = maximum(top, x[i]);
  return top;
}

template <class T>
EMPLACE_INLINE T row_sum(const T* x, int64_t n) {
  auto plus = [](T a, T b) __attribute__((always_inline)) { return a + b; };
  T sum = 0;
  int64_t i = 0;
  if (n >= kLanes) {
    T lanes[kLanes] = {};
    for (; i + kLanes <= n; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) lanes[j] += x[i + j];
    }
    sum = fold_lanes(lanes, plus);
  }
  for (; i < n; ++i) sum += x[i];
  return sum;
}

template <class T>
EMPLACE_INLINE T exp_row_body(const T* x, T* y, int64_t n, T* max) {
  const T top = row_max(x, n);
  *max = top;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = exp_of(x[i] - top);
  return row_sum(y, n);
}

float float_base(const float* x, float* y, int64_t n, float* max) { return exp_row_body(x, y, n, max); }
EMPLACE_TARGET_V3 float float_v3(const float* x, float* y, int64_t n, float* max) { return exp_row_body(x, y, n, max); }
EMPLACE_TARGET_V4 float float_v4(const float* x, float* y, int64_t n, float* max) { return exp_row_body(x, y, n, max); }
double double_base(const double* x, double* y, int64_t n, double* max) { return exp_row_body(x, y, n, max); }

}  // namespace

ExpRowFloat exp_row_float() { return for_isa<ExpRowFloat>(float_base, float_v3, float_v4); }
ExpRowDouble exp_row_double() { return double_base; }

}  // namespace emplace
