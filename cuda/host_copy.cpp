#include "cuda/host_copy.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

namespace emplace::cuda {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
constexpr size_t kLarge = 4 * kPiece;
constexpr unsigned kMostHelpers = 7;

class Helpers {
 public:
  /// As many as there are cores for, beside the caller, and as the machine gives.
  Helpers() {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    try {
      for (unsigned i = 0; i < std::min(cores - 1, kMostHelpers); ++i) std::thread([this] { work(); }).detach();
    } catch (const std::system_error&) {
    }
  }

  /// False: they work for somebody else.
  bool copy(std::byte* to, const std::byte* from, size_t bytes) {
    std::unique_lock alone(in_use_, std::try_to_lock);
    if (!alone) return false;
    std::unique_lock lock(mutex_);
    to_ = to;
    from_ = from;
    next_ = 0;
    bytes_ = bytes;
    more_.notify_all();
    while (next_ < bytes_) copy_piece(lock);
    done_.wait(lock, [&] { return under_way_ == 0; });
    return true;
  }

 private:
  void work() {
    for (std::unique_lock lock(mutex_);; copy_piece(lock)) more_.wait(lock, [&] { return next_ < bytes_; });
  }
  /// REQUIRES: one is left. The lock is given up meanwhile.
  void copy_piece(std::unique_lock<std::mutex>& lock) {
    const size_t begin = next_, size = std::min(kPiece, bytes_ - begin);
    next_ += size;
    ++under_way_;
    lock.unlock();
    std::memcpy(to_ + begin, from_ + begin, size);
    lock.lock();
    if (--under_way_ == 0) done_.notify_one();
  }

  std::mutex in_use_;  // held by whoever's copy this is
  std::mutex mutex_;
  std::condition_variable more_, done_;
  // Guarded by mutex_; to_ and from_ stay as they are while pieces are under way.
  std::byte* to_ = nullptr;
  const std::byte* from_ = nullptr;
  size_t bytes_ = 0, next_ = 0;  // next_: where the next piece begins
  int under_way_ = 0;
};

}  // namespace

void copy_on_host(void* to, const void* from, size_t bytes) {
  if (bytes >= kLarge) {
    static auto* const kHelpers = new Helpers;  // they wait for work until the process ends
    if (kHelpers->copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes)) return;
  }
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace emplace::cuda
