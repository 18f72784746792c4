// Part of core/cluster/message_passing.h: by MPI.
#include "core/cluster/message_passing.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace emplace {
namespace {

constexpr int kTag = 1;

class MpiMessagePassing final : public MessagePassing {
 public:
  /// `collectives`: the same ranks, apart from all other messages.
  MpiMessagePassing(MPI_Comm all, MPI_Comm collectives) : all_(all), collectives_(collectives) {
    MPI_Comm_rank(all_, &rank_);
    MPI_Comm_size(all_, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::string bytes) override {
    const auto size = static_cast<int>(bytes.size());
    std::lock_guard lock(mutex_);
    Sent& sent = under_way_.emplace_back();
    sent.bytes = std::move(bytes);
    MPI_Isend(sent.bytes.data(), size, MPI_CHAR, to, kTag, all_, &sent.request);
  }

  bool poll(int& from, std::string& bytes) override {
    std::lock_guard lock(mutex_);
    reap();
    int found = 0, size = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, kTag, all_, &found, &message, &status);
    if (!found) return false;
    MPI_Get_count(&status, MPI_CHAR, &size);
    from = status.MPI_SOURCE;
    bytes.resize(static_cast<size_t>(size));
    MPI_Mrecv(bytes.data(), size, MPI_CHAR, &message, &status);
    return true;
  }

  int64_t start_all_to_all(const char* out, const int* out_bytes, const int* out_at, char* in, const int* in_bytes,
                           const int* in_at) override {
    std::lock_guard lock(mutex_);
    const auto [number, c] = add_collective({out_bytes, out_at, in_bytes, in_at});
    MPI_Ialltoallv(out, c->counts[0].data(), c->counts[1].data(), MPI_CHAR, in, c->counts[2].data(),
                   c->counts[3].data(), MPI_CHAR, collectives_, &c->request);
    return number;
  }

  int64_t start_all_gather(char* all, const int* bytes, const int* at) override {
    std::lock_guard lock(mutex_);
    const auto [number, c] = add_collective({bytes, at});
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_CHAR, all, c->counts[0].data(), c->counts[1].data(), MPI_CHAR, collectives_,
                    &c->request);
    return number;
  }

  bool ended(int64_t collective) override {
    std::lock_guard lock(mutex_);
    const auto found = running_.find(collective);
    int done = 1;
    if (found != running_.end()) MPI_Test(&found->second.request, &done, MPI_STATUS_IGNORE);
    if (done && found != running_.end()) running_.erase(found);
    return done != 0;
  }

  bool wait_for_all(double timeout_s) override {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(timeout_s);
    MPI_Request all_are_here = MPI_REQUEST_NULL;
    {
      std::lock_guard lock(mutex_);
      MPI_Ibarrier(all_, &all_are_here);
    }
    while (Clock::now() < end) {
      int done = 0;
      {
        std::lock_guard lock(mutex_);
        MPI_Test(&all_are_here, &done, MPI_STATUS_IGNORE);
      }
      if (done) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // MPI_Wait would keep a processor busy
    }
    return false;
  }

  // MPI waits for collectives that some ranks have not begun, for good.
  void finish() override {
    if (running_.empty()) MPI_Finalize();
  }

 private:
  struct Sent {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  /// The counts belong to MPI while it runs.
  struct Collective {
    std::vector<std::vector<int>> counts;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  // With mutex_ held.
  std::pair<int64_t, Collective*> add_collective(std::initializer_list<const int*> counts) {
    Collective& made = running_[++last_];
    for (const int* by_rank : counts) made.counts.emplace_back(by_rank, by_rank + size_);
    return {last_, &made};
  }

  // With mutex_ held: what has gone out.
  void reap() {
    std::erase_if(under_way_, [](Sent& sent) {
      int done = 0;
      MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  const MPI_Comm all_, collectives_;
  int rank_ = 0, size_ = 1;
  // Held in all calls of MPI, any of which moves the data of all that is under way: who hears that it has ended comes
  // behind whoever moved it.
  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<Sent> under_way_;
  std::map<int64_t, Collective> running_;
  int64_t last_ = 0;
};

MessagePassing* start(std::string* error) {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_MULTIPLE) {
    *error = "this MPI has no MPI_THREAD_MULTIPLE";
    return nullptr;
  }
  MPI_Comm own, collectives;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_dup(MPI_COMM_WORLD, &collectives);
  return new MpiMessagePassing(own, collectives);  // until the process ends
}

}  // namespace
}  // namespace emplace

extern "C" __attribute__((visibility("default"))) const emplace::MessagePassingPlugin* emplace_message_passing() {
  static const emplace::MessagePassingPlugin kPlugin{emplace::kMessagePassingAbi, &emplace::start};
  return &kPlugin;
}
