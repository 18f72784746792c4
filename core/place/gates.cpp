#include "core/place/gates.h"

#include <charconv>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/place/moved.h"

namespace emplace {
namespace {

constexpr size_t kNamedNodes = 5;

/// "GPU=95%", "GPU:0=50%", "CPU=3".
struct Share {
  std::string device;  // as written
  DeviceName name;
  double wanted = 0;
  bool percent = false;
};

Result<Share> read_share(const std::string& gate) {
  const Status malformed = invalid_argument(cat("--min-on '", gate, "': wanted DEVICE=N or DEVICE=N%, as in 'GPU=95%'"))
                               .blamed(Blame::kUsage);
  const size_t at = gate.rfind('=');
  if (at == gate.npos || at == 0 || at + 1 == gate.size()) return malformed;
  Share share;
  share.percent = gate.back() == '%';
  const char* end = gate.data() + gate.size() - (share.percent ? 1 : 0);
  const auto [stop, error] = std::from_chars(gate.data() + at + 1, end, share.wanted);
  if (error != std::errc() || stop != end || !(share.wanted >= 0) || (share.percent && share.wanted > 100))
    return malformed;
  share.device = gate.substr(0, at);
  const std::optional<std::string> typed = device_as_typed(share.device);
  if (!typed) return malformed;
  share.name = *DeviceName::parse(*typed);
  return share;
}

bool is_of_command(std::string_view word, std::string_view of_command) {
  return !of_command.empty() && word.substr(0, word.find('=')) == of_command;
}

class GateKeeper {
 public:
  GateKeeper(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options, const Placement& placement,
             const EdgeCopies& copies)
      : graph_(file.graph), devices_(devices), options_(options), placement_(placement), copies_(copies) {}

  void fail_on(std::string_view word);
  void max_copies(int64_t limit);
  void max_copy_bytes(int64_t limit);
  void min_on(const std::string& gate, const Share& share);

  Status result() const { return broken_.empty() ? ok_status() : failed_precondition(broken_); }

 private:
  void add(std::string_view line) { append(broken_, broken_.empty() ? "" : "\n", "gate: ", line); }
  /// Adds "--fail-on WORD: 3 nodes WHAT: a (soft_no_kernel, CPU:0), ..." if `breaks` holds for some node.
  template <class F>
  void forbid(std::string_view word, std::string_view what, const F& breaks);

  const Graph& graph_;
  const DeviceSet& devices_;
  const PlaceOptions& options_;
  const Placement& placement_;
  const EdgeCopies copies_;
  std::string broken_;
};

template <class F>
void GateKeeper::forbid(std::string_view word, std::string_view what, const F& breaks) {
  int64_t count = 0;
  std::string names;
  for (NodeId node : placement_.order) {
    if (!breaks(node)) continue;
    if (static_cast<size_t>(count++) >= kNamedNodes) continue;
    const Decision& d = placement_.of(node);
    append(names, names.empty() ? "" : ", ", graph_.name(node), " (", reason_code(d.reason), ", ",
           short_device_name(devices_, d.device), ')');
  }
  if (count == 0) return;
  add(cat("--fail-on ", word, ": ", counted(count, "node"), " ", what, ": ", names,
          static_cast<size_t>(count) > kNamedNodes ? ", ..." : ""));
}

void GateKeeper::fail_on(std::string_view word) {
  if (word == "soft-placement") {
    forbid(word, "moved by soft placement",
           [&](NodeId n) { return is_moved_softly(graph_, devices_, options_, placement_, n); });
  } else if (word == "moved") {
    forbid(word, "not where requested",
           [&](NodeId n) { return is_elsewhere(graph_, devices_, options_, placement_, n); });
  }
}

void GateKeeper::max_copies(int64_t limit) {
  if (limit >= 0 && copies_.count > limit)
    add(cat("--max-copies ", limit, ": ", counted(copies_.count, "tensor"),
            copies_.count == 1 ? " crosses devices" : " cross devices"));
}

void GateKeeper::max_copy_bytes(int64_t limit) {
  if (limit >= 0 && copies_.bytes > limit)
    add(cat("--max-copy-bytes ", size_text(limit), ": ", size_text(copies_.bytes),
            copies_.count == 1 ? " crosses" : " cross", " devices"));
}

void GateKeeper::min_on(const std::string& gate, const Share& share) {
  int64_t count = 0;
  const auto all = static_cast<int64_t>(placement_.order.size());
  for (NodeId node : placement_.order) count += share.name.matches(devices_.at(placement_.device(node)).parsed);
  const double have = share.percent && all > 0 ? 100.0 * static_cast<double>(count) / static_cast<double>(all)
                                               : static_cast<double>(count);
  if (have < share.wanted) add(cat("--min-on ", gate, ": ", count, " of ", all, " nodes are on ", share.device));
}

}  // namespace

std::vector<std::string_view> gate_words(std::string_view entry) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin <= entry.size();) {
    const size_t end = std::min(entry.find(',', begin), entry.size());
    words.push_back(entry.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

Status check_gate_values(const Gates& gates, std::string_view of_command) {
  for (const std::string& entry : gates.fail_on) {
    for (const std::string_view word : gate_words(entry)) {
      if (word == "soft-placement" || word == "moved" || is_of_command(word, of_command)) continue;
      return invalid_argument(cat("--fail-on '", word, "': wanted ", of_command, of_command.empty() ? "" : ", ",
                                  "soft-placement or moved"))
          .blamed(Blame::kUsage);
    }
  }
  for (const std::string& gate : gates.min_on) RETURN_IF_ERROR(read_share(gate).take_status());
  return ok_status();
}

Status check_gates(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                   const Placement& placement, const EdgeCopies& copies, const Gates& gates) {
  RETURN_IF_ERROR(check_gate_values(gates));
  GateKeeper keeper(file, devices, options, placement, copies);
  for (const std::string& entry : gates.fail_on) {
    for (const std::string_view word : gate_words(entry)) keeper.fail_on(word);
  }
  keeper.max_copies(gates.max_copies);
  keeper.max_copy_bytes(gates.max_copy_bytes);
  for (const std::string& gate : gates.min_on) keeper.min_on(gate, *read_share(gate));
  return keeper.result();
}

}  // namespace emplace
