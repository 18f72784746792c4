#include "cuda/nccl.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/base/cat.h"
#include "cuda/library.h"
#include "cuda/nccl_api.h"
#if !defined(EMPLACE_STANDIN) && __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace emplace::cuda {
namespace nccl {

#ifndef EMPLACE_STANDIN
#if __has_include(<nccl.h>)
static_assert(NCCL_MAJOR == 2 && static_cast<int>(ncclInt32) == static_cast<int>(Data::kInt32) &&
              static_cast<int>(ncclInt64) == static_cast<int>(Data::kInt64) &&
              static_cast<int>(ncclFloat16) == static_cast<int>(Data::kHalf) &&
              static_cast<int>(ncclFloat32) == static_cast<int>(Data::kFloat) &&
              static_cast<int>(ncclFloat64) == static_cast<int>(Data::kDouble));
static_assert(static_cast<int>(ncclInProgress) == kInProgress && sizeof(ncclUniqueId) == sizeof(UniqueId));
constexpr ncclConfig_t kAsNew = NCCL_CONFIG_INITIALIZER;
static_assert(kAsNew.magic == Config{}.magic && offsetof(ncclConfig_t, size) == offsetof(Config, size) &&
              offsetof(ncclConfig_t, magic) == offsetof(Config, magic) &&
              offsetof(ncclConfig_t, version) == offsetof(Config, version) &&
              offsetof(ncclConfig_t, blocking) == offsetof(Config, blocking));
static_assert(static_cast<int>(ncclSum) == static_cast<int>(Reduction::kSum) &&
              static_cast<int>(ncclProd) == static_cast<int>(Reduction::kProduct) &&
              static_cast<int>(ncclMax) == static_cast<int>(Reduction::kMax) &&
              static_cast<int>(ncclMin) == static_cast<int>(Reduction::kMin));
#endif

Status load(Functions& f) {
  ASSIGN_OR_RETURN(const Library library, Library::open("libnccl.so.2"));
  RETURN_IF_ERROR(library.find("ncclCommInitAll", f.init_all));
  RETURN_IF_ERROR(library.find("ncclGetUniqueId", f.unique_id));
  RETURN_IF_ERROR(library.find("ncclCommInitRankConfig", f.init_rank));
  RETURN_IF_ERROR(library.find("ncclAllReduce", f.all_reduce));
  RETURN_IF_ERROR(library.find("ncclGroupStart", f.group_start));
  RETURN_IF_ERROR(library.find("ncclGroupEnd", f.group_end));
  RETURN_IF_ERROR(library.find("ncclCommGetAsyncError", f.async_error));
  RETURN_IF_ERROR(library.find("ncclCommAbort", f.abort));
  RETURN_IF_ERROR(library.find("ncclGetErrorString", f.error_text));
  return library.find("ncclGetLastError", f.last_error);
}
#endif

namespace {

const Result<Functions>& functions() {
  static const Result<Functions> kFunctions = Library::table(load);
  return kFunctions;
}

Status status_of(const Functions& f, int error, const char* call) {
  if (error == 0 || error == kInProgress) return ok_status();
  const char* more = f.last_error(nullptr);
  return internal_error(
      cat(call, ": error ", error, " (", f.error_text(error), ")", more && *more ? ": " : "", more ? more : ""));
}

Data data_type(DType type) {
  switch (type) {
    case DType::kHalf:
      return Data::kHalf;
    case DType::kDouble:
      return Data::kDouble;
    case DType::kInt32:
      return Data::kInt32;
    case DType::kInt64:
      return Data::kInt64;
    default:
      return Data::kFloat;
  }
}

/// Calls return kInProgress only where the communicator does not block.
bool has_failed(int error) { return error != 0 && error != kInProgress; }

class Cards final : public Communicator {
 public:
  Cards(const Functions& f, size_t count) : f_(f), comms_(count) {}

  Status init(const std::vector<int>& devices) {
    int current = 0;
    (void)cudaGetDevice(&current);
    devices_ = devices;
    Status made =
        status_of(f_, f_.init_all(comms_.data(), static_cast<int>(comms_.size()), devices.data()), "ncclCommInitAll");
    (void)cudaSetDevice(current);
    return made;
  }

  /// Waits until those of all processes have come, or it is given up.
  Status init_among(const UniqueId& id, const std::vector<int>& devices, const std::vector<int>& ranks, int total) {
    int current = 0;
    (void)cudaGetDevice(&current);
    devices_ = devices;
    blocks_ = false;
    Status made = begin_among(id, ranks, total);
    (void)cudaSetDevice(current);
    const auto end = std::chrono::steady_clock::now() + kToMeet;
    while (made.ok()) {
      bool in_progress = false;
      {
        std::lock_guard lock(mutex_);
        made = settled(in_progress);
      }
      if (!in_progress) break;
      if (made.ok() && std::chrono::steady_clock::now() > end)
        made = unavailable(cat("the GPUs of all tasks have not met within ", kToMeet.count(), " s"));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return made;
  }

  Status all_reduce(std::span<const Part> parts, int64_t count, DType type, Reduction reduction) override {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(lost_);
    RETURN_IF_ERROR(status_of(f_, f_.group_start(), "ncclGroupStart"));
    Status all;
    for (size_t rank = 0; rank < parts.size() && all.ok(); ++rank) {
      const Part& p = parts[rank];
      all = status_of(f_,
                      f_.all_reduce(p.from, p.to, static_cast<size_t>(count), data_type(type),
                                    static_cast<int>(reduction), comms_[rank], p.stream),
                      "ncclAllReduce");
    }
    Status ended = status_of(f_, f_.group_end(), "ncclGroupEnd");
    RETURN_IF_ERROR(all.ok() ? ended : all);
    for (bool in_progress = !blocks_; in_progress;) RETURN_IF_ERROR(settled(in_progress));
    return ok_status();
  }

  /// Ends what is under way if a member is lost: the others would wait for it for good.
  Status check() {
    std::lock_guard lock(mutex_);
    bool in_progress = false;
    return settled(in_progress);
  }

  void give_up() {
    std::lock_guard lock(mutex_);
    if (lost_.ok()) lose(unavailable("a collective was given up: the step has failed on another task"));
  }

 private:
  static constexpr std::chrono::seconds kToMeet{60};

  Status begin_among(const UniqueId& id, const std::vector<int>& ranks, int total) {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(lost_);
    Config config;
    RETURN_IF_ERROR(status_of(f_, f_.group_start(), "ncclGroupStart"));
    Status all;
    for (size_t i = 0; i < comms_.size() && all.ok(); ++i) {
      all = cudaSetDevice(devices_[i]) == cudaSuccess
                ? status_of(f_, f_.init_rank(&comms_[i], total, id, ranks[i], &config), "ncclCommInitRankConfig")
                : internal_error(cat("no CUDA device ", devices_[i]));
    }
    Status ended = status_of(f_, f_.group_end(), "ncclGroupEnd");
    return all.ok() ? ended : all;
  }

  // With mutex_ held: what has become of the calls so far.
  Status settled(bool& in_progress) {
    in_progress = false;
    for (size_t rank = 0; rank < comms_.size() && lost_.ok(); ++rank) {
      int error = 0;
      if (!comms_[rank]) continue;
      Status asked = status_of(f_, f_.async_error(comms_[rank], &error), "ncclCommGetAsyncError");
      if (!asked.ok()) return asked;
      in_progress |= error == kInProgress;
      if (!has_failed(error)) continue;
      lose(unavailable(cat("a collective was given up: CUDA device ", devices_[rank], " tells of error ", error, " (",
                           f_.error_text(error), ")")));
    }
    return lost_;
  }
  void lose(Status why) {
    lost_ = std::move(why);
    for (Comm comm : comms_) {
      if (comm) (void)f_.abort(comm);
    }
  }

  const Functions& f_;
  std::mutex mutex_;
  // Guarded by mutex_ once init() has returned.
  std::vector<Comm> comms_;
  std::vector<int> devices_;
  bool blocks_ = true;
  Status lost_;
};

/// A communicator with other processes, and who of this one is in it.
struct Shared {
  std::shared_ptr<Cards> cards;
  std::vector<int> devices, ranks;
  int total = 0;
};

/// The communicators of the process, by their cards.
struct Kept {
  std::mutex mutex;
  // Guarded by mutex.
  std::map<std::vector<int>, std::unique_ptr<Cards>> cards;
  std::map<std::string, Shared, std::less<>> shared;  // with other processes, by their id
  std::vector<std::shared_ptr<Cards>> given_up;       // kernels still refer to them
  std::atomic<bool> any{false};
};
Kept& kept() {
  static auto* const kAll = new Kept;
  return *kAll;
}

}  // namespace
}  // namespace nccl

Status nccl_there() { return nccl::functions().status(); }

Result<Communicator*> Communicator::of(const std::vector<int>& devices) {
  for (size_t i = 0; i < devices.size(); ++i) {
    if (std::find(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i), devices[i]) ==
        devices.begin() + static_cast<std::ptrdiff_t>(i))
      continue;
    return invalid_argument(
        cat("two members of the collective are on CUDA device ", devices[i], "; NCCL wants each on a card of its own"));
  }
  RETURN_IF_ERROR(nccl_there());
  nccl::Kept& all = nccl::kept();
  std::lock_guard lock(all.mutex);
  std::unique_ptr<nccl::Cards>& cards = all.cards[devices];
  if (!cards) {
    auto made = std::make_unique<nccl::Cards>(*nccl::functions(), devices.size());
    RETURN_IF_ERROR(made->init(devices));
    cards = std::move(made);
    all.any = true;
  }
  return static_cast<Communicator*>(cards.get());
}

Result<std::string> Communicator::make_id() {
  RETURN_IF_ERROR(nccl_there());
  nccl::UniqueId id{};
  RETURN_IF_ERROR(nccl::status_of(*nccl::functions(), nccl::functions()->unique_id(&id), "ncclGetUniqueId"));
  return std::string(id.bytes, sizeof id.bytes);
}

Result<Communicator*> Communicator::among(std::string_view id, const std::vector<int>& devices,
                                          const std::vector<int>& ranks, int total) {
  RETURN_IF_ERROR(nccl_there());
  nccl::UniqueId unique{};
  if (id.size() != sizeof unique.bytes) return failed_precondition("the session has no id for GPUs of several tasks");
  std::copy(id.begin(), id.end(), unique.bytes);
  nccl::Kept& all = nccl::kept();
  std::shared_ptr<nccl::Cards> made;
  {
    std::lock_guard lock(all.mutex);
    nccl::Shared& known = all.shared[std::string(id)];
    if (known.cards && (known.devices != devices || known.ranks != ranks || known.total != total))
      return unimplemented("collectives of one session that have not the same GPUs as members");
    if (known.cards) return static_cast<Communicator*>(known.cards.get());
    made = std::make_shared<nccl::Cards>(*nccl::functions(), devices.size());
    known = {made, devices, ranks, total};
    all.any = true;
  }
  if (Status met = made->init_among(unique, devices, ranks, total); !met.ok()) return give_up(id), met;
  return static_cast<Communicator*>(made.get());
}

void Communicator::give_up(std::string_view id) {
  nccl::Kept& all = nccl::kept();
  std::shared_ptr<nccl::Cards> cards;
  {
    std::lock_guard lock(all.mutex);
    const auto found = all.shared.find(id);
    if (found == all.shared.end()) return;
    cards = all.given_up.emplace_back(found->second.cards);
    all.shared.erase(found);
  }
  cards->give_up();
}

bool Communicator::any() { return nccl::kept().any; }

Status Communicator::check_all() {
  nccl::Kept& all = nccl::kept();
  std::lock_guard lock(all.mutex);
  for (const auto& [devices, cards] : all.cards) {
    if (cards) RETURN_IF_ERROR(cards->check());
  }
  for (const auto& [id, shared] : all.shared) RETURN_IF_ERROR(shared.cards->check());
  return ok_status();
}

}  // namespace emplace::cuda
