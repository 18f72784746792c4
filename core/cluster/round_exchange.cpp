#include "core/cluster/round_exchange.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace emplace {
namespace {

constexpr size_t kTensorAlign = 64;                    // of tensors
constexpr std::chrono::microseconds kPause{50};        // how often a waiting task asks: MPI moves data meanwhile
constexpr std::chrono::microseconds kSlowPause{1000};  // once it has waited long
constexpr std::chrono::milliseconds kNotYetSlow{20};

size_t aligned(size_t bytes) { return (bytes + kTensorAlign - 1) / kTensorAlign * kTensorAlign; }

/// What MPI may still read and write lives as long as the process.
void leave_to_mpi(Tensor tensor) {
  static auto* const kLeft = new std::vector<Tensor>;
  kLeft->push_back(std::move(tensor));
}

}  // namespace

RoundExchange::RoundExchange(MessagePassing& ranks, std::vector<int> rank_of, TaskId self)
    : ranks_(ranks), rank_of_(std::move(rank_of)), self_(self) {}

RoundExchange::~RoundExchange() { end(); }

void RoundExchange::end() {
  for (State& state : states_) {
    if (!state.begun || has_ended(state)) continue;
    broken_ = failed_precondition("a collective of MPI was cut short in a step before; a new job is needed");
    leave_to_mpi(std::move(state.out)), leave_to_mpi(std::move(state.in));
  }
  if (next_ < states_.size())  // others may have begun them
    broken_ = failed_precondition("a step before ended without its collectives of MPI; a new job is needed");
  states_.clear();
  next_ = 0;
  runs_ = false;
}

void RoundExchange::begin(std::shared_ptr<const Rounds> rounds) {
  end();
  if (rounds_ != rounds) {
    rounds_ = std::move(rounds);
    layouts_.clear();
    for (const Round& round : rounds_->all) layouts_.push_back(lay_out(round));
  }
  runs_ = true;
  states_.resize(layouts_.size());
  for (size_t r = 0; r < states_.size(); ++r) states_[r].to_put = layouts_[r].puts;
}

RoundExchange::Parts RoundExchange::place(const Round& round, bool outgoing) const {
  Parts parts;
  const size_t count = rank_of_.size();
  parts.bytes.resize(count), parts.at.resize(count);
  std::vector<TaskId> task_of(count);
  for (TaskId task = 0; task < count; ++task) task_of[static_cast<size_t>(rank_of_[task])] = task;
  for (size_t rank = 0; rank < count; ++rank) {
    const TaskId task = task_of[rank];
    std::unordered_map<ValueId, size_t> known;  // of a round to all, a value is there once
    parts.at[rank] = static_cast<int>(parts.size);
    for (const Round::Item& item : round.items) {
      if (round.to_all ? item.from != task
                       : item.from != (outgoing ? self_ : task) || item.to != (outgoing ? task : self_))
        continue;
      const auto [at, is_new] = known.try_emplace(item.value, parts.size);
      if (item.from == self_ || item.to == self_) parts.place[item.copy] = at->second;
      if (is_new) parts.size += aligned(item.bytes());
    }
    parts.bytes[rank] = static_cast<int>(parts.size) - parts.at[rank];
  }
  return parts;
}

RoundExchange::Layout RoundExchange::lay_out(const Round& round) const {
  Layout made;
  made.in = place(round, false);
  if (!round.to_all) made.out = place(round, true);
  made.puts = static_cast<size_t>(
      std::count_if(round.items.begin(), round.items.end(), [&](const auto& item) { return item.from == self_; }));
  return made;
}

Status RoundExchange::make_room(size_t round) {
  State& state = states_[round];
  const auto allocate = [](const Parts& parts, Tensor& to) -> Status {
    if (to.valid()) return ok_status();
    ASSIGN_OR_RETURN(to, Tensor::allocate(DType::kUInt8, Shape{static_cast<int64_t>(parts.size)}));
    return ok_status();
  };
  RETURN_IF_ERROR(allocate(layouts_[round].in, state.in));
  return rounds_->all[round].to_all ? ok_status() : allocate(layouts_[round].out, state.out);
}

Status RoundExchange::put(uint32_t copy, const Tensor& value) {
  RETURN_IF_ERROR(broken_);
  const size_t round = rounds_->round_of.at(copy);
  RETURN_IF_ERROR(make_room(round));
  State& state = states_[round];
  const bool to_all = rounds_->all[round].to_all;
  const Parts& parts = to_all ? layouts_[round].in : layouts_[round].out;
  std::memcpy((to_all ? state.in : state.out).data<char>() + parts.place.at(copy), value.raw(), value.size_bytes());
  --state.to_put;
  return start_ready();
}

// All tasks begin them in this order.
Status RoundExchange::start_ready() {
  while (next_ < states_.size() && states_[next_].to_put == 0) RETURN_IF_ERROR(start(next_++));
  return ok_status();
}

Status RoundExchange::start(size_t round) {
  RETURN_IF_ERROR(make_room(round));
  State& state = states_[round];
  const Parts &in = layouts_[round].in, &out = layouts_[round].out;
  state.number = rounds_->all[round].to_all
                     ? ranks_.start_all_gather(state.in.data<char>(), in.bytes.data(), in.at.data())
                     : ranks_.start_all_to_all(state.out.data<char>(), out.bytes.data(), out.at.data(),
                                               state.in.data<char>(), in.bytes.data(), in.at.data());
  state.begun = true;
  ++begun_;
  return ok_status();
}

bool RoundExchange::has_ended(State& state) {
  if (!state.ended && ranks_.ended(state.number)) {
    state.ended = true;
    state.out = Tensor();
  }
  return state.ended;
}

Result<Tensor> RoundExchange::take(uint32_t copy, const Stopped& stopped) {
  RETURN_IF_ERROR(broken_);
  RETURN_IF_ERROR(start_ready());
  const size_t round = rounds_->round_of.at(copy);
  State& state = states_[round];
  if (!state.begun) return internal_error("a round is waited for before its values are made");
  const auto long_ago = std::chrono::steady_clock::now() + kNotYetSlow;
  while (!has_ended(state)) {
    RETURN_IF_ERROR(stopped());
    std::this_thread::sleep_for(std::chrono::steady_clock::now() < long_ago ? kPause : kSlowPause);
  }
  const std::vector<Round::Item>& items = rounds_->all[round].items;
  const auto item = std::find_if(items.begin(), items.end(), [&](const auto& i) { return i.copy == copy; });
  return Tensor::wrap(item->dtype, item->shape, state.in.data<char>() + layouts_[round].in.place.at(copy),
                      state.in.buffer());
}

void RoundExchange::finish(const Stopped& stopped) {
  if (!broken_.ok() || !start_ready().ok()) return;
  for (size_t r = 0; r < next_; ++r) {
    while (!has_ended(states_[r])) {
      if (!stopped().ok()) return;
      std::this_thread::sleep_for(kPause);
    }
    states_[r].in = Tensor();
  }
}

}  // namespace emplace
