#include "core/place/gates.h"

#include <charconv>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/place/moved.h"

namespace emplace {
namespace {

constexpr size_t kNamedNodes = 5;

class GateKeeper {
 public:
  GateKeeper(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options, const Placement& placement,
             const EdgeCopies& copies)
      : graph_(file.graph), devices_(devices), options_(options), placement_(placement), copies_(copies) {}

  Status fail_on(std::string_view word);
  void max_copies(int64_t limit);
  void max_copy_bytes(int64_t limit);
  Status min_on(const std::string& gate);

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

Status GateKeeper::fail_on(std::string_view word) {
  if (word == "soft-placement") {
    forbid(word, "moved by soft placement",
           [&](NodeId n) { return is_moved_softly(graph_, devices_, options_, placement_, n); });
  } else if (word == "moved") {
    forbid(word, "not where requested",
           [&](NodeId n) { return is_elsewhere(graph_, devices_, options_, placement_, n); });
  } else {
    return invalid_argument(cat("--fail-on '", word, "': wanted soft-placement or moved")).blamed(Blame::kUsage);
  }
  return ok_status();
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

// "GPU=95%", "GPU:0=50%", "CPU=3".
Status GateKeeper::min_on(const std::string& gate) {
  Status malformed = invalid_argument(cat("--min-on '", gate, "': wanted DEVICE=N or DEVICE=N%, as in 'GPU=95%'"))
                         .blamed(Blame::kUsage);
  const size_t at = gate.rfind('=');
  if (at == gate.npos || at == 0 || at + 1 == gate.size()) return malformed;
  const bool percent = gate.back() == '%';
  const char* end = gate.data() + gate.size() - (percent ? 1 : 0);
  double wanted = 0;
  const auto [stop, error] = std::from_chars(gate.data() + at + 1, end, wanted);
  if (error != std::errc() || stop != end || !(wanted >= 0) || (percent && wanted > 100)) return malformed;
  std::string text = gate.substr(0, at);
  const std::optional<std::string> typed = device_as_typed(text);
  if (!typed) return malformed;
  const std::optional<DeviceName> name = DeviceName::parse(*typed);

  int64_t count = 0;
  const auto all = static_cast<int64_t>(placement_.order.size());
  for (NodeId node : placement_.order) count += name->matches(devices_.at(placement_.device(node)).parsed);
  const double have =
      percent && all > 0 ? 100.0 * static_cast<double>(count) / static_cast<double>(all) : static_cast<double>(count);
  if (have < wanted) add(cat("--min-on ", gate, ": ", count, " of ", all, " nodes are on ", text));
  return ok_status();
}

}  // namespace

Status check_gates(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                   const Placement& placement, const EdgeCopies& copies, const Gates& gates) {
  GateKeeper keeper(file, devices, options, placement, copies);
  for (const std::string& entry : gates.fail_on) {
    for (size_t begin = 0; begin <= entry.size();) {
      const size_t end = std::min(entry.find(',', begin), entry.size());
      RETURN_IF_ERROR(keeper.fail_on(std::string_view(entry).substr(begin, end - begin)));
      begin = end + 1;
    }
  }
  keeper.max_copies(gates.max_copies);
  keeper.max_copy_bytes(gates.max_copy_bytes);
  for (const std::string& gate : gates.min_on) RETURN_IF_ERROR(keeper.min_on(gate));
  return keeper.result();
}

}  // namespace emplace
