#include "core/report/reduce/shrink.h"

#include <algorithm>

namespace emplace {
namespace {

std::vector<size_t> kept_nodes(const Shrink::Nodes& kept) {
  std::vector<size_t> nodes;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) nodes.push_back(i);
  }
  return nodes;
}

}  // namespace

/// A candidate that fails becomes the one to go on with.
Result<bool> Shrink::fails(Nodes kept) {
  close_(kept);
  if (kept == kept_) return false;
  ++counts_.tries;
  const auto same = std::find_if(known_.begin(), known_.end(), [&](const auto& known) { return known.first == kept; });
  if (same != known_.end()) return ++counts_.cached, false;
  ASSIGN_OR_RETURN(const bool failed, test_(kept));
  if (failed)
    kept_ = std::move(kept);
  else
    known_.emplace_back(std::move(kept), false);
  return failed;
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

/// Halves, quarters, ... of what is left, until no single node can go.
Status Shrink::remove_pieces() {
  for (size_t piece = std::max<size_t>(1, kept_nodes(kept_).size() / 2);;) {
    bool any = false;
    // From the end: what nobody reads goes first.
    for (size_t end = kept_nodes(kept_).size(); end > 0;) {
      const std::vector<size_t> nodes = kept_nodes(kept_);
      end = std::min(end, nodes.size());
      const size_t begin = end > piece ? end - piece : 0;
      if (nodes.size() > end - begin) {
        Nodes kept = kept_;
        for (size_t i = begin; i < end; ++i) kept[nodes[i]] = 0;
        ASSIGN_OR_RETURN(const bool failed, fails(std::move(kept)));
        any |= failed;
      }
      end = begin;
    }
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
