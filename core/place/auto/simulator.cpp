#include "core/place/auto/simulator.h"

#include <algorithm>
#include <bit>

namespace emplace::autoplace {

Simulator::Simulator(const Problem& problem)
    : p_(problem),
      ranks_(problem.num_nodes),
      us_(problem.num_nodes),
      missing_(problem.num_nodes),
      resources_(3 * problem.devices() + 1),
      last_row_(resources_.size() + 1, -1),
      rank_at_(problem.devices()) {}

double Simulator::run(const Assignment& at, double limit) {
  rows_ = nullptr;
  if (const double least = upward_ranks(at); least >= limit) return least;
  begin(at);
  return play(limit);
}

double Simulator::schedule(const Assignment& at, std::vector<Slot>& rows) {
  rows.clear();
  rows_ = &rows;
  upward_ranks(at);
  begin(at);
  const double end = play(kNever);
  rows_ = nullptr;
  return end;
}

double Simulator::upward_ranks(const Assignment& at) {
  double longest = 0;
  for (uint32_t node = p_.num_nodes; node-- > 0;) {
    const uint16_t d = at[p_.group[node]];
    double behind = 0;
    us_[node] = p_.node_us(node, d);
    for (uint32_t t : p_.outputs.of(node)) {
      const uint16_t from = p_.made_in(t, d);
      bool leaves = false;
      for (const Use& use : p_.readers.of(t)) {
        const uint16_t to = p_.machine.memory_of(at[p_.group[use.node]], use.host_on_gpu);
        leaves = leaves || from != to;
        const double rank = ranks_[use.node] + (from == to ? 0 : p_.way_us(t, from, to));
        behind = std::max(behind, rank);
      }
      if (leaves) us_[node] += p_.tensors[t].split_us;
    }
    ranks_[node] = us_[node] + behind;
    longest = std::max(longest, ranks_[node]);
  }
  return longest;
}

void Simulator::begin(const Assignment& at) {
  at_ = &at;
  const size_t n = p_.devices();
  for (size_t d = 0; d < n; ++d) {
    const Machine::Unit& unit = p_.machine.units[d];
    resources_[d].free = unit.lanes;
    resources_[d].limited = unit.lanes > 0;
    for (size_t engine : {n + d, 2 * n + d}) {
      resources_[engine].free = 1;
      resources_[engine].limited = true;
    }
  }
  // Between CPUs nobody is in the way of copies.
  resources_[3 * n].limited = false;
  idle_threads_ = p_.machine.threads;
  for (Resource& r : resources_) {
    if (idle_threads_ > 0 && !r.limited) r.free = idle_threads_, r.limited = true;
  }
  for (Resource& r : resources_) r.waiting.clear(), r.dirty = false;
  std::fill(last_row_.begin(), last_row_.end(), -1);
  dirty_.clear();
  events_.clear();
  tasks_.resize(p_.num_nodes);
  for (uint32_t node = 0; node < p_.num_nodes; ++node) {
    const uint16_t d = at[p_.group[node]];
    tasks_[node] = {ranks_[node], us_[node], node, false, d, d, 0, -1, -1};
    missing_[node] = static_cast<uint32_t>(p_.inputs.of(node).size());
  }
}

double Simulator::play(double limit) {
  for (uint32_t node = 0; node < p_.num_nodes; ++node) {
    if (missing_[node] == 0) make_ready(node);
  }
  double now = 0;
  if (!start_ready(now, limit)) return limit;
  while (!events_.empty()) {
    now = events_.front().time;
    while (!events_.empty() && events_.front().time == now) {
      std::pop_heap(events_.begin(), events_.end());
      const uint32_t task = events_.back().task;
      events_.pop_back();
      finish(task);
    }
    if (!start_ready(now, limit)) return std::max(limit, now);
  }
  return now;
}

// A copy out of a GPU takes that GPU's engine, also to another GPU; a copy out of a CPU the engine of where it goes.
uint32_t Simulator::resource_of(const Task& task) const {
  const auto n = static_cast<uint32_t>(p_.devices());
  if (!task.copy) return task.from;
  if (p_.machine.units[task.from].gpu) return p_.machine.units[task.from].copy_overlap ? 2 * n + task.from : task.from;
  if (p_.machine.units[task.to].gpu) return p_.machine.units[task.to].copy_overlap ? n + task.to : task.to;
  return 3 * n;
}

bool Simulator::before(uint32_t a, uint32_t b) const {
  return tasks_[a].rank != tasks_[b].rank ? tasks_[a].rank < tasks_[b].rank : a > b;
}

void Simulator::make_ready(uint32_t task) {
  const uint32_t id = resource_of(tasks_[task]);
  if (!resources_[id].limited) {
    dirty_.push_back(task + static_cast<uint32_t>(resources_.size()));  // starts at once
    return;
  }
  Resource& r = resources_[id];
  r.waiting.push_back(task);
  std::push_heap(r.waiting.begin(), r.waiting.end(), [this](uint32_t a, uint32_t b) { return before(a, b); });
  if (!r.dirty) r.dirty = true, dirty_.push_back(id);
}

// False: the step will take `limit` or more.
bool Simulator::start_ready(double now, double limit) {
  if (p_.machine.threads > 0) return start_on_threads(now, limit);
  for (size_t i = 0; i < dirty_.size(); ++i) {
    const uint32_t id = dirty_[i];
    if (id >= resources_.size()) {
      start(id - static_cast<uint32_t>(resources_.size()), now);
      continue;
    }
    Resource& r = resources_[id];
    r.dirty = false;
    while (r.free > 0 && !r.waiting.empty()) {
      if (!start_first(id, now, limit)) return false;
    }
  }
  dirty_.clear();
  return true;
}

// Of all that have a lane, the highest rank takes the next idle thread.
bool Simulator::start_on_threads(double now, double limit) {
  for (const uint32_t id : dirty_) resources_[id].dirty = false;
  dirty_.clear();
  while (idle_threads_ > 0) {
    uint32_t best = static_cast<uint32_t>(resources_.size());
    for (uint32_t id = 0; id < resources_.size(); ++id) {
      const Resource& r = resources_[id];
      if (r.free <= 0 || r.waiting.empty()) continue;
      if (best == resources_.size() || before(resources_[best].waiting.front(), r.waiting.front())) best = id;
    }
    if (best == resources_.size()) return true;
    if (!start_first(best, now, limit)) return false;
    --idle_threads_;
  }
  return true;
}

// Of what waits for a resource that is free.
bool Simulator::start_first(uint32_t id, double now, double limit) {
  Resource& r = resources_[id];
  const uint32_t task = r.waiting.front();
  if (now + tasks_[task].rank >= limit) return false;
  std::pop_heap(r.waiting.begin(), r.waiting.end(), [this](uint32_t a, uint32_t b) { return before(a, b); });
  r.waiting.pop_back();
  --r.free;
  for (const int64_t last : {last_row_.back(), last_row_[id]}) {
    if (rows_ && last >= 0 && (*rows_)[static_cast<size_t>(last)].end_us == now) tasks_[task].waited_for = last;
  }
  start(task, now);
  return true;
}

void Simulator::start(uint32_t task, double now) {
  Task& t = tasks_[task];
  if (rows_) {
    t.row = static_cast<int64_t>(rows_->size());
    rows_->push_back({t.copy, t.what, t.from, t.to, now, now + t.us, t.waited_for});
  }
  events_.push_back({now + t.us, task});
  std::push_heap(events_.begin(), events_.end());
}

void Simulator::finish(uint32_t task) {
  const Task t = tasks_[task];
  if (const uint32_t id = resource_of(t); resources_[id].limited) {
    Resource& r = resources_[id];
    ++r.free;
    last_row_[id] = t.row;
    if (!r.dirty && !r.waiting.empty()) r.dirty = true, dirty_.push_back(id);
  }
  if (p_.machine.threads > 0) ++idle_threads_, last_row_.back() = t.row;
  if (!t.copy) {
    for (uint32_t tensor : p_.outputs.of(t.what)) {
      const uint16_t where = p_.made_in(tensor, t.from);
      deliver(tensor, where, t.row);
      send(tensor, where);
    }
    return;
  }
  deliver(t.what, t.to, t.row);
  if (t.onward == 0) return;
  std::fill(rank_at_.begin(), rank_at_.end(), 0);
  for (const Use& use : p_.readers.of(t.what)) {
    double& rank = rank_at_[p_.machine.memory_of((*at_)[p_.group[use.node]], use.host_on_gpu)];
    rank = std::max(rank, ranks_[use.node]);
  }
  for (uint64_t rest = t.onward; rest != 0; rest &= rest - 1) {
    const auto to = static_cast<uint16_t>(std::countr_zero(rest));
    add_copy(t.what, t.to, to, 0, rank_at_[to]);
    tasks_.back().waited_for = t.row;
    make_ready(static_cast<uint32_t>(tasks_.size() - 1));
  }
}

// Starts the copies of a tensor that was just made: to each memory where it is wanted, once.
void Simulator::send(uint32_t tensor, uint16_t from) {
  uint64_t wanted = 0;
  for (const Use& use : p_.readers.of(tensor)) {
    const uint16_t to = p_.machine.memory_of((*at_)[p_.group[use.node]], use.host_on_gpu);
    if (to == from) continue;
    if (!(wanted >> to & 1)) rank_at_[to] = 0;
    wanted |= uint64_t{1} << to;
    rank_at_[to] = std::max(rank_at_[to], ranks_[use.node]);
  }
  uint64_t by_host = 0;
  double rank_by_host = 0;
  const uint16_t host = p_.machine.host;
  const int64_t row = tasks_[p_.tensors[tensor].node].row;
  const auto add = [&](uint16_t to, uint64_t onward, double rank) {
    add_copy(tensor, from, to, onward, rank);
    tasks_.back().waited_for = row;
    make_ready(static_cast<uint32_t>(tasks_.size() - 1));
  };
  for (uint64_t rest = wanted; rest != 0; rest &= rest - 1) {
    const auto to = static_cast<uint16_t>(std::countr_zero(rest));
    if (!p_.machine.line(from, to).direct) {
      by_host |= uint64_t{1} << to;
      rank_by_host = std::max(rank_by_host, p_.copy_us(tensor, host, to) + rank_at_[to]);
    } else if (to != host) {
      add(to, 0, rank_at_[to]);
    }
  }
  if (wanted >> host & 1) rank_by_host = std::max(rank_by_host, rank_at_[host]);
  if (by_host != 0 || (wanted >> host & 1)) add(host, by_host, rank_by_host);
}

void Simulator::add_copy(uint32_t tensor, uint16_t from, uint16_t to, uint64_t onward, double rank_behind) {
  const double us = p_.copy_us(tensor, from, to);
  tasks_.push_back({us + rank_behind, us, tensor, true, from, to, onward, -1, -1});
}

void Simulator::deliver(uint32_t tensor, uint16_t where, int64_t row) {
  for (const Use& use : p_.readers.of(tensor)) {
    const uint16_t wants = p_.machine.memory_of((*at_)[p_.group[use.node]], use.host_on_gpu);
    if (wants != where || --missing_[use.node] != 0) continue;
    tasks_[use.node].waited_for = row;
    make_ready(use.node);
  }
}

}  // namespace emplace::autoplace
