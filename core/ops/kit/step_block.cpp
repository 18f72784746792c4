#include "core/ops/kit/step_block.h"

#include <algorithm>
#include <cstring>

#include "core/ops/kit/isa.h"
#include "core/ops/kit/step_vectors.h"

namespace emplace {
namespace {

using ByColumn = StepBlocks::ByColumn;
using Then = StepBlocks::Then;
using Form = StepBlocks::Form;
using Code = void (*)(const Form&, const StepTile&);

template <class V>
EMPLACE_INLINE V load(const float* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// Steps by column, each with its own factor.
template <int kBytes, ByColumn kByColumn, class V>
EMPLACE_INLINE void by_column(V& v, const std::array<bool, 3>& stays, const V& first, const V& second, const V& third) {
  using Of = StepVectors<kBytes>;
  if constexpr (kByColumn == ByColumn::kNormalise) v = (v - first) * second + third;
  if constexpr (kByColumn == ByColumn::kBias || kByColumn == ByColumn::kBiasAndScale)
    Of::template combine<ElementStep::kAdd>(v, first, stays[0]);
  if constexpr (kByColumn == ByColumn::kScale || kByColumn == ByColumn::kBiasAndScale) {
    Of::template combine<ElementStep::kMultiply>(v, second, stays[1]);
    Of::template combine<ElementStep::kAdd>(v, third, stays[2]);
  }
}

// A vector of columns from `column` of the tile on, all rows.
template <int kBytes, ByColumn kByColumn, bool kAddsOther, Then kThen>
EMPLACE_INLINE void strip(const Form& form, const StepTile& t, int64_t column) {
  using Of = StepVectors<kBytes>;
  using V = typename Of::V;
  V first{}, second{}, third{};
  if constexpr (kByColumn != ByColumn::kNothing && kByColumn != ByColumn::kScale)
    first = load<V>(form.factors[0] + t.column + column);
  if constexpr (kByColumn != ByColumn::kNothing && kByColumn != ByColumn::kBias) {
    second = load<V>(form.factors[1] + t.column + column);
    third = load<V>(form.factors[2] + t.column + column);
  }
  const std::array<bool, 3> stays = form.stays;
  const bool stays_beside_other = form.stays_beside_other;
  const int64_t step = t.row_step;
  const float *x = form.product + t.at + column, *other = kAddsOther ? form.other + t.at + column : nullptr;
  float* out = t.to + column;
#pragma GCC unroll 2
  for (int rows = t.rows; rows > 0; --rows) {
    V v = load<V>(x);
    by_column<kBytes, kByColumn>(v, stays, first, second, third);
    if constexpr (kAddsOther) Of::template combine<ElementStep::kAdd>(v, load<V>(other), stays_beside_other);
    if constexpr (kThen == Then::kRelu) Of::relu(v);
    if constexpr (kThen == Then::kRelu6) Of::relu6(v);
    std::memcpy(out, &v, sizeof v);
    x += step;
    out += t.to_step;
    if constexpr (kAddsOther) other += step;
  }
}

template <class V>
EMPLACE_INLINE V load_some(const float* from, size_t count) {
  V v{};
  if (count == sizeof(V) / sizeof(float) / 2)  // channels that fill narrower vectors
    std::memcpy(&v, from, sizeof(V) / 2);
  else
    std::memcpy(&v, from, count * sizeof(float));
  return v;
}

// What is left of the columns, fewer than a vector: rarely much, so that one loop for all forms will do.
template <int kBytes>
EMPLACE_INLINE void rest(const Form& form, const StepTile& t, int64_t column) {
  using Of = StepVectors<kBytes>;
  using V = typename Of::V;
  const auto count = static_cast<size_t>(t.cols - column);
  V factors[3] = {};
  for (size_t k = 0; k < 3; ++k) {
    if (form.factors[k]) factors[k] = load_some<V>(form.factors[k] + t.column + column, count);
  }
  for (int row = 0; row < t.rows; ++row) {
    const int64_t at = t.at + row * t.row_step + column;
    V v = load_some<V>(form.product + at, count);
    if (form.by_column == ByColumn::kNormalise) v = (v - factors[0]) * factors[1] + factors[2];
    if (form.by_column == ByColumn::kBias || form.by_column == ByColumn::kBiasAndScale)
      Of::template combine<ElementStep::kAdd>(v, factors[0], form.stays[0]);
    if (form.by_column == ByColumn::kScale || form.by_column == ByColumn::kBiasAndScale) {
      Of::template combine<ElementStep::kMultiply>(v, factors[1], form.stays[1]);
      Of::template combine<ElementStep::kAdd>(v, factors[2], form.stays[2]);
    }
    if (form.adds_other)
      Of::template combine<ElementStep::kAdd>(v, load_some<V>(form.other + at, count), form.stays_beside_other);
    if (form.then == Then::kRelu) Of::relu(v);
    if (form.then == Then::kRelu6) Of::relu6(v);
    std::memcpy(t.to + row * t.to_step + column, &v, count * sizeof(float));
  }
}
[[gnu::noinline]] EMPLACE_TARGET_V3 void rest_v3(const Form& form, const StepTile& t, int64_t column) {
  rest<32>(form, t, column);
}
[[gnu::noinline]] EMPLACE_TARGET_V4 void rest_v4(const Form& form, const StepTile& t, int64_t column) {
  rest<64>(form, t, column);
}

template <ByColumn kByColumn, bool kAddsOther, Then kThen>
EMPLACE_TARGET_V3 void block_v3(const Form& form, const StepTile& t) {
  int64_t column = 0;
  for (; column + 8 <= t.cols; column += 8) strip<32, kByColumn, kAddsOther, kThen>(form, t, column);
  for (; column + 4 <= t.cols; column += 4) strip<16, kByColumn, kAddsOther, kThen>(form, t, column);
  if (column < t.cols) rest_v3(form, t, column);
}
template <ByColumn kByColumn, bool kAddsOther, Then kThen>
EMPLACE_TARGET_V4 void block_v4(const Form& form, const StepTile& t) {
  int64_t column = 0;
  for (; column + 16 <= t.cols; column += 16) strip<64, kByColumn, kAddsOther, kThen>(form, t, column);
  for (; column + 8 <= t.cols; column += 8) strip<32, kByColumn, kAddsOther, kThen>(form, t, column);
  for (; column + 4 <= t.cols; column += 4) strip<16, kByColumn, kAddsOther, kThen>(form, t, column);
  if (column < t.cols) rest_v4(form, t, column);
}

template <ByColumn kByColumn, bool kAddsOther, Then kThen>
Code code() {
  return for_isa<Code>(nullptr, block_v3<kByColumn, kAddsOther, kThen>, block_v4<kByColumn, kAddsOther, kThen>);
}
template <ByColumn kByColumn, bool kAddsOther>
Code code(Then then) {
  if (then == Then::kRelu) return code<kByColumn, kAddsOther, Then::kRelu>();
  if (then == Then::kRelu6) return code<kByColumn, kAddsOther, Then::kRelu6>();
  return code<kByColumn, kAddsOther, Then::kNothing>();
}
template <ByColumn kByColumn>
Code code(bool adds_other, Then then) {
  return adds_other ? code<kByColumn, true>(then) : code<kByColumn, false>(then);
}
Code code(const Form& form) {
  if (form.by_column == ByColumn::kBias) return code<ByColumn::kBias>(form.adds_other, form.then);
  if (form.by_column == ByColumn::kNormalise) return code<ByColumn::kNormalise>(form.adds_other, form.then);
  if (form.by_column == ByColumn::kScale) return code<ByColumn::kScale>(form.adds_other, form.then);
  if (form.by_column == ByColumn::kBiasAndScale) return code<ByColumn::kBiasAndScale>(form.adds_other, form.then);
  return code<ByColumn::kNothing>(form.adds_other, form.then);
}

// What a function is called for at once: it stays in the first level of cache, and is enough for the function's loop to
// be at full speed.
constexpr int64_t kNumbersAtOnce = 1024;

// Row behind row of x[i, j] * y[i, j], or with `y_step` 0 * y[j].
struct RowProduct {
  const float *x, *y;
  float* out;
  int64_t x_step, y_step, out_step;
};
template <int kBytes>
EMPLACE_INLINE void multiply_rows(const RowProduct& r, int rows, int64_t cols, bool stays) {
  using Of = StepVectors<kBytes>;
  using V = typename Of::V;
  constexpr int64_t kLanes = kBytes / sizeof(float);
  const float *x = r.x, *y = r.y;
  float* out = r.out;
  for (int row = 0; row < rows; ++row, x += r.x_step, y += r.y_step, out += r.out_step) {
    int64_t j = 0;
    for (; j + kLanes <= cols; j += kLanes) {
      V v = load<V>(x + j);
      Of::template combine<ElementStep::kMultiply>(v, load<V>(y + j), stays);
      std::memcpy(out + j, &v, sizeof v);
    }
    if (j == cols) continue;
    const auto count = static_cast<size_t>(cols - j);
    V v = load_some<V>(x + j, count);
    Of::template combine<ElementStep::kMultiply>(v, load_some<V>(y + j, count), stays);
    std::memcpy(out + j, &v, count * sizeof(float));
  }
}
EMPLACE_TARGET_V4 void multiply_rows_v4(const RowProduct& r, int rows, int64_t cols, bool stays) {
  multiply_rows<64>(r, rows, cols, stays);
}

/// Reads a chain step by step, as long as it has the usual form.
class Reader {
 public:
  Reader(const ProductSteps& steps, Form& form) : steps_(steps), form_(form) {}

  bool read() {
    const ProductSteps::Input& first = steps_.inputs[0];
    if (!first.by_element) return false;
    form_.product = first.at;
    form_.out = steps_.out;
    if (next_is(ElementStep::kNormalise)) {
      form_.by_column = ByColumn::kNormalise;
      for (const float*& factor : form_.factors) {
        if (input().by_element) return false;
        factor = take().at;
      }
      ++step_;
    } else {
      const bool has_bias = take_factor(ElementStep::kAdd, 0), has_scale = take_factor(ElementStep::kMultiply, 1);
      if (has_scale && !take_factor(ElementStep::kAdd, 2)) return false;
      form_.by_column = has_scale  ? has_bias ? ByColumn::kBiasAndScale : ByColumn::kScale
                        : has_bias ? ByColumn::kBias
                                   : ByColumn::kNothing;
    }
    if (next_is(ElementStep::kAdd) && input().by_element) {
      form_.adds_other = true;
      form_.stays_beside_other = swapped();
      form_.other = take().at;
      ++step_;
    }
    if (next_is(ElementStep::kRelu) || next_is(ElementStep::kRelu6)) {
      form_.then = next_is(ElementStep::kRelu) ? Then::kRelu : Then::kRelu6;
      ++step_;
    } else if (step_ < count()) {
      return read_function() && step_ == count();
    }
    return step_ > 0 && step_ == count();
  }

 private:
  size_t count() const { return static_cast<size_t>(steps_.chain->count); }
  bool read_function() {
    const StepChain& c = *steps_.chain;
    const size_t first = step_;
    const bool keeps = c.details[first].keeps;
    const auto goes_on = [&] { return step_ < count() && (step_ == first || !c.details[step_].keeps); };
    if (c.steps[step_].step == ElementStep::kMultiply && !c.details[step_].takes_kept && !input().by_element) {
      form_.stays_beside_slope = swapped();
      const ProductSteps::Input& slope = take();
      if (!slope.is_one) form_.slope = slope.at;
      ++step_;
    }
    if (!goes_on() || c.steps[step_].step != ElementStep::kNone) return false;
    form_.function = c.details[step_].function;
    form_.params = c.details[step_].params;
    ++step_;
    if (!keeps) return true;
    if (!goes_on() || c.steps[step_].step != ElementStep::kMultiply || !c.details[step_].takes_kept) return false;
    form_.times_number = true;
    form_.stays_beside_number = swapped();
    ++step_;
    return true;
  }
  bool next_is(ElementStep step) const {
    const StepChain& c = *steps_.chain;
    return step_ < static_cast<size_t>(c.count) && c.steps[step_].step == step && !c.details[step_].keeps &&
           !c.details[step_].takes_kept;
  }
  bool take_factor(ElementStep step, size_t number) {
    if (!next_is(step) || input().by_element) return false;
    form_.stays[number] = swapped();
    form_.factors[number] = take().at;
    ++step_;
    return true;
  }
  bool swapped() const { return steps_.chain->steps[step_].swapped; }
  const ProductSteps::Input& input() const { return steps_.inputs[input_]; }
  const ProductSteps::Input& take() { return steps_.inputs[input_++]; }

  const ProductSteps& steps_;
  Form& form_;
  size_t step_ = 0, input_ = 1;
};

}  // namespace

StepBlocks::StepBlocks(const ProductSteps& steps) {
  if (!Reader(steps, form_).read()) return;
  // Narrower vectors make smaller tiles, whose numbers are too few for a function's loop.
  if (form_.function && isa() != Isa::kV4) return;
  code_ = code(form_);
}

void StepBlocks::run_with_function(const StepTile& tile) const {
  alignas(64) float numbers[kNumbersAtOnce], results[kNumbersAtOnce];
  const int64_t at_once = std::max<int64_t>(kNumbersAtOnce / tile.rows / 16 * 16, 1), stride = 1;
  for (int64_t j = 0; j < tile.cols; j += at_once) {
    const int64_t cols = std::min(at_once, tile.cols - j);
    code_(form_, {tile.at + j, tile.row_step, tile.column + j, tile.rows, cols, numbers, cols});
    const void* from = numbers;
    if (form_.slope) {
      const float* slope = form_.slope + tile.column + j;
      multiply_rows_v4({numbers, slope, results, cols, 0, cols}, tile.rows, cols, form_.stays_beside_slope);
      from = results;
    }
    float* out = tile.to + j;
    form_.function(&from, &stride, results, tile.rows * cols, form_.params);
    if (form_.times_number)
      multiply_rows_v4({results, numbers, out, cols, cols, tile.to_step}, tile.rows, cols, form_.stays_beside_number);
    else
      for (int row = 0; row < tile.rows; ++row) std::copy_n(results + row * cols, cols, out + row * tile.to_step);
  }
}

}  // namespace emplace
