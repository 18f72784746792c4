// Part of core/cluster/message_passing.h: by MPI.
#include "core/cluster/message_passing.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace emplace {
namespace {

constexpr int kTag = 1;

class MpiMessagePassing final : public MessagePassing {
 public:
  explicit MpiMessagePassing(MPI_Comm all) : all_(all) {
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

  bool wait_for_all(double timeout_s) override {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(timeout_s);
    MPI_Request all_are_here;
    MPI_Ibarrier(all_, &all_are_here);
    for (int done = 0; Clock::now() < end;) {
      MPI_Test(&all_are_here, &done, MPI_STATUS_IGNORE);
      if (done) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // MPI_Wait would keep a processor busy
    }
    return false;
  }

  void finish() override { MPI_Finalize(); }

 private:
  struct Sent {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  // What has gone out.
  void reap() {
    std::lock_guard lock(mutex_);
    std::erase_if(under_way_, [](Sent& sent) {
      int done = 0;
      MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  const MPI_Comm all_;
  int rank_ = 0, size_ = 1;
  std::mutex mutex_;
  std::deque<Sent> under_way_;  // guarded by mutex_
};

MessagePassing* start(std::string* error) {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_MULTIPLE) {
    *error = "this MPI has no MPI_THREAD_MULTIPLE";
    return nullptr;
  }
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  return new MpiMessagePassing(own);  // until the process ends
}

}  // namespace
}  // namespace emplace

extern "C" __attribute__((visibility("default"))) const emplace::MessagePassingPlugin* emplace_message_passing() {
  static const emplace::MessagePassingPlugin kPlugin{emplace::kMessagePassingAbi, &emplace::start};
  return &kPlugin;
}
