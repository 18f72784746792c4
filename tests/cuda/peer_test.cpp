// Copies between cards are tried before they are trusted. This program's stand-in has four cards.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <numeric>
#include <vector>

#include "cuda/gpu.h"
#include "cuda/host_bridge.h"
#include "cuda/peer.h"
#include "cuda/standin/standin.h"

namespace emplace::cuda::testing {
namespace {

[[maybe_unused]] const bool kFourCards = setenv("EMPLACE_STANDIN_GPUS", "4", 0) == 0;  // before the first call

/// How cards reach each other, for as long as this lives.
struct Peers {
  explicit Peers(const char* how) { setenv("EMPLACE_STANDIN_PEERS", how, 1); }
  ~Peers() { unsetenv("EMPLACE_STANDIN_PEERS"); }
};

size_t free_on(int device) {
  size_t free = 0, total = 0;
  REQUIRE(cudaSetDevice(device) == cudaSuccess);
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  return free;
}

struct Card {
  explicit Card(int device) : gpu(CudaGpu::open({device, 0, int64_t{64} << 20}).take()) {}
  bool trusts(int from) {
    return peer_copies_arrive(from, static_cast<DeviceState*>(gpu->kernel_state())->device, stream()).take();
  }
  cudaStream_t stream() { return static_cast<cudaStream_t>(gpu->stream(Gpu::Lane::kPeer)); }
  std::unique_ptr<Gpu> gpu;
};

TEST_CASE("a copy between cards that arrives is trusted from then on, one that does not never", "[host]") {
  Card one(1), two(2), three(3);
  const size_t before = free_on(0), at_one = free_on(1);
  CHECK(one.trusts(0));
  int current = -1;
  CHECK((cudaGetDevice(&current) == cudaSuccess && current == 1));
  CHECK(free_on(0) == before);
  CHECK(free_on(1) == at_one);
  {
    const Peers none("none");
    CHECK_FALSE(two.trusts(0));
    CHECK(one.trusts(0));
  }
  {
    const Peers lost("lost");
    CHECK_FALSE(three.trusts(0));
  }
  {
    const Peers shortened("short");
    CHECK_FALSE(one.trusts(2));
  }
  CHECK_FALSE(one.trusts(2));
  CHECK_FALSE(two.trusts(0));
  CHECK(two.trusts(1));
}

TEST_CASE("without memory for the trial nothing is trusted", "[host]") {
  Card two(2), three(3);
  const auto all = static_cast<int64_t>(free_on(3));  // in pages, which cost nothing before they are written
  std::byte* range = three.gpu->reserve(all).take();
  REQUIRE(three.gpu->map(range, all).ok());
  CHECK(free_on(3) == 0);
  CHECK_FALSE(two.trusts(3));
  CHECK(three.gpu->unmap(range, all).ok());
  three.gpu->release(range, all);
}

TEST_CASE("bytes go from card to card directly, or by the host where cards do not reach each other", "[host]") {
  struct Way {
    const char* peers;
    int from, to;
  };
  for (const Way& way : {Way{"all", 3, 0}, Way{"none", 1, 3}, Way{"lost", 2, 3}}) {
    INFO(way.peers);
    const Peers peers(way.peers);
    Card from(way.from), to(way.to);
    const int64_t page = from.gpu->page_bytes();
    std::byte *source = from.gpu->reserve(page).take(), *target = to.gpu->reserve(page).take();
    REQUIRE(from.gpu->map(source, page).ok());
    REQUIRE(to.gpu->map(target, page).ok());
    const std::string sent = "some bytes that are sent";
    std::string received(sent.size(), ' ');
    REQUIRE(from.gpu->copy_in(source, sent.data(), sent.size(), Gpu::Lane::kCompute, nullptr).ok());
    REQUIRE(from.gpu->wait_idle().ok());
    REQUIRE(to.gpu->copy_peer(target, *from.gpu, source, sent.size(), Gpu::Lane::kPeer).message() == "");
    REQUIRE(to.gpu->wait_idle().ok());
    const uint64_t ticket = to.gpu->copy_out(received.data(), target, sent.size(), Gpu::Lane::kToHost).take();
    REQUIRE(to.gpu->finish(ticket).ok());
    CHECK(received == sent);
    REQUIRE(from.gpu->unmap(source, page).ok());
    REQUIRE(to.gpu->unmap(target, page).ok());
    from.gpu->release(source, page);
    to.gpu->release(target, page);
  }
}

/// A GPU and numbers in its memory.
struct Filled {
  Filled(int device, uint32_t first, size_t count) : card(device), numbers(count) {
    std::iota(numbers.begin(), numbers.end(), first);
    room = (bytes() + card.gpu->page_bytes() - 1) / card.gpu->page_bytes() * card.gpu->page_bytes();
    memory = card.gpu->reserve(room).take();
    REQUIRE(card.gpu->map(memory, room).ok());
    REQUIRE(card.gpu->copy_in(memory, numbers.data(), numbers.size() * 4, Gpu::Lane::kCompute, nullptr).ok());
    REQUIRE(card.gpu->finish(~uint64_t{0}).ok());
    REQUIRE(card.gpu->wait_idle().ok());
  }
  ~Filled() {
    CHECK(card.gpu->wait_idle().ok());
    CHECK(card.gpu->unmap(memory, room).ok());
    card.gpu->release(memory, room);
  }
  int64_t bytes() const { return static_cast<int64_t>(numbers.size() * 4); }

  Card card;
  std::vector<uint32_t> numbers;
  int64_t room = 0;
  std::byte* memory = nullptr;
};

TEST_CASE("a piece of the host's memory is not filled again before it is read", "[host]") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    standin::set_seed(seed);
    Filled to(3, 0, 1000), from(0, 1000, 1000);
    HostBridge bridge(3, 256);
    std::vector<uint32_t> received(1000);
    REQUIRE(to.card.gpu->activate().ok());
    const HostBridge::Sender sender{0, static_cast<cudaStream_t>(from.card.gpu->stream(Gpu::Lane::kToHost))};
    REQUIRE(bridge.enqueue(to.memory, to.card.stream(), from.memory, sender, 4000).ok());
    REQUIRE(to.card.gpu->copy_out(received.data(), to.memory, 4000, Gpu::Lane::kPeer).ok());
    REQUIRE(to.card.gpu->finish(~uint64_t{0}).ok());
    CHECK(received == from.numbers);
    CHECK((from.card.gpu->wait_idle().ok() && to.card.gpu->wait_idle().ok()));
  }
  standin::set_seed(0);
}

TEST_CASE("copies by the host between cards are in order and keep nobody waiting, whatever their size", "[host]") {
  const Peers none("none");
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    for (size_t count : {size_t{1}, size_t{2} << 20, (size_t{2} << 20) + 1, size_t{5} << 20}) {
      INFO("seed " << seed << ", " << count << " numbers");
      standin::set_seed(seed);
      Filled to(3, 0, count), one(0, 1000, count), two(1, 7, count);
      const auto bytes = static_cast<size_t>(to.bytes());
      std::vector<uint32_t> first(count), second(count);
      (void)to.card.trusts(0), (void)to.card.trusts(1);
      const uint64_t waits = standin::counts().waits;
      Gpu& gpu = *to.card.gpu;
      REQUIRE(gpu.copy_peer(to.memory, *one.card.gpu, one.memory, bytes, Gpu::Lane::kPeer).ok());
      REQUIRE(gpu.copy_out(first.data(), to.memory, bytes, Gpu::Lane::kPeer).ok());
      REQUIRE(gpu.copy_peer(to.memory, *two.card.gpu, two.memory, bytes, Gpu::Lane::kPeer).ok());
      REQUIRE(gpu.copy_out(second.data(), to.memory, bytes, Gpu::Lane::kPeer).ok());
      CHECK(standin::counts().waits == waits);
      REQUIRE(gpu.finish(~uint64_t{0}).ok());
      CHECK(first == one.numbers);
      CHECK(second == two.numbers);
    }
  }
  standin::set_seed(0);
}

}  // namespace
}  // namespace emplace::cuda::testing
