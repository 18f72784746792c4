// Rounds by collectives: between ranks of one process whose collectives end when all ranks have begun them.
#include "core/cluster/round_exchange.h"

#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

constexpr int kRanks = 3;

/// What one rank has begun, in its order.
struct Begun {
  bool to_all = false;
  const char* out = nullptr;
  char* in = nullptr;
  std::vector<int> out_bytes, out_at, in_bytes, in_at;
};

struct Job {
  std::vector<Begun> begun[kRanks];
  size_t moved = 0;

  /// Moves the data of every collective that all ranks have begun.
  void move() {
    for (; std::all_of(begun, begun + kRanks, [&](const auto& b) { return b.size() > moved; }); ++moved) {
      for (auto& from_rank : begun) {
        for (auto& to_rank : begun) copy(from_rank[moved], to_rank[moved], &from_rank - begun, &to_rank - begun);
      }
    }
  }

 private:
  static void copy(const Begun& from, const Begun& to, std::ptrdiff_t f, std::ptrdiff_t t) {
    REQUIRE(from.to_all == to.to_all);
    if (f == t) return;
    const auto a = static_cast<size_t>(f), b = static_cast<size_t>(t);
    const char* source = from.to_all ? from.in + from.in_at[a] : from.out + from.out_at[b];
    const int bytes = from.to_all ? from.in_bytes[a] : from.out_bytes[b];
    REQUIRE(bytes == to.in_bytes[a]);
    std::copy(source, source + bytes, to.in + to.in_at[a]);
  }
};

class Rank final : public MessagePassing {
 public:
  Rank(Job& job, int number) : job_(job), number_(number) {}
  int rank() const override { return number_; }
  int size() const override { return kRanks; }
  void send(int, std::string) override {}
  bool poll(int&, std::string&) override { return false; }
  int64_t start_all_to_all(const char* out, const int* out_bytes, const int* out_at, char* in, const int* in_bytes,
                           const int* in_at) override {
    return add({false, out, in, list(out_bytes), list(out_at), list(in_bytes), list(in_at)});
  }
  int64_t start_all_gather(char* all, const int* bytes, const int* at) override {
    return add({true, nullptr, all, {}, {}, list(bytes), list(at)});
  }
  bool ended(int64_t collective) override {
    job_.move();
    return static_cast<size_t>(collective) <= job_.moved;
  }
  bool wait_for_all(double) override { return true; }
  void finish() override {}

 private:
  static std::vector<int> list(const int* by_rank) { return {by_rank, by_rank + kRanks}; }
  int64_t add(Begun begun) {
    job_.begun[number_].push_back(std::move(begun));
    return static_cast<int64_t>(job_.begun[number_].size());
  }
  Job& job_;
  const int number_;
};

Tensor filled(int64_t count, float value) {
  Tensor made = Tensor::allocate(DType::kFloat, Shape{count}).take();
  std::fill_n(made.data<float>(), count, value);
  return made;
}

constexpr int64_t kCounts[] = {5, 40, 7};  // elements of three gradients, which tasks 0, 1 and 2 add

Round::Item item(uint32_t copy, TaskId from, TaskId to, ValueId value, int64_t count) {
  return {copy, from, to, value, DType::kFloat, Shape{count}};
}

/// Gradients to where they are added: copy 10 a + b from task a to task b; then sums to all: copy 100 + 10 a + b.
std::shared_ptr<const Rounds> sums_and_means() {
  auto made = std::make_shared<Rounds>();
  made->all.resize(2);
  made->all[1].to_all = true;
  for (TaskId a = 0; a < kRanks; ++a) {
    for (TaskId b = 0; b < kRanks; ++b) {
      if (a == b) continue;
      const uint32_t copy = 10u * a + b;
      made->all[0].items.push_back(item(copy, a, b, copy, kCounts[b]));
      made->all[1].items.push_back(item(100 + copy, a, b, 100u + a, kCounts[a]));
      made->round_of[copy] = 0, made->round_of[100 + copy] = 1;
    }
  }
  return made;
}

struct Tasks {
  Job job;
  std::vector<Rank> ranks{{job, 0}, {job, 1}, {job, 2}};
  const std::vector<int> rank_of{1, 0, 2};  // the session's own task is rank 1
  std::vector<std::unique_ptr<RoundExchange>> tasks;
  std::shared_ptr<const Rounds> rounds = sums_and_means();

  Tasks() {
    for (TaskId t = 0; t < kRanks; ++t)
      tasks.push_back(std::make_unique<RoundExchange>(ranks[static_cast<size_t>(rank_of[t])], rank_of, t));
  }
  /// A task's values are those of the step, times its number + 1.
  void put_gradients(TaskId t, float step) {
    for (TaskId to = 0; to < kRanks; ++to) {
      if (to != t) REQUIRE(tasks[t]->put(10u * t + to, filled(kCounts[to], step * static_cast<float>(t + 1))).ok());
    }
  }
  static Status goes_on() { return ok_status(); }
  static Status stopped() { return Status(Code::kCancelled, "stopped"); }
};

}  // namespace

TEST_CASE("rounds bring each task what all others have for it, in every step", "[cluster]") {
  Tasks all;
  for (const float step : {1.0f, 7.0f}) {
    for (auto& task : all.tasks) task->begin(all.rounds);
    for (TaskId t = 0; t < kRanks; ++t) all.put_gradients(t, step);
    std::vector<Tensor> kept;
    for (TaskId t = 0; t < kRanks; ++t) {
      for (TaskId from = 0; from < kRanks; ++from) {
        if (from == t) continue;
        kept.push_back(all.tasks[t]->take(10u * from + t, Tasks::goes_on).take());
        CHECK(same_bytes(kept.back(), filled(kCounts[t], step * static_cast<float>(from + 1))));
        CHECK(reinterpret_cast<uintptr_t>(kept.back().raw()) % 64 == 0);
        REQUIRE(all.tasks[t]->put(100u + 10u * t + from, filled(kCounts[t], step + static_cast<float>(t))).ok());
      }
    }
    for (TaskId t = 0; t < kRanks; ++t) {
      for (TaskId from = 0; from < kRanks; ++from) {
        if (from == t) continue;
        CHECK(same_bytes(*all.tasks[t]->take(100u + 10u * from + t, Tasks::goes_on),
                         filled(kCounts[from], step + static_cast<float>(from))));
      }
    }
    for (auto& task : all.tasks) task->finish(Tasks::goes_on);
    CHECK(same_bytes(kept[0], filled(kCounts[0], step * 2)));  // tensors outlive their round
    for (auto& task : all.tasks) task->end();
  }
  CHECK_FALSE(all.tasks[0]->carries(1));  // what runs now has none
}

TEST_CASE("a round waits until the last task has begun it, or it is stopped", "[cluster]") {
  Tasks all;
  for (auto& task : all.tasks) task->begin(all.rounds);
  all.put_gradients(0, 1);
  all.put_gradients(1, 1);
  CHECK(all.tasks[1]->take(1, Tasks::stopped).status().code() == Code::kCancelled);
  all.put_gradients(2, 1);
  CHECK(same_bytes(*all.tasks[1]->take(1, Tasks::stopped), filled(kCounts[1], 1)));
}

TEST_CASE("after a step that was cut short no collective is begun any longer", "[cluster]") {
  Tasks all;
  for (auto& task : all.tasks) task->begin(all.rounds);
  all.put_gradients(0, 1);
  all.tasks[0]->finish(Tasks::stopped);
  for (auto& task : all.tasks) task->begin(all.rounds);
  for (TaskId t = 0; t < 2; ++t) {  // 0 has begun one, 1 none of several
    const Status refused = all.tasks[t]->put(10u * t + 2, filled(kCounts[2], 1));
    CHECK(refused.code() == Code::kFailedPrecondition);
    CHECK(all.tasks[t]->take(10u * 2 + t, Tasks::goes_on).status().code() == Code::kFailedPrecondition);
  }
}
