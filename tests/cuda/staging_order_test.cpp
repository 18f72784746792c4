// Copies between pageable memory and a GPU go through page-locked memory: sizes around its pieces, rounds of the ring,
// streams in any order.
#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <random>

#include "cuda/gpu.h"
#include "cuda/standin/standin.h"

namespace emplace::cuda::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kRoom = 40 * kMiB;

/// Device memory, and what is in it.
struct Card {
  Card() : gpu(CudaGpu::open({0, 0, int64_t{256} << 20}).take()), known(kRoom) {
    memory = gpu->reserve(kRoom).take();
    REQUIRE(gpu->map(memory, kRoom).ok());
    const Result<uint64_t> read = gpu->copy_in(memory, known.data(), kRoom, Gpu::Lane::kCompute, nullptr);
    REQUIRE(read.ok());
    REQUIRE(gpu->finish(*read).ok());
  }
  ~Card() {
    CHECK(gpu->wait_idle().ok());
    CHECK(gpu->unmap(memory, kRoom).ok());
    gpu->release(memory, kRoom);
  }
  void put(size_t at, size_t bytes, uint8_t first) {
    std::vector<uint8_t> given(bytes);
    for (size_t i = 0; i < bytes; ++i) given[i] = known[at + i] = static_cast<uint8_t>(first + i / 7);
    // Of two that are given, one is kept by the copy as long as it takes, the other overwritten once it is read.
    const bool shares = first % 2 != 0;
    auto kept = std::make_shared<std::vector<uint8_t>>(std::move(given));
    const Result<uint64_t> read = gpu->copy_in(memory + at, kept->data(), bytes, Gpu::Lane::kCompute,
                                               shares ? std::shared_ptr<void>(kept) : nullptr);
    REQUIRE(read.ok());
    if (shares) return;
    REQUIRE(gpu->finish(*read).ok());
    std::fill(kept->begin(), kept->end(), uint8_t{0xee});
  }

  std::unique_ptr<Gpu> gpu;
  std::byte* memory;
  std::vector<uint8_t> known;
};

/// What is copied out, between two bytes that stay.
struct Taken {
  Taken(Card& card, size_t begin, size_t bytes)
      : at(begin),
        want(card.known.begin() + static_cast<ptrdiff_t>(begin),
             card.known.begin() + static_cast<ptrdiff_t>(begin + bytes)),
        got(bytes + 2, 0xaa) {
    ticket = card.gpu->copy_out(got.data() + 1, card.memory + at, bytes, Gpu::Lane::kCompute).take();
  }
  bool right() const {
    return got.front() == 0xaa && got.back() == 0xaa && std::equal(want.begin(), want.end(), got.begin() + 1);
  }
  size_t at;
  std::vector<uint8_t> want, got;
  uint64_t ticket = 0;
};

TEST_CASE("bytes go in and come out, however many", "[host]") {
  for (uint64_t seed : {0, 5}) {
    standin::set_seed(seed);
    Card card;
    for (size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{65}, kMiB / 2, kMiB / 2 + 1, 8 * kMiB, 8 * kMiB + 1,
                         16 * kMiB, 16 * kMiB + 1, 33 * kMiB + 13}) {
      INFO("seed " << seed << ", " << bytes << " bytes");
      card.put(3, bytes, static_cast<uint8_t>(bytes));
      const Taken all(card, 0, bytes + 6);  // and what lies beside
      REQUIRE(card.gpu->finish(all.ticket).ok());
      CHECK(all.right());
    }
  }
  standin::set_seed(0);
}

TEST_CASE("many copies are under way at once, and the ring goes round", "[host]") {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    INFO("seed " << seed);
    standin::set_seed(seed);
    Card card;
    std::mt19937_64 random(seed);
    std::deque<Taken> open;
    for (int i = 0; i < 50; ++i) {
      const size_t bytes = random() % (random() % 8 ? 2 * kMiB : 20 * kMiB), at = random() % (kRoom - bytes);
      if (random() % 2)
        card.put(at, bytes, static_cast<uint8_t>(random()));
      else
        open.emplace_back(card, at, bytes);
      while (open.size() > 6) {
        REQUIRE(card.gpu->finish(open.front().ticket).ok());
        REQUIRE(open.front().right());
        open.pop_front();
      }
    }
    for (; !open.empty(); open.pop_front()) {
      REQUIRE(card.gpu->finish(open.front().ticket).ok());
      REQUIRE(open.front().right());
    }
  }
  standin::set_seed(0);
}

}  // namespace
}  // namespace emplace::cuda::testing
