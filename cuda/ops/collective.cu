// NcclAllReduce: one node per card, which meet under a name. The executor runs those of one name after each other (see
// core/partition/meetings.h); the last one to come enqueues the work of all. Of nodes in several processes, each does
// so with its own.
#include <array>
#include <map>
#include <string>

#include "core/base/cat.h"
#include "cuda/collective.h"
#include "cuda/device_state.h"
#include "cuda/kernel_table.h"
#include "cuda/nccl.h"

namespace emplace::cuda {
namespace {

Reduction reduction_of(std::string_view name) {
  return name == "prod"  ? Reduction::kProduct
         : name == "max" ? Reduction::kMax
         : name == "min" ? Reduction::kMin
                         : Reduction::kSum;
}

/// What the members of one name share. Used by the thread that runs them.
class Meeting {
 public:
  Meeting(std::string name, int64_t wanted) : name_(std::move(name)), wanted_(static_cast<size_t>(wanted)) {}
  /// Those of this process, of a collective of several.
  Meeting(std::string name, const CollectiveSeat& seat)
      : name_(std::move(name)), wanted_(static_cast<size_t>(seat.here)), id_(seat.id), total_(seat.members) {}

  bool full() const { return devices_.size() == wanted_; }
  /// Returns the rank among those here; `rank`: among all.
  size_t join(int device, int rank) {
    devices_.push_back(device);
    ranks_.push_back(rank);
    return devices_.size() - 1;
  }
  /// Once the last has joined: their communicator.
  Status prepare() {
    if (!full() || communicator_) return ok_status();
    Result<Communicator*> made =
        total_ == 0 ? Communicator::of(devices_) : Communicator::among(id_, devices_, ranks_, total_);
    if (!made.ok()) return made.status().with_context(cat("the collective '", name_, "'"));
    communicator_ = made.take();
    return ok_status();
  }

  Status arrive(size_t rank, KernelContext& c, DType type, Reduction reduction) {
    if (c.step() != step_) parts_.clear();  // of a step that failed
    step_ = c.step();
    const int64_t count = c.input(0).num_elements();
    if (!parts_.empty() && count != count_) {
      return invalid_argument(
          cat("the collective '", name_, "' gets ", count_, " elements of one member and ", count, " of another"));
    }
    count_ = count;
    parts_[rank] = {c.input(0).raw(), c.output(0).raw(), stream_of(c)};
    if (parts_.size() < wanted_) return ok_status();
    if (!communicator_) return failed_precondition(cat("the collective '", name_, "' was not prepared"));
    std::vector<Communicator::Part> by_rank;
    for (const auto& [r, part] : parts_) by_rank.push_back(part);
    parts_.clear();
    return count == 0 ? ok_status() : communicator_->all_reduce(by_rank, count, type, reduction);
  }

 private:
  const std::string name_;
  const size_t wanted_;
  const std::string id_;
  const int total_ = 0;  // 0: all are here
  std::vector<int> devices_, ranks_;
  Communicator* communicator_ = nullptr;
  std::map<size_t, Communicator::Part> parts_;
  int64_t step_ = -1, count_ = 0;
};

/// The kernels of one program are made by one thread, one after the other: a meeting that is full is not joined any
/// more. `of`: how many, or the seat of one.
template <class Of>
std::shared_ptr<Meeting> meeting_of(const std::string& name, const Of& of) {
  thread_local std::map<std::string, std::weak_ptr<Meeting>> open;
  std::weak_ptr<Meeting>& known = open[name];
  std::shared_ptr<Meeting> meeting = known.lock();
  if (!meeting || meeting->full()) known = meeting = std::make_shared<Meeting>(name, of);
  return meeting;
}

class NcclAllReduce final : public Kernel {
 public:
  explicit NcclAllReduce(const KernelInit& init)
      : NcclAllReduce(init, meeting_of(init.attrs.text("shared_name"), init.attrs.integer("num_devices")), 0) {}
  NcclAllReduce(const KernelInit& init, const CollectiveSeat& seat)
      : NcclAllReduce(init, meeting_of(init.attrs.text("shared_name"), seat), seat.rank) {}

  Status prepare(KernelContext&) override { return meeting_->prepare(); }
  Status run(KernelContext& c) override { return meeting_->arrive(rank_, c, type_, reduction_); }

 private:
  NcclAllReduce(const KernelInit& init, std::shared_ptr<Meeting> meeting, int rank)
      : type_(init.input_types[0]),
        reduction_(reduction_of(init.attrs.text("reduction"))),
        meeting_(std::move(meeting)),
        rank_(meeting_->join(device_of(init).device, rank)) {}

  DType type_;
  Reduction reduction_;
  std::shared_ptr<Meeting> meeting_;
  size_t rank_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_member(const KernelInit& init, const CollectiveSeat& seat) {
  return std::unique_ptr<Kernel>(std::make_unique<NcclAllReduce>(init, seat));
}

void add_collective(KernelTable& table) {
  table.add_waiting("NcclAllReduce",
                    DTypeSet{DType::kHalf, DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64},
                    make<NcclAllReduce>);
}

}  // namespace emplace::cuda
