#include "cli/bench_sweep.h"

#include <algorithm>
#include <charconv>

#include "cli/command.h"
#include "cli/run_process.h"
#include "cli/scratch_folder.h"
#include "core/base/cat.h"
#include "core/base/input_file.h"
#include "core/base/printable.h"
#include "core/report/bench/bench_report.h"

namespace emplace {
namespace {

constexpr size_t kMostCombinations = 1000;

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// "x=8x10xf32=ones" with another first size; nothing: it has none that could be another.
std::optional<std::string> with_batch(const std::string& feed, const std::string& batch) {
  const size_t sizes = feed.find('=') + 1;
  size_t end = sizes;
  while (end < feed.size() && feed[end] >= '0' && feed[end] <= '9') ++end;
  const bool made =
      sizes > 0 && end > sizes && end < feed.size() && feed[end] == 'x' && feed.find('=', end) < feed.size();
  return made ? std::optional(feed.substr(0, sizes) + batch + feed.substr(end)) : std::nullopt;
}

/// "CPU", or "GPU:0+GPU:1": the flag that leaves these; nothing: it is neither.
std::optional<std::string> flag_of_devices(const std::string& value) {
  if (value == "CPU") return "--device-count=GPU=0";
  std::string list;
  for (const std::string& part : split(value, '+')) {
    const std::string number = part.starts_with("GPU:") ? part.substr(4) : "";
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return {};
    append(list, list.empty() ? "" : ",", number);
  }
  return "--visible-devices=" + list;
}

bool is_count(const std::string& text) {
  int64_t n = 0;
  const char* end = text.data() + text.size();
  return std::from_chars(text.data(), end, n).ptr == end && n > 0;
}

template <size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// What this process does with the rows, and says.
bool is_own(std::string_view option) {
  static constexpr std::string_view kNames[] = {"sweep",       "format",   "top",       "no-nodes", "quiet", "config",
                                                "dump-config", "log-file", "log-level", "verbose",  "color"};
  return is_one_of(option, kNames);
}

/// What several processes would do in the place of each other.
bool is_of_one(std::string_view option) {
  static constexpr std::string_view kNames[] = {"baseline", "output", "save-costs", "trace", "placement-out"};
  return is_one_of(option, kNames);
}

/// The flags of the command as each process gets them, from wherever they come. InvalidArgument: those of one
/// measurement; a sweep that the processes would be asked for, too.
Result<std::vector<std::pair<std::string, std::string>>> flags_of_processes(const OptionSet& set) {
  std::vector<std::pair<std::string, std::string>> flags;
  for (const OptionSource& option : set.sources()) {
    if (is_of_one(option.name))
      return invalid_argument(cat("--", option.name, " is of one measurement, not of a sweep"));
    if (option.name == "sweep" && option.source != "command line")
      return invalid_argument(cat("from ", option.source, ": give it on the command line"));
    if (is_own(option.name)) continue;
    for (const std::string& value : option.values) flags.emplace_back(option.name, value);
  }
  return flags;
}

/// The last line that says what went wrong.
std::string error_in(const std::string& said) {
  const size_t at = said.rfind("error: ");
  const size_t begin = at == std::string::npos ? 0 : at + 7;
  return said.substr(begin, said.find('\n', begin) - begin);
}

}  // namespace

Result<BenchSweep> BenchSweep::make(const std::vector<std::string>& texts, const OptionSet& set) {
  BenchSweep sweep;
  ASSIGN_OR_RETURN(sweep.flags_, flags_of_processes(set));
  const std::vector<std::string> names = set.names();
  size_t combinations = 1;
  for (const std::string& text : texts) {
    const size_t equals = std::min(text.find('='), text.size());
    Key key{text.substr(0, equals), split(text.substr(std::min(equals + 1, text.size())), ',')};
    const bool special = key.name == "batch" || key.name == "devices";
    if (!special &&
        (is_own(key.name) || is_of_one(key.name) || std::find(names.begin(), names.end(), key.name) == names.end()))
      return invalid_argument(
          cat("'", printable(text), "': wanted devices=, batch= or an option of bench, as in inter-op-threads=1,2"));
    if (sweep.sweeps(key.name)) return invalid_argument(cat("'", key.name, "' is swept twice"));
    for (const std::string& value : key.values) {
      if (value.empty()) return invalid_argument(cat("'", text, "': a value is missing"));
      if (key.name == "devices" && !flag_of_devices(value))
        return invalid_argument(cat("'", value, "': wanted CPU, GPU:0 or GPU:0+GPU:1"));
      if (key.name == "batch" && !is_count(value)) return invalid_argument(cat("'", value, "' is not a batch size"));
    }
    combinations *= key.values.size();
    if (combinations > kMostCombinations)
      return invalid_argument(cat("more than ", kMostCombinations, " combinations"));
    sweep.keys_.push_back(std::move(key));
  }
  const auto can_change = [](const auto& flag) { return flag.first == "feed" && with_batch(flag.second, "1"); };
  if (sweep.sweeps("batch") && std::none_of(sweep.flags_.begin(), sweep.flags_.end(), can_change))
    return invalid_argument("batch: no --feed says a size to change; give one, as in --feed x=8x10xf32=ones");
  return sweep;
}

bool BenchSweep::sweeps(const std::string& option) const {
  return std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) { return key.name == option; });
}

std::vector<std::string> BenchSweep::words_for(const SweepRow& row, const std::string& graph,
                                               const std::string& output) const {
  std::vector<std::string> words = {"/proc/self/exe", "bench", graph, "-q", "--no-nodes", "--output=" + output};
  std::string batch;
  std::vector<std::string> swept;  // behind the others: of two the later one counts
  for (size_t k = 0; k < keys_.size(); ++k) {
    const std::string& name = keys_[k].name;
    if (name == "batch")
      batch = row.values[k];
    else
      swept.push_back(name == "devices" ? *flag_of_devices(row.values[k]) : cat("--", name, "=", row.values[k]));
  }
  for (const auto& [name, value] : flags_) {
    if (sweeps(name)) continue;
    const std::optional<std::string> changed =
        name == "feed" && !batch.empty() ? with_batch(value, batch) : std::nullopt;
    words.push_back(cat("--", name, "=", changed.value_or(value)));
  }
  words.insert(words.end(), swept.begin(), swept.end());
  return words;
}

std::vector<std::vector<std::string>> BenchSweep::combinations() const {
  std::vector<std::vector<std::string>> rows(1);
  for (const Key& key : keys_) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& row : rows) {
      for (const std::string& value : key.values) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

Result<SweepRow> BenchSweep::measure(std::vector<std::string> values, const std::string& graph) const {
  SweepRow row;
  row.values = std::move(values);
  const ScratchFolder folder;
  if (folder.path().empty()) return unavailable("no temporary folder can be made");
  const std::string file = folder.path() + "/measured.json";
  ASSIGN_OR_RETURN(const ProcessEnd end, run_process(words_for(row, graph, file), 0));
  row.code = end.code;
  if (end.code != 0) {
    row.error = error_in(end.said);
    return row;
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const InputFile> document, InputFile::open(file));
  ASSIGN_OR_RETURN(Baseline measured, read_baseline(document->bytes(), file));
  row.steps = std::move(measured.steps);
  return row;
}

int BenchSweep::run(const std::string& graph, Format format, Log& log) const {
  std::vector<std::string> names;
  for (const Key& key : keys_) names.push_back(key.name);
  std::vector<SweepRow> rows;
  int code = 0;
  for (std::vector<std::string>& values : combinations()) {
    Result<SweepRow> row = measure(std::move(values), graph);
    if (!row.ok()) return report_error(row.status(), log);
    if (row->code != 0 && code == 0) code = row->code;
    rows.push_back(row.take());
    if (format == Format::kJsonl) print(sweep_line(names, rows.back(), rows.front()));
  }
  if (format != Format::kJsonl) print_lines(sweep_table(names, rows, format, output_width()));
  return code;
}

}  // namespace emplace
