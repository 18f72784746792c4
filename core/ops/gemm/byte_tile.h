/// Byte tiles: the innermost loops of products of bytes, as quantised models have them, one for each set of
/// instructions that a processor may have for it. All make the same integers.
///
///   c[i, j] = sum over taps t and k < 4 * depth of a(t, i, k) * b(t, k, j)      a: uint8, b: int8, c wraps at 32 bits
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace emplace::gemm {

inline constexpr int kByteRows = 6;     // of a tile, at most
inline constexpr int kByteCols = 16;    // of a panel of b
inline constexpr int kBytePanels = 4;   // of a tile, at most
inline constexpr int kBytesAtOnce = 4;  // products that are summed in one place

struct ByteTileArgs {
  int rows, panels;
  int64_t taps, depth;  // depth: of a tap, in steps of kBytesAtOnce
  // Row (t, i) of a is at [t * row_pointer_stride + i].
  const uint8_t* const* row_pointers;
  int64_t row_pointer_stride;
  // Tap after tap, step after step, panel after panel: kByteCols columns of kBytesAtOnce. 64-byte aligned.
  const int8_t* b;
  int32_t* c;  // rows of panels * kByteCols, one after the other
};

using ByteTile = void (*)(const ByteTileArgs&);

/// The fastest one for the CPU that runs this.
ByteTile byte_tile();

struct NamedByteTile {
  std::string_view name;
  ByteTile tile;
};
/// All that this CPU can run, the fastest first.
std::vector<NamedByteTile> byte_tiles();

}  // namespace emplace::gemm
