// What this machine can do at best, measured now: the denominators of scripts/bench. Prints one JSON object.
//   emplace_limits [FILE]     with FILE also: ns per byte to touch it through a mapping
#include <fcntl.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The fastest of several tries: what is left when nobody disturbs.
double best_of(int tries, const std::function<void()>& body) {
  double best = 1e30;
  for (int i = 0; i < tries; ++i) {
    double start = seconds();
    body();
    best = std::min(best, seconds() - start);
  }
  return best;
}

// The same on `threads` threads at once; the time of the slowest.
double best_parallel(int threads, int tries, const std::function<void(int)>& body) {
  return best_of(tries, [&] {
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(body, t);
    body(0);
    for (auto& t : others) t.join();
  });
}

volatile float sink;

__attribute__((target("avx512f"))) void fma_avx512(int64_t rounds) {
  __m512 acc[16], x = _mm512_set1_ps(1.0001f), y = _mm512_set1_ps(1e-6f);
  for (auto& a : acc) a = _mm512_set1_ps(1);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (auto& a : acc) a = _mm512_fmadd_ps(a, x, y);
  }
  float sum = 0;
  for (auto& a : acc) sum += a[0];
  sink = sum;
}

__attribute__((target("avx2,fma"))) void fma_avx2(int64_t rounds) {
  __m256 acc[12], x = _mm256_set1_ps(1.0001f), y = _mm256_set1_ps(1e-6f);
  for (auto& a : acc) a = _mm256_set1_ps(1);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (auto& a : acc) a = _mm256_fmadd_ps(a, x, y);
  }
  float sum = 0;
  for (auto& a : acc) sum += a[0];
  sink = sum;
}

double fma_gflops(int threads) {
  const int64_t rounds = 20'000'000;
  bool wide = __builtin_cpu_supports("avx512f");
  double flops = static_cast<double>(rounds) * (wide ? 16 * 16 : 12 * 8) * 2 * threads;
  return flops / best_parallel(threads, 3, [&](int) { wide ? fma_avx512(rounds) : fma_avx2(rounds); }) * 1e-9;
}

struct Bandwidth {
  double read, copy, add_in_place;
};

// In `streams` places at once: most processors fetch ahead of several better than of one.
__attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"))) float sum_of(const float* p, int64_t n,
                                                                                           int streams) {
  float s[64] = {};
  const int64_t part = n / streams;
  for (int64_t i = 0; i + 64 <= part; i += 64) {
    for (int k = 0; k < streams; ++k) {
      const float* from = p + k * part + i;
      for (int j = 0; j < 64; ++j) s[j] += from[j];
    }
  }
  float total = 0;
  for (float v : s) total += v;
  return total;
}

__attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"))) void add_to(float* a, const float* b,
                                                                                          int64_t n) {
  for (int64_t i = 0; i < n; ++i) a[i] += b[i];
}

Bandwidth bandwidth(int threads) {
  const int64_t n = 16 << 20;  // floats an array
  std::vector<float> a(static_cast<size_t>(n), 1), b(static_cast<size_t>(n), 2);
  int64_t part = n / threads;
  double bytes = static_cast<double>(n) * 4;
  Bandwidth r;
  r.read = 0;
  for (const int streams : {1, 2, 4, 8}) {
    const double s = best_parallel(threads, 5, [&](int t) { sink = sum_of(a.data() + t * part, part, streams); });
    r.read = std::max(r.read, bytes / s * 1e-9);
  }
  r.copy = 2 * bytes /
           best_parallel(
               threads, 5,
               [&](int t) { std::memcpy(b.data() + t * part, a.data() + t * part, static_cast<size_t>(part) * 4); }) *
           1e-9;
  r.add_in_place = 3 * bytes /
                   best_parallel(threads, 5, [&](int t) { add_to(b.data() + t * part, a.data() + t * part, part); }) *
                   1e-9;
  return r;
}

// Kahn's algorithm on a random graph of in-degree 2 in flat arrays: the least that a placer has to do.
double topological_sort_ns(int64_t n) {
  std::mt19937_64 random(1);
  std::vector<uint32_t> first(static_cast<size_t>(n) + 1), degree(static_cast<size_t>(n));
  std::vector<uint32_t> source(static_cast<size_t>(2 * n)), edges(static_cast<size_t>(2 * n)),
      ready(static_cast<size_t>(n));
  for (int64_t i = 1; i < n; ++i) {
    for (int k = 0; k < 2; ++k)
      ++first[(source[static_cast<size_t>(2 * i + k)] = static_cast<uint32_t>(random() % static_cast<uint64_t>(i))) +
              1];
  }
  for (int64_t i = 0; i < n; ++i) first[static_cast<size_t>(i) + 1] += first[static_cast<size_t>(i)];
  auto fill = first;
  for (int64_t i = 1; i < n; ++i) {
    for (int k = 0; k < 2; ++k) edges[fill[source[static_cast<size_t>(2 * i + k)]]++] = static_cast<uint32_t>(i);
  }
  double time = best_of(3, [&] {
    std::fill(degree.begin(), degree.end(), 2);
    degree[0] = 0;
    size_t head = 0, tail = 0;
    ready[tail++] = 0;
    while (head < tail) {
      uint32_t node = ready[head++];
      for (uint32_t e = first[node]; e < first[node + 1]; ++e) {
        if (--degree[edges[e]] == 0) ready[tail++] = edges[e];
      }
    }
  });
  return time * 1e9 / static_cast<double>(n);
}

double touch_ns_per_byte(const char* path) {
  int fd = open(path, O_RDONLY);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0) return 0;
  double time = best_of(3, [&] {
    auto* p = static_cast<const char*>(mmap(nullptr, static_cast<size_t>(st.st_size), PROT_READ, MAP_PRIVATE, fd, 0));
    int sum = 0;
    for (off_t i = 0; i < st.st_size; i += 64) sum += p[i];
    sink = static_cast<float>(sum);
    munmap(const_cast<char*>(p), static_cast<size_t>(st.st_size));
  });
  close(fd);
  return time * 1e9 / static_cast<double>(st.st_size);
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("{");
  for (int threads : {1, 2}) {
    Bandwidth b = bandwidth(threads);
    std::printf("\"fma_gflops_%d\": %.1f, \"read_gbs_%d\": %.2f, \"copy_gbs_%d\": %.2f, \"add_gbs_%d\": %.2f, ",
                threads, fma_gflops(threads), threads, b.read, threads, b.copy, threads, b.add_in_place);
  }
  std::printf("\"sort_ns_per_node\": %.2f", topological_sort_ns(1'000'000));
  if (argc > 1) std::printf(", \"touch_ns_per_byte\": %.4f", touch_ns_per_byte(argv[1]));
  std::printf("}\n");
}
