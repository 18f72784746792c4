// Part of cuda/standin/device_functions.h: grids on one CPU thread. Without barriers, threads are calls in a loop; with
// barriers, those of a block are fibers that run until they wait.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/standin/standin.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace emplace::standin {
namespace {

constexpr size_t kStackBytes = size_t{64} << 10;
constexpr unsigned kMaxThreads = 1024;

[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "CUDA stand-in: %s (block %u, thread %u)\n", why, blockIdx.x, threadIdx.x);
  std::abort();
}

#ifdef __x86_64__
extern "C" void emplace_standin_switch(void** save, void* load);
asm(R"(
.text
.local emplace_standin_switch
.type emplace_standin_switch, @function
emplace_standin_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emplace_standin_switch, .-emplace_standin_switch
)");
#endif

/// What comes when, of `count`.
class Sequence {
 public:
  static Sequence of(uint64_t count) {
    Sequence s;
    s.count_ = std::max<uint64_t>(count, 1);
    const Order order = order_of_all.load();
    if (order == Order::kNormal) return s;
    if (order == Order::kReverse) {
      s.factor_ = s.count_ - 1;
      s.first_ = s.count_ - 1;
      return s;
    }
    uint64_t drawn = draws.fetch_add(0x9e3779b97f4a7c15u);
    drawn = (drawn ^ (drawn >> 31)) * 0xbf58476d1ce4e5b9u;
    s.first_ = (drawn >> 20) % s.count_;
    s.factor_ = std::max<uint64_t>((drawn >> 40) % s.count_, 1);
    while (std::gcd(s.factor_, s.count_) != 1) ++s.factor_;
    return s;
  }
  uint64_t at(uint64_t i) const { return (first_ + factor_ * i) % count_; }

  static inline std::atomic<Order> order_of_all{Order::kNormal};
  static inline std::atomic<uint64_t> draws{1};

 private:
  uint64_t count_ = 1, first_ = 0, factor_ = 1;  // steps through all of them, since the factor divides not
};

const bool kOrderIsSet = [] {
  const char* text = std::getenv("EMPLACE_STANDIN_ORDER");
  if (!text || std::string_view(text) == "normal") return false;
  const bool reverse = std::string_view(text) == "reverse";
  set_order(reverse ? Order::kReverse : Order::kRandom, std::strtoull(text, nullptr, 10));
  return true;
}();

enum class State : uint8_t { kReady, kAtBlock, kEnded };

/// A barrier in the source.
struct Place {
  const char* file = "";
  unsigned line = 0;
  bool operator==(const Place& other) const { return line == other.line && std::strcmp(file, other.file) == 0; }
};

/// One block's threads. One per CPU thread, reused.
class Block {
 public:
  ~Block() {
    if (stacks_) munmap(stacks_, kMaxThreads * kStackBytes);
  }

  void run(dim3 size, const std::function<void()>& body) {
    if (!stacks_) {
      stacks_ = static_cast<char*>(mmap(nullptr, kMaxThreads * kStackBytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
      if (stacks_ == MAP_FAILED) fail("no memory for stacks");
    }
    body_ = &body;
    count_ = size.x * size.y * size.z;
    states_.assign(count_, State::kReady);
    places_.assign(count_, {});
    fibers_.resize(kMaxThreads);
    for (unsigned t = 0; t < count_; ++t) prepare(t);
    active_ = this;
    while (run_ready(size)) release();
    active_ = nullptr;
  }

  void wait(Place place) {
    states_[current_] = State::kAtBlock;
    places_[current_] = place;
    switch_to_scheduler(false);
  }

  static Block* active() { return active_; }

 private:
  struct Fiber {
    void* stack_pointer = nullptr;
#ifndef __x86_64__
    ucontext_t context;
#endif
    void* fake_stack = nullptr;
  };

  /// Runs every thread that is ready until it waits or ends. Was there one?
  bool run_ready(dim3 size) {
    bool any = false;
    const Sequence order = Sequence::of(count_);
    for (unsigned i = 0; i < count_; ++i) {
      const auto t = static_cast<unsigned>(order.at(i));
      if (states_[t] != State::kReady) continue;
      any = true;
      current_ = t;
      threadIdx = {t % size.x, t / size.x % size.y, t / size.x / size.y};
      switch_to_fiber(t);
    }
    return any;
  }

  /// Nobody is ready: all wait at one barrier, or all have ended.
  void release() {
    for (unsigned t = 1; t < count_; ++t) {
      if (states_[t] == states_[0] && (states_[t] == State::kEnded || places_[t] == places_[0])) continue;
      std::fprintf(stderr, "CUDA stand-in: not all threads of block %u come to a barrier: thread 0 %s, thread %u %s\n",
                   blockIdx.x, whereabouts(0).c_str(), t, whereabouts(t).c_str());
      std::abort();
    }
    for (State& s : states_) {
      if (s == State::kAtBlock) s = State::kReady;
    }
  }
  std::string whereabouts(unsigned t) const {
    if (states_[t] == State::kEnded) return "has ended";
    return std::string("waits at ") + places_[t].file + ":" + std::to_string(places_[t].line);
  }

  static void entry() {
    Block& block = *active_;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &block.scheduler_bottom_, &block.scheduler_size_);
#endif
    (*block.body_)();
    block.states_[block.current_] = State::kEnded;
    block.switch_to_scheduler(true);
    std::abort();
  }

  void prepare(unsigned t) {
    char* stack = stacks_ + t * kStackBytes;
#ifdef __x86_64__
    // As if emplace_standin_switch had been called from entry()'s start: six registers, then where to go.
    auto* top = reinterpret_cast<void**>(stack + kStackBytes) - 2;
    *top = reinterpret_cast<void*>(&Block::entry);
    fibers_[t].stack_pointer = top - 6;
#else
    getcontext(&fibers_[t].context);
    fibers_[t].context.uc_stack.ss_sp = stack;
    fibers_[t].context.uc_stack.ss_size = kStackBytes;
    makecontext(&fibers_[t].context, &Block::entry, 0);
#endif
    fibers_[t].fake_stack = nullptr;
  }

  void switch_to_fiber(unsigned t) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&scheduler_.fake_stack, stacks_ + t * kStackBytes, kStackBytes);
#endif
#ifdef __x86_64__
    emplace_standin_switch(&scheduler_.stack_pointer, fibers_[t].stack_pointer);
#else
    swapcontext(&scheduler_.context, &fibers_[t].context);
#endif
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(scheduler_.fake_stack, nullptr, nullptr);
#endif
  }

  void switch_to_scheduler([[maybe_unused]] bool for_good) {
    Fiber& fiber = fibers_[current_];
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(for_good ? nullptr : &fiber.fake_stack, scheduler_bottom_, scheduler_size_);
#endif
#ifdef __x86_64__
    emplace_standin_switch(&fiber.stack_pointer, scheduler_.stack_pointer);
#else
    swapcontext(&fiber.context, &scheduler_.context);
#endif
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fiber.fake_stack, &scheduler_bottom_, &scheduler_size_);
#endif
  }

  static constinit thread_local Block* active_;
  char* stacks_ = nullptr;
  const std::function<void()>* body_ = nullptr;
  unsigned count_ = 0, current_ = 0;
  std::vector<State> states_;
  std::vector<Place> places_;  // of those that wait
  std::vector<Fiber> fibers_;
  Fiber scheduler_;
  [[maybe_unused]] const void* scheduler_bottom_ = nullptr;
  [[maybe_unused]] size_t scheduler_size_ = 0;
};
constinit thread_local Block* Block::active_ = nullptr;

thread_local std::vector<uint4> shared_memory;
thread_local std::vector<const void*> spoiled;  // of this block

/// The pattern that says "never written": NaN as a float and as a double, far away as an integer.
void spoil_shared(size_t bytes) {
  shared_memory.resize((bytes + sizeof(uint4) - 1) / sizeof(uint4));
  std::memset(shared_memory.data(), 0xfb, shared_memory.size() * sizeof(uint4));
}

}  // namespace

void set_order(Order order, uint64_t seed) {
  Sequence::draws = seed;
  Sequence::order_of_all = order;
}

void spoil_for_block(void* data, size_t bytes) {
  if (std::find(spoiled.begin(), spoiled.end(), data) != spoiled.end()) return;
  spoiled.push_back(data);
  std::memset(data, 0xfb, bytes);
}

void wait_for_block(const char* file, unsigned line) {
  if (!Block::active()) fail("__syncthreads() in a kernel launched without barriers");
  Block::active()->wait({file, line});
}
void* dynamic_shared() { return shared_memory.data(); }

void run_grid(bool barriers, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& body) {
  thread_local Block fibers;
  gridDim = grid;
  blockDim = block;
  const unsigned threads = block.x * block.y * block.z;
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  const Sequence order = Sequence::of(blocks);
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t b = order.at(i);
    blockIdx = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                static_cast<unsigned>(b / grid.x / grid.y)};
    spoiled.clear();
    if (shared_bytes > 0) spoil_shared(shared_bytes);
    if (barriers) {
      fibers.run(block, body);
      continue;
    }
    const Sequence inner = Sequence::of(threads);
    for (unsigned k = 0; k < threads; ++k) {
      const auto t = static_cast<unsigned>(inner.at(k));
      threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
      body();
    }
  }
}

}  // namespace emplace::standin
