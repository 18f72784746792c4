// Gemm against sums in double, over sizes around tile and block edges.
#include <catch2/catch.hpp>

#include <cmath>
#include <memory>
#include <vector>

#include "core/ops/gemm/gemm.h"
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
