/// Batches of matrix products for a library that takes one axis of them at a time: which axis that is, and where the
/// products of each call begin.
#pragma once

#include <optional>
#include <vector>

#include "cuda/broadcast.h"

namespace emplace::cuda {

/// Counted in matrices of the operand.
struct ProductBatches {
  struct Start {
    int64_t a = 0, b = 0, out = 0;
  };
  int64_t count = 1;                             // products of a call
  int64_t a_step = 0, b_step = 0, out_step = 0;  // from one to the next
  std::vector<Start> starts;

  /// Nothing where the library would be called too often. REQUIRES: there are products.
  static std::optional<ProductBatches> of(const Broadcast<2>& batches) {
    constexpr int64_t kMostCalls = 256;
    ProductBatches p;
    int longest = -1;
    for (int d = 0; d < batches.dims; ++d) {
      if (longest < 0 || batches.size[d] > batches.size[longest]) longest = d;
    }
    if (longest >= 0) p.count = batches.size[longest];
    if (batches.elements / p.count > kMostCalls) return {};
    p.starts.push_back({});
    int64_t out_step = 1;
    for (int d = 0; d < batches.dims; out_step *= batches.size[d++]) {
      const Start step{batches.stride[0][d], batches.stride[1][d], out_step};
      if (d == longest) {
        p.a_step = step.a, p.b_step = step.b, p.out_step = step.out;
        continue;
      }
      const std::vector<Start> before = p.starts;
      for (int64_t i = 1; i < batches.size[d]; ++i) {
        for (const Start& s : before) p.starts.push_back({s.a + i * step.a, s.b + i * step.b, s.out + i * step.out});
      }
    }
    return p;
  }
};

}  // namespace emplace::cuda
