/// NcclRoom: where ranks of several processes meet on the stand-in: a file that all map. A rank posts what it has for a
/// call, and reads what all have posted once they have. Like NCCL, it waits for a rank that is gone for good.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace emplace::cuda::nccl {

class NcclRoom {
 public:
  static constexpr int kMostRanks = 16;
  static constexpr size_t kMostBytes = size_t{64} << 20;  // of a rank in a call

  /// The name of a new one; empty: there is no place for it.
  static std::string make();
  /// Null: there is no such room, or no such rank. `card`: its UUID.
  static std::shared_ptr<NcclRoom> enter(const std::string& name, int rank, int total, const std::string& card);
  ~NcclRoom();
  NcclRoom(const NcclRoom&) = delete;
  NcclRoom& operator=(const NcclRoom&) = delete;

  bool all_are_here() const;
  /// Once all are: is a card there twice?
  bool has_card_twice() const;

  /// Calls are counted from 1. Has everybody done the call before the last, whose place this one takes?
  bool has_place(uint64_t call) const;
  /// `what`: equal for all ranks, or the call is not the same.
  void post(int rank, uint64_t call, const void* data, size_t bytes, uint64_t what);
  bool all_have_posted(uint64_t call) const;
  bool is_same_call(uint64_t call) const;
  const void* posted(int rank, uint64_t call) const;
  void done(int rank, uint64_t call);

 private:
  struct Seat {
    std::atomic<uint64_t> posted, done;
    uint64_t what[2];
    char card[64];
  };
  struct Head {
    std::atomic<int> here;
    Seat seats[kMostRanks];
  };

  NcclRoom(void* memory, size_t size, int total) : memory_(memory), size_(size), total_(total) {}
  Head& head() const { return *static_cast<Head*>(memory_); }
  char* place(int rank, uint64_t call) const;

  void* const memory_;
  const size_t size_;
  const int total_;
};

}  // namespace emplace::cuda::nccl
