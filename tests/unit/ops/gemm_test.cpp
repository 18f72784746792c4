// Gemm against sums in double, over sizes around tile and block edges.
#include <catch2/catch.hpp>

#include <cmath>
#include <memory>
#include <vector>

#include "core/ops/gemm/ahead.h"
#include "core/ops/gemm/gemm.h"
#include "core/ops/kit/isa.h"
#include "core/ops/kit/isa_limit.h"
#include "core/tensor/tensor.h"
#include "tests/unit/ops/pattern.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

template <class T>
double worst_error(int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  Sequential sequential;
  gemm::Gemm<T> product(m, n, k, ta, tb);
  Tensor a = pattern<T>({m * k}, 1), b = pattern<T>({n * k}, 2), c = pattern<T>({m * n}, 3);
  Tensor packed = pattern<T>({product.packed_b_size()}, 4);
  if (product.packed_b_size()) product.pack_b(sequential, b.data<T>(), packed.data<T>());
  product.run(sequential, a.data<T>(), b.data<T>(), packed.data<T>(), c.data<T>());
  double worst = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += double(a.data<T>()[ta ? p * m + i : i * k + p]) * double(b.data<T>()[tb ? j * k + p : p * n + j]);
      }
      worst = std::max(worst, std::abs(sum - double(c.data<T>()[i * n + j])));
    }
  }
  return worst;
}

constexpr int kMostRows = 16;

/// Of `taps` x `depth` products, of rows through pointers that lie kStep apart; `step` says so, or is 0.
std::vector<float> tile(const Tensor& a, const Tensor& b, int rows, int cols, int64_t step, bool ahead) {
  const gemm::Kernels<float>& kernels = gemm::kernels<float>();
  const int64_t taps = 3, row = a.num_elements() / taps / kMostRows, depth = b.num_elements() / taps / kernels.max_cols;
  std::vector<const float*> pointers;
  for (int64_t i = 0; i < taps * kMostRows; ++i) pointers.push_back(a.data<float>() + i * row);
  std::vector<float> c(static_cast<size_t>(kMostRows * kernels.max_cols), -1);
  gemm::TileArgs<float> t{};
  t.rows = rows;
  t.cols = cols;
  t.taps = taps;
  t.depth = depth;
  t.row_pointers = pointers.data();
  t.row_pointer_stride = kMostRows;
  t.a_row_step = step;
  t.b = b.data<float>();
  t.b_step = kernels.max_cols;
  t.c = c.data();
  t.c_step = kernels.max_cols;
  if (ahead) {
    t.next_c = c.data();
    t.ahead[0] = gemm::ahead_of(a.data<float>(), a.num_elements(), taps * depth);
  }
  kernels.tile(t);
  return c;
}

}  // namespace

TEST_CASE("a matrix product of any size and transposition equals the sum in double") {
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (int64_t m : {1, 2, 14, 15, 33})
        for (int64_t n : {1, 7, 32, 45})
          for (int64_t k : {1, 8, 61, 515, 1024}) {
            INFO(m << " x " << n << " x " << k << (ta ? " a'" : "") << (tb ? " b'" : ""));
            CHECK(worst_error<float>(m, n, k, ta, tb) < 1e-6 * static_cast<double>(k + 4));
            CHECK(worst_error<double>(m, n, k, ta, tb) < 1e-14 * static_cast<double>(k + 4));
          }
}

TEST_CASE("an empty sum is zero") { CHECK(worst_error<float>(3, 4, 0, false, false) == 0); }

TEST_CASE("rows that lie equally far apart, and asking ahead, change no bit of a tile") {
  constexpr int64_t kDepth = 37, kTaps = 3, kStep = 50;
  for (const Isa isa : {Isa::kBase, Isa::kV3, Isa::kV4}) {
    const IsaLimit limit(isa);
    const gemm::Kernels<float>& kernels = gemm::kernels<float>();
    const Tensor a = pattern<float>({kTaps * kMostRows * kStep}, 1),
                 b = pattern<float>({kTaps * kDepth * kernels.max_cols}, 2);
    for (int rows = 1; rows <= kernels.max_rows; ++rows) {
      for (const int cols : {3, kernels.vector, kernels.max_cols}) {
        const std::vector<float> plain = tile(a, b, rows, cols, 0, false);
        INFO(rows << " rows, " << cols << " columns");
        CHECK(tile(a, b, rows, cols, kStep, false) == plain);
        CHECK(tile(a, b, rows, cols, kStep, true) == plain);
        CHECK(tile(a, b, rows, cols, 0, true) == plain);
      }
    }
  }
}
