// The plug-in's own matrix product where a grid is smaller than its work, and what cuBLASLt is told of addresses.
#include <catch2/catch.hpp>

#include <vector>

#include "cuda/cublaslt.h"
#include "cuda/gemm.h"

namespace emplace::cuda::testing {
namespace {

struct Ones {
  int64_t columns;
  __device__ float operator()(int64_t batch, int64_t row, int64_t column) const {
    return static_cast<float>(batch + row * columns + column);
  }
};
struct Keep {
  float* to;
  int64_t rows, columns;
  __device__ void operator()(int64_t batch, int64_t row, int64_t column, float value) const {
    to[(batch * rows + row) * columns + column] += value;
  }
};

TEST_CASE("a grid has at most 65535 rows, which then take several matrices each") {
  for (int64_t batches : {1, 65535, 65536, 1000000}) {
    const dim3 grid = gemm_grid({batches, 65, 64, 3}).take();
    CHECK(grid.x == 2);
    CHECK(grid.y == static_cast<unsigned>(std::min<int64_t>(batches, 65535)));
  }
  CHECK(gemm_grid({40000, 1, 1, 8, 2}).take().y == 65535);
  CHECK(gemm_grid({1, int64_t{1} << 40, 1, 1}).status().code() == Code::kUnimplemented);
}

TEST_CASE("every piece of every matrix is made once, by however few rows of a grid") {
  const GemmSize size{3, 2, 3, 40, 2};
  constexpr int64_t kSlots = 6, kElements = 6;
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0) == cudaSuccess);
  const Ones a{size.k}, b{size.n};
  for (unsigned rows : {1u, 2u, 4u, 6u}) {
    INFO(rows << " rows");
    std::vector<float> sums(kSlots * kElements);
    const Keep store{sums.data(), size.m, size.n};
    REQUIRE(launch(Barriers::kBlock, gemm_kernel<float, Ones, Ones, Keep>, dim3(1, rows), kThreads, 0, stream, a, b,
                   store, size)
                .ok());
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    for (int64_t batch = 0; batch < size.batches; ++batch) {
      for (int64_t i = 0; i < kElements; ++i) {
        float want[2] = {0, 0};
        for (int64_t k = 0; k < size.k; ++k) want[k / 20] += a(batch, i / 3, k) * b(batch, k, i % 3);
        CHECK(sums[static_cast<size_t>(2 * batch * kElements + i)] == want[0]);
        CHECK(sums[static_cast<size_t>((2 * batch + 1) * kElements + i)] == want[1]);
      }
    }
  }
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("matrices of a batch lie as evenly as their distance allows") {
  CHECK(matrix_alignment(0) == 16);  // one matrix, or one for all
  CHECK(matrix_alignment(4) == 4);
  CHECK(matrix_alignment(6) == 2);
  CHECK(matrix_alignment(35 * 2) == 2);
  CHECK(matrix_alignment(24) == 8);
  CHECK(matrix_alignment(48) == 16);
  CHECK(matrix_alignment(64) == 16);
}

}  // namespace
}  // namespace emplace::cuda::testing
