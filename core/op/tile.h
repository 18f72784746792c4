/// Tile, BlockReduction, RowSink: the code of an elementwise op, and of a reduction over all elements, for a run of
/// elements; and who is told of finished rows. The executor strings them together so that a chain of such ops reads and
/// writes memory once; a kernel's own run() is built on the same functions, so that fused and unfused runs give the
/// same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emplace {

/// One elementwise op over n consecutive elements.
struct Tile {
  /// out[i] = f(inputs[0][i * strides[0]], inputs[1][i * strides[1]], ...) for i in [0, n). A stride counts elements
  /// and is 0 (one value for all) or 1. `out` may be one of the inputs of stride 1 and equal element size. An
  /// element's result must not depend on n or on its position.
  using Function = void (*)(const void* const* inputs, const int64_t* strides, void* out, int64_t n,
                            const void* params);
  Function function = nullptr;   // null: not elementwise
  const void* params = nullptr;  // lives as long as the kernel
  double cost_ns = 0.1;          // of one element, for splitting work
  int64_t period = 0;            // an input of so many elements is repeated over and over (a bias); 0: none is
};

/// Told which rows (of the last dimension) of a product are finished, while they are in cache; each row once, from any
/// worker.
class RowSink {
 public:
  virtual void finished(int64_t first_row, int64_t rows) = 0;

 protected:
  ~RowSink() = default;
};

/// A reduction of all elements of input 0 to output 0: blocks of kBlock elements, each to one accumulator, then all
/// accumulators in order. The blocks never depend on the number of threads, hence neither do the bytes.
struct BlockReduction {
  static constexpr int64_t kBlock = 4096;  // elements; the last block is shorter
  static constexpr size_t kMaxAccumulatorBytes = 16;

  using Partial = void (*)(const void* in, int64_t n, void* accumulator);
  /// `count` accumulators (at least one; a single one of an empty block if there is no element), `n` elements in all.
  using Finish = void (*)(const void* accumulators, int64_t count, int64_t n, void* out);
  Partial partial = nullptr;  // null: not a reduction over all elements
  Finish finish = nullptr;
  size_t accumulator_bytes = 0;  // distance between accumulators
  double cost_ns = 0.1;          // of one element
};

}  // namespace emplace
