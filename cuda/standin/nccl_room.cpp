#include "cuda/standin/nccl_room.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace emplace::cuda::nccl {
namespace {

constexpr size_t kHeadBytes = size_t{1} << 16;

// The file is as large as what is written to it.
size_t bytes_of(int total) { return kHeadBytes + static_cast<size_t>(total) * 2 * NcclRoom::kMostBytes; }

}  // namespace

std::string NcclRoom::make() {
  static_assert(sizeof(Head) <= kHeadBytes);
  const char* folder = std::getenv("TMPDIR");
  std::string name = std::string(folder ? folder : "/tmp") + "/emplace-standin-nccl-XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0) return {};
  const bool has_room = ftruncate(file, static_cast<off_t>(bytes_of(kMostRanks))) == 0;
  close(file);
  return has_room ? name : std::string();
}

std::shared_ptr<NcclRoom> NcclRoom::enter(const std::string& name, int rank, int total, const std::string& card) {
  if (rank < 0 || rank >= total || total > kMostRanks) return nullptr;
  const int file = open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  const size_t size = bytes_of(total);
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return nullptr;
  std::shared_ptr<NcclRoom> room(new NcclRoom(memory, size, total));
  Head& head = room->head();
  std::memcpy(head.seats[rank].card, card.data(), std::min(card.size(), sizeof head.seats[rank].card));
  if (head.here.fetch_add(1) + 1 == total) unlink(name.c_str());
  return room;
}

NcclRoom::~NcclRoom() { munmap(memory_, size_); }

bool NcclRoom::all_are_here() const { return head().here >= total_; }

bool NcclRoom::has_card_twice() const {
  for (int i = 0; i < total_; ++i) {
    for (int j = 0; j < i; ++j) {
      if (std::memcmp(head().seats[i].card, head().seats[j].card, sizeof head().seats[i].card) == 0) return true;
    }
  }
  return false;
}

bool NcclRoom::has_place(uint64_t call) const {
  return std::all_of(head().seats, head().seats + total_, [&](const Seat& seat) { return seat.done + 2 >= call; });
}

char* NcclRoom::place(int rank, uint64_t call) const {
  return static_cast<char*>(memory_) + kHeadBytes + (static_cast<size_t>(rank) * 2 + call % 2) * kMostBytes;
}

void NcclRoom::post(int rank, uint64_t call, const void* data, size_t bytes, uint64_t what) {
  std::memcpy(place(rank, call), data, bytes);
  Seat& seat = head().seats[rank];
  seat.what[call % 2] = what;
  seat.posted = call;
}

bool NcclRoom::all_have_posted(uint64_t call) const {
  return std::all_of(head().seats, head().seats + total_, [&](const Seat& seat) { return seat.posted >= call; });
}

bool NcclRoom::is_same_call(uint64_t call) const {
  const Seat* const seats = head().seats;
  return std::all_of(seats, seats + total_,
                     [&](const Seat& seat) { return seat.what[call % 2] == seats[0].what[call % 2]; });
}

const void* NcclRoom::posted(int rank, uint64_t call) const { return place(rank, call); }

void NcclRoom::done(int rank, uint64_t call) { head().seats[rank].done = call; }

}  // namespace emplace::cuda::nccl
