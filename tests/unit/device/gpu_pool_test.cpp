// GpuPool on pages that are only counted.
#include "core/device/gpu_pool.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace emplace {
namespace {

constexpr int64_t kPage = int64_t{2} << 20;
constexpr int64_t kMiB = int64_t{1} << 20;

/// Addresses that are never touched; fails where a page is mapped twice, or taken away twice.
class FakePages final : public PageSource {
 public:
  int64_t page_bytes() const override { return kPage; }
  Result<std::byte*> reserve(int64_t) override { return reinterpret_cast<std::byte*>(uintptr_t{1} << 40); }
  void release(std::byte*, int64_t) override { CHECK(pages.empty()); }
  Status map(std::byte* at, int64_t bytes) override {
    if (static_cast<int64_t>(pages.size()) * kPage + bytes > card) return resource_exhausted("the card is full");
    for (int64_t b = 0; b < bytes; b += kPage) CHECK(pages.insert(at + b).second);
    ++calls;
    most = std::max(most, pages.size());
    return ok_status();
  }
  Status unmap(std::byte* at, int64_t bytes) override {
    CHECK(waits > 0);
    for (int64_t b = 0; b < bytes; b += kPage) CHECK(pages.erase(at + b) == 1);
    return ok_status();
  }
  Status wait_idle() override { return ++waits, ok_status(); }
  bool backs(const Tensor& t) const {
    auto* first = t.data<std::byte>();
    for (auto* p = first; p < first + t.size_bytes(); p += kPage / 4) {
      auto address = reinterpret_cast<uintptr_t>(p) / kPage * kPage;
      if (!pages.contains(reinterpret_cast<std::byte*>(address))) return false;
    }
    return true;
  }

  int64_t card = int64_t{1} << 40;
  std::set<std::byte*> pages;
  size_t most = 0;
  int waits = 0, calls = 0;
};

struct Fixture {
  explicit Fixture(int64_t limit, bool grows = true)
      : pool({"/device:GPU:0", "GPU_0_bfc", limit, grows},
             [this]() -> Result<PageSource*> { return ++opened, &pages; }) {}
  Result<Tensor> take(int64_t bytes) { return pool.allocate(DType::kInt8, Shape{bytes}); }
  FakePages pages;
  int opened = 0;
  GpuPool pool;
};

TEST_CASE("a GPU that nobody uses is never opened") {
  Fixture f(64 * kMiB);
  REQUIRE(f.pool.map_block(0).ok());
  CHECK(f.opened == 0);
}

TEST_CASE("growth maps what is needed; without growth the whole limit is mapped at the first use") {
  Fixture grows(64 * kMiB), whole(64 * kMiB, false);
  REQUIRE(grows.take(1000).ok());
  REQUIRE(whole.take(1000).ok());
  CHECK(grows.pool.mapped_bytes() == kPage);
  CHECK(whole.pool.mapped_bytes() == 64 * kMiB);
}

TEST_CASE("what does not fit says limit, use and largest free piece") {
  Fixture f(8 * kMiB);
  auto held = f.take(5 * kMiB);
  REQUIRE(held.ok());
  auto refused = f.take(4 * kMiB);
  REQUIRE(!refused.ok());
  CHECK(refused.status().code() == Code::kResourceExhausted);
  CHECK(refused.status().message() ==
        "OOM when allocating tensor with shape[4194304] and type int8 on /device:GPU:0 by allocator "
        "GPU_0_bfc: asked for 4.0 MiB, 3.0 MiB free in one piece of 8.0 MiB, 5.0 MiB in use: 1.0 MiB short; a smaller "
        "batch needs less");
  CHECK(f.take(3 * kMiB).ok());
}

TEST_CASE("a limit is used in whole pages, and that is said") {
  Fixture f(9 * kMiB);
  CHECK(f.pool.usable() == 9 * kMiB);  // pages are known from the first use on
  auto held = f.take(5 * kMiB), between = f.take(kMiB), behind = f.take(kMiB);
  held = Tensor();
  CHECK(f.pool.limit() == 9 * kMiB);
  CHECK(f.pool.usable() == 8 * kMiB);
  const std::string text = f.take(8 * kMiB).status().message();
  CHECK(text.find(": asked for 8.0 MiB, 5.0 MiB free in one piece of 9.0 MiB (8.0 MiB in whole pages), 2.0 MiB in use: "
                  "3.0 MiB short") != std::string::npos);
  CHECK(f.take(10 * kMiB).status().message().find("more than all of the limit of 9.0 MiB") != std::string::npos);
  CHECK(f.take(5 * kMiB).ok());
}

TEST_CASE("pages move from where they are free to where they are needed") {
  Fixture f(16 * kMiB);
  std::vector<Tensor> held;
  for (int i = 0; i < 8; ++i) held.push_back(f.take(2 * kMiB).take());
  for (int i = 0; i < 8; i += 2) held[static_cast<size_t>(i)] = Tensor();
  auto large = f.take(8 * kMiB);  // four holes of 2 MiB
  REQUIRE(large.ok());
  CHECK(f.pages.backs(*large));
  CHECK(f.pages.waits == 1);
  CHECK(f.pool.mapped_bytes() == 16 * kMiB);
}

TEST_CASE("a full card is an error like a full limit, and steps back to what is needed") {
  Fixture f(1024 * kMiB);
  f.pages.card = 10 * kMiB;
  auto first = f.take(6 * kMiB);
  REQUIRE(first.ok());
  CHECK(f.take(4 * kMiB).ok());  // growth ahead would be 6 MiB
  const Status refused = f.take(11 * kMiB).status();
  CHECK(refused.code() == Code::kResourceExhausted);
  CHECK(
      refused.message().ends_with("6.0 MiB in use: 11.0 MiB short; the card has no more (the card is full); a smaller "
                                  "batch needs less"));
}

TEST_CASE("random lives: a limit of 1.03 times the largest live bytes suffices") {
  uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6, 7, 8);
  std::mt19937_64 random(seed);
  struct Life {
    int64_t bytes;
    size_t end;
  };
  std::vector<Life> lives;
  int64_t live = 0, most = 0;
  std::vector<std::vector<size_t>> ends(500);
  for (size_t i = 0; i < 400; ++i) {
    double log_size = 12 + 16 * static_cast<double>(random() >> 11) * 0x1p-53;  // 4 KiB to 256 MiB
    lives.push_back({static_cast<int64_t>(std::exp2(log_size)), i + 1 + random() % 16});
    ends[lives.back().end].push_back(i);
  }
  auto rounded = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
  for (size_t i = 0; i < 400; ++i) {
    for (size_t dead : ends[i]) live -= rounded(lives[dead].bytes);
    live += rounded(lives[i].bytes);
    most = std::max(most, live);
  }
  Fixture f(static_cast<int64_t>(static_cast<double>(most) * 1.03) / kPage * kPage + kPage);
  std::vector<Tensor> held(400);
  for (size_t i = 0; i < 400; ++i) {
    for (size_t dead : ends[i]) held[dead] = Tensor();
    auto t = f.take(lives[i].bytes);
    INFO("seed " << seed << ", tensor " << i);
    REQUIRE(t.ok());
    CHECK(f.pages.backs(*t));
    held[i] = t.take();
  }
  CHECK(static_cast<int64_t>(f.pages.most) * kPage <= f.pool.limit());
}

}  // namespace
}  // namespace emplace
