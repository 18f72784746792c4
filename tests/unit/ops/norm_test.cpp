// Batch normalisation's loops against plain ones: sums in their order, every element by its channel's factors.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/ops/kit/isa.h"
#include "core/ops/kit/isa_limit.h"
#include "core/ops/nn/norm_elements.h"
#include "core/ops/nn/norm_sums.h"

using namespace emplace;

namespace {

std::vector<float> numbers(int64_t n, int seed) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = std::sin(static_cast<float>(i) * 0.37f + static_cast<float>(seed));
  return v;
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Whether vectors are multiplied and added in one: a compiler that does not optimize makes two instructions of it.
bool rounds_once() {
  const NormLayout row{1, 16};
  const std::vector<float> x(16, 1 + 0x1p-12F), less(16, 0), more(16, -(1 + 0x1p-11F));
  std::vector<float> out(16);
  Sequential sequential;
  normalise(sequential, normalise_code<float>(), row, x.data(), {less.data(), x.data(), more.data()}, out.data(),
            nullptr);
  return out[0] != 0;
}

/// A release does so wherever the processor can.
void check_vector_rounding() {
#ifdef NDEBUG
  CHECK(rounds_once() == (isa() != Isa::kBase));
#endif
}

template <class T>
T multiply_add(bool once, T a, T b, T c) {
  return once ? std::fma(a, b, c) : a * b + c;
}

/// Sums of a and of a * (b - shift), or of d = b - shift and d * d where `a` is b: blocks of rows, then these in order.
std::vector<double> plain_sums(const NormLayout& l, const std::vector<float>& a, const std::vector<float>& b,
                               const std::vector<double>& shift) {
  const bool once = rounds_once();
  const int64_t per_block = std::max<int64_t>(64, (l.outer + 63) / 64);
  std::vector<double> sums(static_cast<size_t>(2 * l.channels));
  for (int64_t k = 0; k < l.channels; ++k) {
    for (int64_t first = 0; first < l.outer; first += per_block) {
      volatile double sum = 0, product = 0;  // one after the other
      for (int64_t row = first; row < std::min(l.outer, first + per_block); ++row) {
        const auto at = static_cast<size_t>(row * l.channels + k);
        const double around = static_cast<double>(b[at]) - shift[static_cast<size_t>(k)];
        const double value = &a == &b ? around : static_cast<double>(a[at]);
        sum = sum + value;
        product = multiply_add(once, value, around, static_cast<double>(product));
      }
      sums[static_cast<size_t>(k)] += sum;
      sums[static_cast<size_t>(l.channels + k)] += product;
    }
  }
  return sums;
}

const NormLayout kLayouts[] = {{1, 1},    {3, 7},    {9, 8},     {65, 16},  {200, 24},  {130, 40},  {70, 64},  {77, 96},
                               {4500, 3}, {150, 72}, {4200, 20}, {90, 129}, {300, 256}, {20, 1030}, {65, 1000}};

}  // namespace

TEST_CASE("sums over a channel are those of its rows one after the other, in blocks") {
  for (const char* word : {"", "v3", "base"}) {
    const IsaLimit limit(named_isa(word));
    check_vector_rounding();
    for (const NormLayout& l : kLayouts) {
      INFO("isa '" << word << "', " << l.outer << " x " << l.channels);
      const std::vector<float> x = numbers(l.outer * l.channels, 1), dy = numbers(l.outer * l.channels, 2);
      std::vector<double> shift(static_cast<size_t>(l.channels)), sums(2 * shift.size());
      for (size_t k = 0; k < shift.size(); ++k) shift[k] = static_cast<double>(x[k]);
      Sequential sequential;
      const NormSumCode code = NormSumCode::of_processor();
      sum_moments(sequential, code, l, x.data(), shift.data(), sums.data(), sums.data() + l.channels);
      CHECK(same_bytes(sums, plain_sums(l, x, x, shift)));
      sum_gradients(sequential, code, l, dy.data(), x.data(), shift.data(), sums.data(), sums.data() + l.channels);
      CHECK(same_bytes(sums, plain_sums(l, dy, x, shift)));
    }
  }
}

TEST_CASE("an element is normalised by its channel's factors, wherever among its channels a run begins and ends") {
  for (const char* word : {"", "v3", "base"}) {
    const IsaLimit limit(named_isa(word));
    check_vector_rounding();
    for (const NormLayout& l : kLayouts) {
      INFO("isa '" << word << "', " << l.outer << " x " << l.channels);
      const int64_t n = l.outer * l.channels;
      const std::vector<float> x = numbers(n, 1);
      std::vector<float> factors[3], want(x.size()), all(x.size());
      const bool once = rounds_once();
      for (int i = 0; i < 3; ++i) factors[i] = numbers(l.channels, 3 + i);
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t k = i % factors[0].size();
        want[i] = multiply_add(once, x[i] - factors[0][k], factors[1][k], factors[2][k]);
      }
      Sequential sequential;
      const Tile::Function code = normalise_code<float>();
      normalise(sequential, code, l, x.data(), {factors[0].data(), factors[1].data(), factors[2].data()}, all.data(),
                nullptr);
      CHECK(same_bytes(all, want));
      std::vector<float> repeated[3];
      for (int i = 0; i < 3; ++i) {
        for (int64_t k = 0; k < n; ++k) repeated[i].push_back(factors[i][static_cast<size_t>(k % l.channels)]);
      }
      std::vector<float> runs(x.size());
      int64_t length = 1;
      for (int64_t first = 0; first < n; first += length) {
        length = std::min(n - first, (length * 7 + first) % 1500 + 1);
        const void* in[] = {x.data() + first, repeated[0].data() + first, repeated[1].data() + first,
                            repeated[2].data() + first};
        const int64_t strides[] = {1, 1, 1, 1};
        code(in, strides, runs.data() + first, length, first % 3 == 0 ? nullptr : &l.channels);
      }
      CHECK(same_bytes(runs, want));
    }
  }
}
