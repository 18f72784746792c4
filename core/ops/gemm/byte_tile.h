/// Byte tiles: the innermost loops of products of bytes, as quantised models have them, one for each set of
/// instructions that a processor may have for it. All make the same integers.
///
///   c[i, j] = start[j] + sum over taps t and k < 4 * depth of a(t, i, k) * b(t, k, j)
///
/// a is uint8, b is int8, c wraps at 32 bits.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace emplace::gemm {

inline constexpr int kByteRows = 6;     // of a tile, at most
inline constexpr int kByteCols = 16;    // of a panel of b
inline constexpr int kBytePanels = 4;   // of a tile, at most
inline constexpr int kBytesAtOnce = 4;  // products that are summed in one place
inline constexpr int kWideStrips = 2;   // of a panel whose numbers are int16

struct ByteTileArgs {
  int rows, panels;
  int64_t taps, depth;  // depth: of a tap, in steps of kBytesAtOnce
  // Row (t, i) of a is at [t * row_pointer_stride + i].
  const uint8_t* const* row_pointers;
  int64_t row_pointer_stride;
  const void* b;         // in the order of ByteTile::place(), 64-byte aligned
  const int32_t* start;  // what the sums of each column begin with
  int32_t* c;            // rows of panels * kByteCols, one after the other
};

struct ByteTile {
  std::string_view name;
  void (*run)(const ByteTileArgs&);
  bool wide = false;  // b is int16, widened once for all tiles; else int8

  /// Where b's kBytesAtOnce numbers of a column lie: step after step, or, if wide, strip of columns after strip.
  /// `steps`: taps * depth.
  int64_t place(int panels, int64_t steps, int64_t step, int64_t column) const;
};

/// The fastest one for the CPU that runs this.
ByteTile byte_tile();
/// All that this CPU can run, the fastest first.
std::vector<ByteTile> byte_tiles();

}  // namespace emplace::gemm
