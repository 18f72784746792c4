#include "core/report/compare/lockstep.h"

#include <algorithm>
#include <cstring>

#include "core/report/compare/recorded.h"

namespace emplace {
namespace {

bool has_elements(const Tensor& t) {
  return !is_ref(t.dtype()) && t.dtype() != DType::kResource && t.dtype() != DType::kVariant;
}

/// `to` has other elements than before. Constants and what only hands its input on are equal already, and never
/// written.
bool replace_elements(const Tensor& from, const Tensor& to) {
  if (!from.valid() || from.dtype() != to.dtype() || !(from.shape() == to.shape()) || same_bytes(from, to))
    return false;
  if (from.dtype() == DType::kString) {
    std::copy(from.flat<std::string>().begin(), from.flat<std::string>().end(), to.data<std::string>());
  } else {
    std::memcpy(to.raw(), from.raw(), from.size_bytes());
  }
  return true;
}

}  // namespace

Lockstep::SideObserver::SideObserver(Lockstep& all, const Graph& graph, const Graph& other, bool is_a)
    : all_(all), is_a_(is_a), node_in_a_(graph.num_nodes(), kNoNode), times_(graph.num_nodes(), 0) {
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    const NodeId same = other.find(graph.name(node));
    if (same != kNoNode) node_in_a_[node] = is_a ? node : same;
  }
}

Status Lockstep::SideObserver::finished(const ObservedInstruction& what, std::span<const Tensor> outputs) {
  if (what.is_copy() || node_in_a_[what.node] == kNoNode) return ok_status();
  if (std::none_of(outputs.begin(), outputs.end(), has_elements)) return ok_status();
  const Key key{node_in_a_[what.node], times_[what.node]++};
  if (is_a_) return all_.offer(key, outputs);
  const std::optional<std::vector<Tensor>> a = all_.take(key);
  if (a) replaced_ = all_.compare(key, *a, outputs);
  return all_.stopped() ? stop_of_both() : ok_status();
}

Lockstep::Lockstep(const Graph& a, const Graph& b, const LockstepOptions& options)
    : options_(options), found_(a.num_nodes()), graph_(a), side_a_(*this, a, b, true), side_b_(*this, b, a, false) {}

Status Lockstep::stop_of_both() { return {Code::kCancelled, "a node is different"}; }

Status Lockstep::offer(const Key& key, std::span<const Tensor> outputs) {
  std::vector<Tensor> copies;
  for (const Tensor& t : outputs) {
    ASSIGN_OR_RETURN(Tensor copy, has_elements(t) ? deep_copy(t) : Result<Tensor>(t));
    copies.push_back(std::move(copy));
  }
  std::unique_lock lock(mutex_);
  if (stopped_) return stop_of_both();
  if (b_ended_) return ok_status();
  held_.emplace(key, std::move(copies));
  changed_.notify_all();
  changed_.wait(lock, [this] {
    return stopped_ || b_ended_ || held_.empty() || (wanted_ && held_.find(*wanted_) == held_.end());
  });
  return stopped_ ? stop_of_both() : ok_status();
}

std::optional<std::vector<Tensor>> Lockstep::take(const Key& key) {
  std::unique_lock lock(mutex_);
  wanted_ = key;
  changed_.notify_all();
  changed_.wait(lock, [&] { return stopped_ || a_ended_ || held_.find(key) != held_.end(); });
  wanted_.reset();
  const auto at = held_.find(key);
  if (stopped_ || at == held_.end()) return {};
  std::vector<Tensor> outputs = std::move(at->second);
  held_.erase(at);
  changed_.notify_all();
  return outputs;
}

bool Lockstep::compare(const Key& key, const std::vector<Tensor>& a, std::span<const Tensor> b) {
  bool replaced = false;
  const size_t before = found_.different.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!has_elements(a[i]) || !has_elements(b[i])) continue;
    OutputDifference found{{key.first, static_cast<uint32_t>(i)}};
    found.time = key.second;
    found.difference = tensor_difference(a[i], b[i], options_.tolerance);
    found_.add(graph_, std::move(found));
    if (!options_.flow) replaced |= replace_elements(a[i], b[i]);
  }
  if (found_.different.size() > before && !options_.to_the_end) {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  return replaced;
}

void Lockstep::ended_a() {
  std::lock_guard lock(mutex_);
  a_ended_ = true;
  changed_.notify_all();
}

void Lockstep::ended_b() {
  std::lock_guard lock(mutex_);
  b_ended_ = true;
  held_.clear();
  changed_.notify_all();
}

bool Lockstep::stopped() const {
  std::lock_guard lock(mutex_);
  return stopped_;
}

}  // namespace emplace
