#include "core/report/diff/diff_report.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/units.h"

namespace emplace {
namespace {

/// "GPU:0" for a device of this process, else the whole name.
std::string_view short_name(std::string_view device) {
  constexpr std::string_view kOwn = "/job:localhost/replica:0/task:0/device:";
  return device.starts_with(kOwn) ? device.substr(kOwn.size()) : device;
}

/// "moved 2 of 7: x, y", or below each other if they are many.
void add_list(std::string& out, std::string_view head, const std::vector<std::string>& items, size_t top) {
  constexpr size_t kInLine = 3;
  out += head;
  if (items.size() <= kInLine) {
    for (size_t i = 0; i < items.size(); ++i) append(out, i == 0 ? ": " : ", ", items[i]);
    out += '\n';
    return;
  }
  out += ":\n";
  for (size_t i = 0; i < std::min(top, items.size()); ++i) append(out, "  ", items[i], '\n');
  if (items.size() > top) append(out, "  and ", items.size() - top, " more: --top ", items.size(), "\n");
}

std::string moved_text(const MovedNodes& moved) {
  std::string text = moved.name;
  if (!moved.colocated.empty())
    append(text, " with ", counted(static_cast<int64_t>(moved.colocated.size()), "colocated node"));
  append(text, ' ', short_name(moved.from), " -> ", short_name(moved.to));
  if (!moved.follows.empty()) {
    append(text, " (follows ", moved.follows, ')');
  } else if (!moved.reason.empty() && !moved.reason_before.empty() && moved.reason != moved.reason_before) {
    append(text, " (", moved.reason_before, " -> ", moved.reason, ')');
  } else if (!moved.reason.empty() || !moved.reason_before.empty()) {
    append(text, " (", moved.reason.empty() ? moved.reason_before : moved.reason, ')');
  }
  return text;
}

std::string changed_text(const ChangedNode& node) {
  std::string what;
  const auto add = [&](bool changed, std::string_view name) {
    if (changed) append(what, what.empty() ? "" : ", ", name);
  };
  add(node.op, "op");
  add(node.inputs, "inputs");
  add(node.contents, "attributes or shapes");
  return cat(node.name, " (", what, ')');
}

void add_nodes(std::string& out, const PlacementDiff& diff, size_t top) {
  std::vector<std::string> items;
  for (const MovedNodes& moved : diff.moved) items.push_back(moved_text(moved));
  add_list(out, cat("moved ", diff.num_moved, " of ", diff.nodes), items, top);
  items.clear();
  for (const ChangedReason& reason : diff.reasons)
    items.push_back(cat(reason.name, " (", reason.before, " -> ", reason.after, ')'));
  if (!items.empty()) add_list(out, cat("reason changed ", items.size()), items, top);
  items.clear();
  for (const ChangedNode& node : diff.changed) items.push_back(changed_text(node));
  if (!items.empty()) add_list(out, cat("changed ", items.size()), items, top);
  items.clear();
  for (const auto& [before, after] : diff.renamed) items.push_back(cat(before, " -> ", after));
  if (!items.empty()) add_list(out, cat("renamed ", items.size()), items, top);
  if (!diff.added.empty()) add_list(out, cat("added ", diff.added.size()), diff.added, top);
  if (!diff.removed.empty()) add_list(out, cat("removed ", diff.removed.size()), diff.removed, top);
}

std::string copy_text(char sign, const CopyView& copy) {
  return cat(std::string(1, sign), ' ', copy.tensor, ' ', short_name(copy.from), " -> ", short_name(copy.to), ' ',
             copy.bytes ? size_text(*copy.bytes) : "size unknown");
}

void add_copies(std::string& out, const PlacementDiff& diff, size_t top) {
  if (!diff.copies_known) {
    out += "copies not known: a saved placement has none; 'emplace place --format json' writes them\n";
    return;
  }
  const int64_t more = diff.bytes_after - diff.bytes_before;
  const auto unknown = [](const std::vector<CopyView>& copies) {
    return std::count_if(copies.begin(), copies.end(), [](const CopyView& copy) { return !copy.bytes; });
  };
  std::string head = cat("copies ", diff.copies_before, " -> ", diff.copies_after), change;
  if (more != 0) append(change, more > 0 ? "+" : "-", size_text(more > 0 ? more : -more));
  const auto add_unknown = [&](char sign, int64_t count) {
    if (count > 0) append(change, change.empty() ? "" : ", ", std::string(1, sign), count, " of unknown size");
  };
  add_unknown('+', unknown(diff.new_copies));
  add_unknown('-', unknown(diff.gone_copies));
  if (!change.empty()) append(head, " (", change, ')');
  std::vector<std::string> items;
  for (const CopyView& copy : diff.new_copies) items.push_back(copy_text('+', copy));
  for (const CopyView& copy : diff.gone_copies) items.push_back(copy_text('-', copy));
  add_list(out, head, items, top);
}

void add_peaks(std::string& out, const PlacementDiff& diff) {
  const auto text = [](std::optional<int64_t> bytes) { return bytes ? size_text(*bytes) : std::string("unknown"); };
  for (const ChangedPeak& peak : diff.peaks)
    append(out, "peak ", short_name(peak.device), ' ', text(peak.before), " -> ", text(peak.after), '\n');
}

void add_cause(std::string& out, const PlacementDiff& diff, const DiffReport& report) {
  std::vector<std::string> cause = report.cause;
  if (cause.empty()) {
    for (const std::string& device : diff.new_devices) cause.push_back(cat(short_name(device), " is there now"));
    for (const std::string& device : diff.gone_devices) cause.push_back(cat(short_name(device), " is gone"));
  }
  for (size_t i = 0; i < cause.size(); ++i) append(out, i == 0 ? "cause: " : "; ", cause[i]);
  if (!cause.empty()) out += '\n';
}

}  // namespace

std::string diff_text(const PlacementDiff& diff, const DiffReport& report) {
  std::string out;
  if (diff.same()) {
    append(out, "same: ", counted(static_cast<int64_t>(diff.nodes), "node"), ", nothing moved");
    if (diff.copies_known) append(out, ", copies ", diff.copies_after);
    out += '\n';
    add_peaks(out, diff);
    return out;
  }
  add_nodes(out, diff, report.top);
  add_copies(out, diff, report.top);
  add_peaks(out, diff);
  add_cause(out, diff, report);
  return out;
}

}  // namespace emplace
