#include "core/ops/nn/norm_sums.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/base/kept_by_thread.h"
#include "core/base/scratch_vector.h"
#include "core/ops/kit/convert.h"
#include "core/ops/kit/isa.h"

namespace emplace {
namespace {

using Columns = NormSumCode::Columns;

// N and W are float and double: g++ 12 converts vectors of such types only where they are arguments of the template.
template <int kLanes, class N = float, class W = double>
struct Lanes {
  typedef N Narrow __attribute__((vector_size(kLanes * sizeof(N))));
  typedef W Wide __attribute__((vector_size(kLanes * sizeof(W))));
  EMPLACE_INLINE static void load(const W* from, Wide& to) { std::memcpy(&to, from, sizeof(Wide)); }
  EMPLACE_INLINE static void load(const N* from, Wide& to) {
    Narrow value;
    std::memcpy(&value, from, sizeof(Narrow));
    to = __builtin_convertvector(value, Wide);
  }
};
template <class N, class W>
struct Lanes<1, N, W> {
  using Wide = W;
  EMPLACE_INLINE static void load(const W* from, W& to) { to = *from; }
  EMPLACE_INLINE static void load(const N* from, W& to) { to = static_cast<W>(*from); }
};

constexpr int64_t kRowsOfBlock = 64;  // of those whose sums are added to the others', at least
// Rows that are handled at once, since a row of many channels is read in strips. Vectors of 64 bytes are done with them
// sooner than they come: only so few that they, and as many that are asked for, stay in the first cache. With 64 rows
// at once, 96 channels take 1.9 times as long, 1,024 2.9 times; shorter vectors gain nothing.
constexpr int64_t kLeastRowsAtOnce = 8, kElementsOfSums = 1536;
int64_t rows_at_once(bool few, int64_t channels) {
  return few ? std::clamp(kElementsOfSums / channels, kLeastRowsAtOnce, kRowsOfBlock) : kRowsOfBlock;
}

// `kVectors` vectors of columns from `first` on, whose sums stay in registers. What the strip of the next rows reads is
// asked for meanwhile: memory is read a line here and a line there, which no processor foresees (240 x 320 x 96
// on Zen 3: 10.5 ms without, 6 with).
template <bool kSame, int kVectors, int kLanes>
EMPLACE_INLINE void add_strip(const Columns& c, int64_t first) {
  using L = Lanes<kLanes>;
  typename L::Wide sums[kVectors], products[kVectors], shift[kVectors];
#pragma GCC unroll 8
  for (int j = 0; j < kVectors; ++j) {
    L::load(c.sums + first + j * kLanes, sums[j]);
    L::load(c.products + first + j * kLanes, products[j]);
    L::load(c.shift + first + j * kLanes, shift[j]);
  }
  const float *a = c.a + first, *b = c.b + first;
  constexpr int64_t kLine = 64 / sizeof(float);
  const int64_t ahead = c.rows * c.pitch;
  for (int64_t r = 0; r < c.rows; ++r, a += c.pitch, b += c.pitch) {
#pragma GCC unroll 4
    for (int64_t k = 0; k < kVectors * kLanes; k += kLine) {
      __builtin_prefetch(b + ahead + k);
      if constexpr (!kSame) __builtin_prefetch(a + ahead + k);
    }
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      typename L::Wide value, around;
      L::load(b + j * kLanes, around);
      around -= shift[j];
      if constexpr (kSame)
        value = around;
      else
        L::load(a + j * kLanes, value);
      sums[j] += value;
      products[j] += value * around;
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < kVectors; ++j) {
    std::memcpy(c.sums + first + j * kLanes, &sums[j], sizeof(sums[j]));
    std::memcpy(c.products + first + j * kLanes, &products[j], sizeof(products[j]));
  }
}

// `kLanes` fill a register: g++ 12 keeps wider vectors in memory. `kMost` of them at a time, for which there are
// registers. A column's sums are the same for all of them.
template <bool kSame, int kLanes, int kMost = 4>
EMPLACE_INLINE void add_columns_body(const Columns& c, int64_t cols) {
  int64_t first = 0;
  if constexpr (kMost > 4) {
    for (; first + kMost * kLanes <= cols; first += kMost * kLanes) add_strip<kSame, kMost, kLanes>(c, first);
  }
  for (; first + 4 * kLanes <= cols; first += 4 * kLanes) add_strip<kSame, 4, kLanes>(c, first);
  for (; first + kLanes <= cols; first += kLanes) add_strip<kSame, 1, kLanes>(c, first);
  for (; first < cols; ++first) add_strip<kSame, 1, 1>(c, first);
}
template <bool kSame>
void add_columns_base(const Columns& c, int64_t cols) {
  add_columns_body<kSame, 2>(c, cols);
}
template <bool kSame>
EMPLACE_TARGET_V3 void add_columns_v3(const Columns& c, int64_t cols) {
  add_columns_body<kSame, 4>(c, cols);
}
template <bool kSame>
EMPLACE_TARGET_V4 void add_columns_v4(const Columns& c, int64_t cols) {
  add_columns_body<kSame, 8, 8>(c, cols);
}

constexpr int64_t kMostBlocks = 64;   // at most: every one has sums of its own
constexpr int64_t kLineOfRun = 16;    // columns that a run of one channel's pixels is seen as
constexpr int64_t kRunAtOnce = 1024;  // pixels of such a run that are handled at once

// Floats as they are; halves widened into `buffer`.
template <class T>
const float* as_floats(const T* from, int64_t n, ScratchVector<float>& buffer) {
  if constexpr (std::is_same_v<T, float>) {
    return from;
  } else {
    static const ConvertFunction kWiden = widening(dtype_of<T>);
    if (buffer.size() < static_cast<size_t>(n)) buffer.resize(static_cast<size_t>(n));
    kWiden(from, buffer.data(), n);
    return buffer.data();
  }
}

template <class T, bool kSame>
class Sums {
 public:
  Sums(NormSumCode::Add code, bool few_rows, const NormLayout& l, const T* a, const T* b, const double* shift)
      : code_(code), few_rows_(few_rows), l_(l), a_(a), b_(b), shift_(shift) {}

  void run(Parallel& parallel, double* sums, double* products) const {
    std::fill_n(sums, l_.channels, 0.0);
    std::fill_n(products, l_.channels, 0.0);
    if (l_.inner > 1) {
      parallel.run(l_.channels, 0.4 * static_cast<double>(l_.count()), [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) one_channel(k, sums[k], products[k]);
      });
    } else {
      rows(parallel, sums, products);
    }
  }

 private:
  void add(const T* a, const T* b, int64_t rows, int64_t cols, const double* shift, double* sums,
           double* products) const {
    static constinit thread_local KeptByThread<ScratchVector<float>> wide_a, wide_b;
    const float* second = as_floats(b, rows * cols, wide_b.get());
    const float* first = kSame ? second : as_floats(a, rows * cols, wide_a.get());
    code_({first, second, rows, cols, shift, sums, products}, cols);
  }

  // Channels innermost: blocks of rows, then the blocks' sums in their order.
  void rows(Parallel& parallel, double* sums, double* products) const {
    const int64_t channels = l_.channels, at_once = rows_at_once(few_rows_, channels),
                  per_block = std::max(kRowsOfBlock, (l_.outer + kMostBlocks - 1) / kMostBlocks),
                  blocks = (l_.outer + per_block - 1) / per_block;
    ScratchVector<double> of_blocks(static_cast<size_t>(2 * blocks * channels));
    parallel.run(blocks, 0.2 * static_cast<double>(per_block * channels), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        double* mine = of_blocks.data() + 2 * block * channels;
        const int64_t last = std::min(l_.outer, (block + 1) * per_block);
        for (int64_t row = block * per_block; row < last; row += at_once) {
          const int64_t at = row * channels;
          add(a_ + at, b_ + at, std::min(at_once, last - row), channels, shift_, mine, mine + channels);
        }
      }
    });
    for (int64_t block = 0; block < blocks; ++block) {
      const double* from = of_blocks.data() + 2 * block * channels;
      for (int64_t k = 0; k < channels; ++k) sums[k] += from[k];
      for (int64_t k = 0; k < channels; ++k) products[k] += from[channels + k];
    }
  }

  // A channel's pixels in runs: each is seen as a matrix with kLineOfRun columns, whose sums are added at the end.
  void one_channel(int64_t k, double& sum, double& product) const {
    double shift[kLineOfRun], sums[kLineOfRun] = {}, products[kLineOfRun] = {};
    std::fill_n(shift, kLineOfRun, shift_[k]);
    for (int64_t r = 0; r < l_.outer; ++r) {
      for (int64_t i = 0; i < l_.inner; i += kRunAtOnce) {
        const int64_t at = (r * l_.channels + k) * l_.inner + i, n = std::min(kRunAtOnce, l_.inner - i);
        const int64_t lines = n / kLineOfRun, rest = n % kLineOfRun;
        add(a_ + at, b_ + at, lines, kLineOfRun, shift, sums, products);
        if (rest > 0) add(a_ + at + n - rest, b_ + at + n - rest, 1, rest, shift, sums, products);
      }
    }
    for (int64_t j = 0; j < kLineOfRun; ++j) {
      sum += sums[j];
      product += products[j];
    }
  }

  const NormSumCode::Add code_;
  const bool few_rows_;
  const NormLayout& l_;
  const T *a_, *b_;
  const double* shift_;
};

}  // namespace

NormSumCode NormSumCode::of_processor() {
  return {for_isa<Add>(add_columns_base<true>, add_columns_v3<true>, add_columns_v4<true>),
          for_isa<Add>(add_columns_base<false>, add_columns_v3<false>, add_columns_v4<false>), isa() == Isa::kV4};
}

template <class T>
void sum_moments(Parallel& parallel, const NormSumCode& code, const NormLayout& l, const T* x, const double* shift,
                 double* sum, double* squares) {
  Sums<T, true>(code.moments, code.few_rows, l, x, x, shift).run(parallel, sum, squares);
}
template <class T>
void sum_gradients(Parallel& parallel, const NormSumCode& code, const NormLayout& l, const T* dy, const T* x,
                   const double* shift, double* sum, double* products) {
  Sums<T, false>(code.gradients, code.few_rows, l, dy, x, shift).run(parallel, sum, products);
}

#define EMPLACE_NORM_SUMS(T)                                                                                       \
  template void sum_moments(Parallel&, const NormSumCode&, const NormLayout&, const T*, const double*, double*,    \
                            double*);                                                                              \
  template void sum_gradients(Parallel&, const NormSumCode&, const NormLayout&, const T*, const T*, const double*, \
                              double*, double*)
EMPLACE_NORM_SUMS(float);
EMPLACE_NORM_SUMS(half);
EMPLACE_NORM_SUMS(bfloat16);
#undef EMPLACE_NORM_SUMS

}  // namespace emplace
