#include "core/report/diff/placement_diff.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/report/diff/match_nodes.h"

namespace emplace {
namespace {

ChangedNode compare_nodes(const PlacementView& a, const NodeView& before, const PlacementView& b,
                          const NodeView& after) {
  ChangedNode change{after.name};
  change.op = !before.op.empty() && !after.op.empty() && before.op != after.op;
  change.inputs = a.has_inputs && b.has_inputs && before.inputs != after.inputs;
  change.contents = before.contents && after.contents && *before.contents != *after.contents;
  return change;
}

/// Inputs that are spelled otherwise only because what they name was renamed are the same.
NodeView in_words_of_b(const NodeView& before, const std::map<std::string, std::string, std::less<>>& renamed) {
  if (renamed.empty()) return before;
  NodeView node = before;
  for (std::string& input : node.inputs) {
    const size_t begin = input.starts_with('^') ? 1 : 0, end = std::min(input.rfind(':'), input.size());
    const auto name = renamed.find(input.substr(begin, end - begin));
    if (name != renamed.end()) input.replace(begin, end - begin, name->second);
  }
  return node;
}

class Differ {
 public:
  Differ(const PlacementView& a, const PlacementView& b) : a_(a), b_(b), match_(match_nodes(a, b)) {}

  PlacementDiff make() {
    diff_.nodes = b_.nodes.size();
    find_renamed();
    for (uint32_t i = 0; i < b_.nodes.size(); ++i) add_node(i);
    for (uint32_t i = 0; i < a_.nodes.size(); ++i) {
      if (match_.of_a[i] == kNoMatch) diff_.removed.push_back(a_.nodes[i].name);
    }
    compare_copies();
    compare_devices();
    return std::move(diff_);
  }

 private:
  void find_renamed() {
    for (uint32_t i = 0; i < b_.nodes.size(); ++i) {
      if (match_.of_b[i] == kNoMatch) continue;
      const NodeView& before = a_.nodes[match_.of_b[i]];
      if (before.name == b_.nodes[i].name) continue;
      diff_.renamed.emplace_back(before.name, b_.nodes[i].name);
      renamed_.emplace(before.name, b_.nodes[i].name);
    }
    for (uint32_t i = 0; i < b_.nodes.size(); ++i) {
      if (match_.of_b[i] != kNoMatch && a_.nodes[match_.of_b[i]].device != b_.nodes[i].device)
        moved_names_.insert(b_.nodes[i].name);
    }
  }

  void add_node(uint32_t i) {
    const NodeView& after = b_.nodes[i];
    if (match_.of_b[i] == kNoMatch) return diff_.added.push_back(after.name);
    const NodeView before = in_words_of_b(a_.nodes[match_.of_b[i]], renamed_);
    const ChangedNode change = compare_nodes(a_, before, b_, after);
    if (change.op || change.inputs || change.contents) diff_.changed.push_back(change);
    if (before.device != after.device) {
      add_moved(before, after);
    } else if (before.reason != after.reason && !before.reason.empty() && !after.reason.empty()) {
      diff_.reasons.push_back({after.name, before.reason, after.reason});
    }
  }

  void add_moved(const NodeView& before, const NodeView& after) {
    ++diff_.num_moved;
    const auto key = std::tuple(after.group, before.device, after.device);
    if (const auto group = group_.find(key); after.group != 0 && group != group_.end()) {
      diff_.moved[group->second].colocated.push_back(after.name);
      return;
    }
    group_.emplace(key, diff_.moved.size());
    MovedNodes& moved = diff_.moved.emplace_back();
    moved.name = after.name;
    moved.from = before.device;
    moved.to = after.device;
    moved.reason_before = before.reason;
    moved.reason = after.reason;
    if (moved_names_.count(after.because)) moved.follows = after.because;
  }

  void compare_copies() {
    diff_.copies_known = a_.copies && b_.copies;
    if (!diff_.copies_known) return;
    std::vector<CopyView> before = *a_.copies, after = *b_.copies;
    for (CopyView& copy : before) rename_tensor(copy);
    diff_.copies_before = before.size();
    diff_.copies_after = after.size();
    for (const CopyView& copy : before) diff_.bytes_before += copy.bytes.value_or(0);
    for (const CopyView& copy : after) diff_.bytes_after += copy.bytes.value_or(0);
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(diff_.new_copies));
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                        std::back_inserter(diff_.gone_copies));
    const auto larger = [](const CopyView& x, const CopyView& y) { return x.bytes.value_or(0) > y.bytes.value_or(0); };
    std::stable_sort(diff_.new_copies.begin(), diff_.new_copies.end(), larger);
    std::stable_sort(diff_.gone_copies.begin(), diff_.gone_copies.end(), larger);
  }

  void rename_tensor(CopyView& copy) const {
    const size_t colon = copy.tensor.rfind(':');
    const auto name = renamed_.find(copy.tensor.substr(0, colon));
    if (name != renamed_.end()) copy.tensor.replace(0, colon, name->second);
  }

  void compare_devices() {
    const std::set<std::string> before(a_.devices.begin(), a_.devices.end());
    const std::set<std::string> after(b_.devices.begin(), b_.devices.end());
    if (!before.empty() && !after.empty()) {
      std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                          std::back_inserter(diff_.new_devices));
      std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                          std::back_inserter(diff_.gone_devices));
    }
    for (const auto& [device, after_peak] : b_.peaks) {
      for (const auto& [same, before_peak] : a_.peaks) {
        if (same == device && before_peak != after_peak) diff_.peaks.push_back({device, before_peak, after_peak});
      }
    }
  }

  const PlacementView& a_;
  const PlacementView& b_;
  NodeMatch match_;
  PlacementDiff diff_;
  std::map<std::string, std::string, std::less<>> renamed_;  // in a -> in b
  std::set<std::string, std::less<>> moved_names_;
  std::map<std::tuple<uint32_t, std::string, std::string>, size_t> group_;
};

}  // namespace

bool PlacementDiff::same() const {
  return moved.empty() && reasons.empty() && changed.empty() && renamed.empty() && added.empty() && removed.empty() &&
         new_copies.empty() && gone_copies.empty();
}

PlacementDiff diff_placements(const PlacementView& a, const PlacementView& b) { return Differ(a, b).make(); }

}  // namespace emplace
