#include "cuda/nccl.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

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
static_assert(static_cast<int>(ncclInProgress) == kInProgress);
static_assert(static_cast<int>(ncclSum) == static_cast<int>(Reduction::kSum) &&
              static_cast<int>(ncclProd) == static_cast<int>(Reduction::kProduct) &&
              static_cast<int>(ncclMax) == static_cast<int>(Reduction::kMax) &&
              static_cast<int>(ncclMin) == static_cast<int>(Reduction::kMin));
#endif

Status load(Functions& f) {
  ASSIGN_OR_RETURN(const Library library, Library::open("libnccl.so.2"));
  RETURN_IF_ERROR(library.find("ncclCommInitAll", f.init_all));
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
  if (error == 0) return ok_status();
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
    return all.ok() ? ended : all;
  }

  /// Ends what is under way if a member is lost: the others would wait for it for good.
  Status check() {
    std::lock_guard lock(mutex_);
    for (size_t rank = 0; rank < comms_.size() && lost_.ok(); ++rank) {
      int error = 0;
      Status asked = status_of(f_, f_.async_error(comms_[rank], &error), "ncclCommGetAsyncError");
      if (!asked.ok()) return asked;
      if (error == 0 || error == kInProgress) continue;
      lost_ = unavailable(cat("a collective was given up: CUDA device ", devices_[rank], " tells of error ", error,
                              " (", f_.error_text(error), ")"));
      for (Comm comm : comms_) (void)f_.abort(comm);
    }
    return lost_;
  }

 private:
  const Functions& f_;
  std::mutex mutex_;
  // Guarded by mutex_ once init() has returned.
  std::vector<Comm> comms_;
  std::vector<int> devices_;
  Status lost_;
};

/// The communicators of the process, by their cards.
struct Kept {
  std::mutex mutex;
  std::map<std::vector<int>, std::unique_ptr<Cards>> cards;  // guarded by mutex
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

bool Communicator::any() { return nccl::kept().any; }

Status Communicator::check_all() {
  nccl::Kept& all = nccl::kept();
  std::lock_guard lock(all.mutex);
  for (const auto& [devices, cards] : all.cards) {
    if (cards) RETURN_IF_ERROR(cards->check());
  }
  return ok_status();
}

}  // namespace emplace::cuda
