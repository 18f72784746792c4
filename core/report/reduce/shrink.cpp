#include "core/report/reduce/shrink.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr size_t kNone = ~size_t{0};

std::vector<size_t> kept_nodes(const Shrink::Nodes& kept) {
  std::vector<size_t> nodes;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) nodes.push_back(i);
  }
  return nodes;
}

}  // namespace

Result<size_t> Shrink::first_that_fails(std::vector<Nodes> candidates) {
  std::vector<size_t> numbers;
  std::vector<Nodes> open;
  for (size_t i = 0; i < candidates.size(); ++i) {
    Nodes& kept = candidates[i];
    close_(kept);
    if (kept == kept_) continue;
    ++counts_.tries;
    const auto same =
        std::find_if(known_.begin(), known_.end(), [&](const auto& known) { return known.first == kept; });
    if (same != known_.end()) {
      ++counts_.cached;
      continue;
    }
    numbers.push_back(i);
    open.push_back(std::move(kept));
  }
  if (open.empty()) return kNone;
  ASSIGN_OR_RETURN(const std::vector<char> failed, test_(open));
  size_t first = kNone;
  for (size_t k = 0; k < open.size(); ++k) {
    if (!failed[k])
      known_.emplace_back(std::move(open[k]), false);
    else if (first == kNone)
      kept_ = std::move(open[k]), first = numbers[k];
  }
  return first;
}

Result<bool> Shrink::fails(Nodes kept) {
  std::vector<Nodes> one;
  one.push_back(std::move(kept));
  ASSIGN_OR_RETURN(const size_t first, first_that_fails(std::move(one)));
  return first != kNone;
}

/// The shortest row of first nodes that fails: bisection.
Status Shrink::find_prefix() {
  const std::vector<size_t> nodes = kept_nodes(kept_);
  size_t low = 0, high = nodes.size();  // the first `high` fail
  while (low + 1 < high) {
    const size_t middle = low + (high - low) / 2;
    Nodes kept(kept_.size(), 0);
    for (size_t i = 0; i < middle; ++i) kept[nodes[i]] = 1;
    ASSIGN_OR_RETURN(const bool failed, fails(std::move(kept)));
    failed ? high = middle : low = middle;
  }
  return ok_status();
}

/// The last node is to blame, more often than not.
Status Shrink::try_alone() {
  const std::vector<size_t> nodes = kept_nodes(kept_);
  if (nodes.size() < 2) return ok_status();
  Nodes kept(kept_.size(), 0);
  kept[nodes.back()] = 1;
  return fails(std::move(kept)).take_status();
}

/// From the end: what nobody reads goes first. Was any left out?
Result<bool> Shrink::remove_pieces_of(size_t size) {
  bool any = false;
  for (size_t end = kept_nodes(kept_).size(); end > 0;) {
    const std::vector<size_t> nodes = kept_nodes(kept_);
    end = std::min(end, nodes.size());
    std::vector<Nodes> candidates;
    std::vector<size_t> begins;
    for (size_t last = end; last > 0 && candidates.size() < at_once_;) {
      const size_t begin = last > size ? last - size : 0;
      if (nodes.size() > last - begin) {
        candidates.push_back(kept_);
        for (size_t i = begin; i < last; ++i) candidates.back()[nodes[i]] = 0;
        begins.push_back(begin);
      }
      last = begin;
    }
    if (candidates.empty()) return any;
    ASSIGN_OR_RETURN(const size_t first, first_that_fails(std::move(candidates)));
    any |= first != kNone;
    end = first == kNone ? begins.back() : begins[first];
  }
  return any;
}

/// Halves, quarters, ... of what is left, until no single node can go.
Status Shrink::remove_pieces() {
  for (size_t piece = std::max<size_t>(1, kept_nodes(kept_).size() / 2);;) {
    ASSIGN_OR_RETURN(const bool any, remove_pieces_of(piece));
    if (piece > 1)
      piece = std::max<size_t>(1, piece / 2);
    else if (!any)
      return ok_status();
  }
}

Result<Shrink::Nodes> Shrink::smallest(const Nodes& all) {
  kept_ = all;
  RETURN_IF_ERROR(find_prefix());
  RETURN_IF_ERROR(try_alone());
  RETURN_IF_ERROR(remove_pieces());
  return kept_;
}

}  // namespace emplace
