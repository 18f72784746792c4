#include "core/formats/sound_part.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/json_walker.h"

namespace emplace {
namespace {

// Each round removes the nodes that read nodes removed in the round before. Bounds on text read in all, and on rounds.
constexpr size_t kMostText = size_t{16} << 20;
constexpr size_t kMostRounds = 50;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// What can be taken out of a graph file without breaking its JSON: members of the whole but for declarations, and
/// entries of lists called `node`.
class Removable {
 public:
  struct Range {
    size_t begin = 0, end = 0;
  };

  explicit Removable(std::string_view text) : walker_(text, 0) {}

  /// False: no JSON.
  bool scan() { return value(0, true, false) && walker_.peek() == '\0'; }

  /// The smallest one around a position.
  std::optional<Range> around(size_t position) const {
    std::optional<Range> best;
    for (const Range& r : ranges_) {
      if (position >= r.begin && position < r.end && (!best || r.end - r.begin < best->end - best->begin)) best = r;
    }
    return best;
  }

 private:
  static constexpr int kDeepest = 200;

  bool value(int depth, bool whole, bool of_nodes) {
    const char c = walker_.peek();
    if (depth > kDeepest || c == '\0' || std::string_view("}],:").find(c) != std::string_view::npos) return false;
    if (c == '{') return object(depth, whole);
    if (c == '[') return list(depth, of_nodes);
    return walker_.skip_value(), true;
  }

  /// Without these the rest would have other problems.
  static bool declares(std::string_view key) {
    static constexpr std::string_view kKeys[] = {"node", "op_def", "opDef", "kernel_def", "kernelDef", "library"};
    return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
  }

  bool object(int depth, bool whole) {
    return entries('{', '}', [&](bool& removable) {
      if (walker_.peek() != '"') return false;
      const std::string_view key = walker_.take_string();
      if (!walker_.take(':') || !value(depth + 1, false, key == "node")) return false;
      removable = whole && !declares(key);
      return true;
    });
  }

  bool list(int depth, bool of_nodes) {
    return entries('[', ']', [&](bool& removable) {
      removable = of_nodes;
      return value(depth + 1, false, false);
    });
  }

  /// `entry` takes one, and says whether it can be taken out.
  template <class F>
  bool entries(char open, char close, const F& entry) {
    walker_.take(open);
    if (walker_.take(close)) return true;
    do {
      walker_.peek();
      const size_t begin = walker_.position();
      bool removable = false;
      if (!entry(removable)) return false;
      if (removable) ranges_.push_back({begin, walker_.position()});
    } while (walker_.take(','));
    return walker_.take(close);
  }

  JsonWalker walker_;
  std::vector<Range> ranges_;
};

/// Overwrites with blanks, and one of the commas beside, so that all else keeps its position.
void blank(std::string& text, Removable::Range r) {
  std::replace_if(
      text.begin() + static_cast<std::ptrdiff_t>(r.begin), text.begin() + static_cast<std::ptrdiff_t>(r.end),
      [](char c) { return c != '\n'; }, ' ');
  size_t after = r.end, before = r.begin;
  while (after < text.size() && is_space(text[after])) ++after;
  if (after < text.size() && text[after] == ',') {
    text[after] = ' ';
    return;
  }
  while (before > 0 && is_space(text[before - 1])) --before;
  if (before > 0 && text[before - 1] == ',') text[before - 1] = ' ';
}

/// False: nothing could be taken out.
bool take_out(const Problems& problems, std::string& text) {
  Removable parts(text);
  if (!parts.scan()) return false;
  std::vector<Removable::Range> ranges;
  for (const Problem& p : problems.list()) {
    auto range = p.position == kNoPosition ? std::nullopt : parts.around(static_cast<size_t>(p.position));
    if (!range) return false;
    auto same = [&](const Removable::Range& r) { return r.begin == range->begin; };
    if (std::none_of(ranges.begin(), ranges.end(), same)) ranges.push_back(*range);
  }
  for (const Removable::Range& r : ranges) blank(text, r);
  return true;
}

void add_once(const Problem& p, Problems& problems) {
  auto same = [&](const Problem& known) { return known.position == p.position && known.message == p.message; };
  if (std::none_of(problems.list().begin(), problems.list().end(), same))
    problems.add(p.position, p.message, p.hint, p.code);
}

}  // namespace

std::unique_ptr<GraphFile> check_sound_part(const GraphFile& file, const LoadOptions& options, Problems& problems) {
  if (!file.source || file.source->text().empty()) return nullptr;
  const size_t rounds = std::min(kMostRounds, kMostText / file.source->text().size());
  if (rounds == 0) return nullptr;
  std::string text(file.source->text());
  Problems left = problems;
  for (size_t round = 0; round < rounds && take_out(left, text); ++round) {
    left = Problems();
    std::unique_ptr<GraphFile> rest = load(Source::from_text(file.source->name(), text), options, left);
    if (!left.empty()) continue;
    Problems found;
    validate(*rest, found);
    for (const Problem& p : found.list()) add_once(p, problems);
    return rest;
  }
  return nullptr;
}

}  // namespace emplace
