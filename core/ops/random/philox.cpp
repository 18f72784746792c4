#include "core/ops/random/philox.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr double kBlockNs = 10;  // rough time of a block and its elements

/// Element group g comes from group(g); the last one is cut.
template <class T, class F>
void fill_groups(Parallel& parallel, T* out, int64_t n, double cost_ns, const F& group) {
  constexpr int64_t kCount = kPhiloxGroup<T>;
  parallel.run((n + kCount - 1) / kCount, cost_ns, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      T values[kCount];
      group(static_cast<uint64_t>(g), values);
      std::copy_n(values, std::min(kCount, n - g * kCount), out + g * kCount);
    }
  });
}

template <class T>
void fill_floating(Parallel& parallel, const PhiloxStream& stream, Distribution distribution, T* out, int64_t n) {
  const double blocks = distribution == Distribution::kUniform ? 1 : distribution == Distribution::kNormal ? 4 : 5;
  fill_groups(parallel, out, n, blocks * kBlockNs, [&](uint64_t g, T* to) {
    PhiloxWide<T> wide[kPhiloxGroup<T>] = {};
    random_group<T>(stream, distribution, g, wide);
    std::transform(wide, wide + kPhiloxGroup<T>, to, [](PhiloxWide<T> x) { return static_cast<T>(x); });
  });
}

}  // namespace

void fill_random(Parallel& parallel, const PhiloxStream& stream, Distribution distribution, DType type, void* out,
                 int64_t n) {
  switch (type) {
    case DType::kDouble:
      return fill_floating(parallel, stream, distribution, static_cast<double*>(out), n);
    case DType::kHalf:
      return fill_floating(parallel, stream, distribution, static_cast<half*>(out), n);
    case DType::kBFloat16:
      return fill_floating(parallel, stream, distribution, static_cast<bfloat16*>(out), n);
    default:
      return fill_floating(parallel, stream, distribution, static_cast<float*>(out), n);
  }
}

void fill_random_integers(Parallel& parallel, const PhiloxStream& stream, DType type, int64_t low, int64_t high,
                          void* out, int64_t n) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (type == DType::kInt32) {
    fill_groups(parallel, static_cast<int32_t*>(out), n, kBlockNs, [&](uint64_t g, int32_t* to) {
      const auto w = stream.block(g);
      for (size_t i = 0; i < 4; ++i) to[i] = static_cast<int32_t>(low + static_cast<int64_t>(w[i] % range));
    });
  } else {
    fill_groups(parallel, static_cast<int64_t*>(out), n, kBlockNs, [&](uint64_t g, int64_t* to) {
      const auto w = stream.block(g);
      for (size_t i = 0; i < 2; ++i) {
        const uint64_t word = w[2 * i] | static_cast<uint64_t>(w[2 * i + 1]) << 32;
        to[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + word % range);
      }
    });
  }
}

void fill_random_words(Parallel& parallel, const PhiloxStream& stream, int64_t bytes, void* out, int64_t n) {
  const auto fill = [&]<class T>(T* to) {
    fill_groups(parallel, to, n, kBlockNs, [&](uint64_t g, T* group) {
      const auto block = stream.block(g);
      for (size_t i = 0; i < kPhiloxGroup<T>; ++i) group[i] = word_of_block<T>(block, i);
    });
  };
  bytes == 8 ? fill(static_cast<uint64_t*>(out)) : fill(static_cast<uint32_t*>(out));
}

}  // namespace emplace
