// Copies through page-locked memory: small ones by its ring, large ones by turns, and both beside each other.
#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "cuda/host_copy.h"
#include "cuda/staging.h"
#include "cuda/standin/standin.h"

namespace emplace::cuda::testing {
namespace {

struct Device {
  Device() {
    REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0) == cudaSuccess);
    REQUIRE(cudaMalloc(&memory, size_t{64} << 20) == cudaSuccess);
  }
  ~Device() {
    (void)cudaFree(memory);
    (void)cudaStreamDestroy(stream);
  }
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
};

std::vector<uint32_t> numbers(size_t count, uint32_t first) {
  std::vector<uint32_t> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST_CASE("what goes through the staging ring arrives, whatever the sizes before", "[host]") {
  Device device;
  Staging staging;
  uint32_t first = 1;
  for (size_t count : {size_t{1}, size_t{100'000}, size_t{131'072}, size_t{131'073}, size_t{7}, size_t{5'000'000},
                       size_t{3}, size_t{14'000'000}}) {
    INFO(count << " numbers");
    const std::vector<uint32_t> sent = numbers(count, first += 17);
    std::vector<uint32_t> received(count), again(count);
    REQUIRE(staging.copy_in(device.memory, sent.data(), count * 4, device.stream).ok());
    const Result<uint64_t> ticket = staging.copy_out(received.data(), device.memory, count * 4, device.stream);
    REQUIRE(ticket.ok());
    // The first is still under way when the ring is asked for more.
    const Result<uint64_t> later = staging.copy_out(again.data(), device.memory, count * 4, device.stream);
    REQUIRE(later.ok());
    REQUIRE(staging.finish(*later).ok());
    CHECK(received == sent);
    CHECK(again == sent);
  }
}

TEST_CASE("small copies and large ones are under way at once", "[host]") {
  Device device;
  Staging staging;
  const std::vector<uint32_t> few = numbers(10, 5), many = numbers(1'000'000, 9);
  std::vector<uint32_t> received(10);
  REQUIRE(staging.copy_in(device.memory, few.data(), few.size() * 4, device.stream).ok());
  const Result<uint64_t> ticket = staging.copy_out(received.data(), device.memory, few.size() * 4, device.stream);
  REQUIRE(ticket.ok());
  REQUIRE(staging.copy_in(device.memory, many.data(), many.size() * 4, device.stream).ok());
  REQUIRE(staging.finish(*ticket).ok());
  CHECK(received == few);
}

TEST_CASE("a piece of the ring is not filled again before the GPU has read it", "[host]") {
  constexpr size_t kCount = 100'000;  // 0.4 of the ring
  for (uint64_t seed : {1, 2, 3}) {
    standin::set_seed(seed);
    Device device;
    Staging staging;
    for (uint32_t i = 0; i < 8; ++i) {
      const std::vector<uint32_t> sent = numbers(kCount, 1000 * i);
      auto kept = std::make_shared<std::vector<uint32_t>>(sent);
      auto* to = static_cast<std::byte*>(device.memory) + i * 4 * kCount;
      REQUIRE(staging.copy_in(to, kept->data(), 4 * kCount, device.stream, kept).ok());
    }
    std::vector<uint32_t> received(8 * kCount);
    const Result<uint64_t> ticket =
        staging.copy_out(received.data(), device.memory, 4 * received.size(), device.stream);
    REQUIRE(ticket.ok());
    REQUIRE(staging.finish(*ticket).ok());
    for (uint32_t i = 0; i < 8; ++i) {
      const std::vector<uint32_t> sent = numbers(kCount, 1000 * i);
      CHECK(std::equal(sent.begin(), sent.end(), received.begin() + static_cast<ptrdiff_t>(i * kCount)));
    }
  }
  standin::set_seed(0);
}

TEST_CASE("small copies take the ring alone, several at once, however often it goes round", "[host]") {
  constexpr size_t kCount = 25'000;  // a tenth of the ring
  for (uint64_t seed : {0, 1}) {
    standin::set_seed(seed);
    Device device;
    Staging staging;
    const uint64_t page_locked = standin::counts().page_locked;
    const std::vector<uint32_t> sent = numbers(kCount, 7);
    for (int round = 0; round < 20; ++round) {
      for (int copy = 0; copy < 3; ++copy)
        REQUIRE(staging.copy_in(device.memory, sent.data(), 4 * kCount, device.stream).ok());
      REQUIRE(cudaStreamSynchronize(device.stream) == cudaSuccess);
    }
    CHECK(standin::counts().page_locked == page_locked + 1);
  }
  standin::set_seed(0);
}

TEST_CASE("large copies on the host are whole, whoever else copies", "[host]") {
  constexpr size_t kCount = 3'000'001;
  auto copy_often = [](uint32_t first) {
    bool right = true;
    for (uint32_t i = 0; i < 20; ++i) {
      const std::vector<uint32_t> from = numbers(kCount - i, first + i);
      std::vector<uint32_t> to(from.size() + 1, 7);
      copy_on_host(to.data(), from.data(), from.size() * 4);
      right &= std::equal(from.begin(), from.end(), to.begin()) && to.back() == 7;
    }
    return right;
  };
  bool first = false, second = false;
  std::thread other([&] { first = copy_often(100); });
  second = copy_often(900);
  other.join();
  CHECK(first);
  CHECK(second);
}

}  // namespace
}  // namespace emplace::cuda::testing
