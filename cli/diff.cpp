// emplace diff: what two placements differ in.
#include <array>

#include "cli/command.h"
#include "cli/side.h"
#include "core/base/cat.h"
#include "core/base/file_error.h"
#include "core/base/heap_limit.h"
#include "core/base/input_file.h"
#include "core/base/stop.h"
#include "core/report/diff/diff_report.h"

namespace emplace {
namespace {

/// As `diff` of files: it worked, and they differ.
constexpr int kDifferent = 4;

void declare_side(OptionSet& set, Options& o) {
  declare_placed_run(set, o.pipeline);
  set.group("Files and output");
  declare_loading(set, o.pipeline);
}

/// A graph larger than this is placed only: its memory plan would take longer than its placement.
constexpr uint32_t kMaxPlannedOfASide = 50'000;

/// Also what failed was told then.
Result<PlacementView> place_side(const Side& side, Log& log, int& code) {
  StageContext context(side.options.pipeline, side.path, log);
  const Result<Partitioned> made = partition_file(context);
  if (!made.ok()) {
    code = fail(context, made.status());
    return made.status();
  }
  if (!made->verdict.ok()) {
    code = fail(context, made->verdict);
    return made->verdict;
  }
  PlacementView view = view_placement(*made->file, *made->devices, *made->options, *made->placement, *made->copies);
  if (Status stopped = stop_status(); !stopped.ok()) {
    code = fail(context, stopped);
    return stopped;
  }
  if (made->file->graph.num_nodes() > kMaxPlannedOfASide) return view;
  Result<std::vector<PlannedMemory>> planned = predict_memory(context, *made);
  if (!planned.ok()) {
    code = fail(context, planned.status());
    return planned.status();
  }
  for (DeviceId d = 0; d < planned->size(); ++d) {
    const PlannedMemory& memory = (*planned)[d];
    view.peaks.emplace_back(made->devices->at(d).name, memory.known ? std::optional(memory.peak()) : std::nullopt);
  }
  return view;
}

/// A placement's document, or a graph to be placed.
Result<PlacementView> view_side(const Side& side, bool& is_document, Log& log, int& code) {
  is_document = false;
  if (side.path != "-") {
    Result<std::shared_ptr<const InputFile>> file = InputFile::open(side.path, {});
    if (file.ok() && is_placement_document((*file)->bytes())) {
      is_document = true;
      Result<PlacementView> view = read_placement_view((*file)->bytes(), side.path);
      if (!view.ok()) code = usage(log, view.status());
      return view;
    }
  }
  return place_side(side, log, code);
}

class DiffCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.positional("A B",
                   "A and B: placements (written by 'emplace place --format json' or --placement-out), or graphs; a "
                   "graph with flags of its own\nstands in quotes: emplace diff p.json 'g.json --simulate-gpus 2'. "
                   "Exit code: 0 the same, 4 different.",
                   o.arguments);
    declare_side(set, o);
    set.value("top", "N", "Show at most N lines of a kind (20)", set_integer(top_, 1));
    declare_format(set, o, std::array{Format::kText, Format::kJson});
    set_ = &set;
  }

  int run(const Options& options, Log& log) override {
    if (options.arguments.size() != 2)
      return usage(log, cat("diff takes two sides, not ", options.arguments.size(),
                            "; flags of one side go in quotes with its graph"));
    if (!options.pipeline.placing.placement_out.empty())
      return usage(log, "--placement-out takes one placement, and diff makes two: it goes in quotes with a graph");
    std::vector<OptionSource> common;
    for (const OptionSource& option : set_->sources()) {
      if (!is_own(option.name)) common.push_back(option);
    }
    DiffReport report{options.arguments[0], options.arguments[1], {}, static_cast<size_t>(top_)};
    std::vector<Side> sides;
    for (const std::string& text : options.arguments) {
      Result<Side> side = read_side("diff", text, common, declare_side);
      if (!side.ok()) return usage(log, side.status());
      sides.push_back(side.take());
    }
    const HeapLimit limit;
    bool any_document = false;
    std::vector<PlacementView> views;
    for (const Side& side : sides) {
      int code = 0;
      bool is_document = false;
      log.set_subject(side.path);
      Result<PlacementView> view = view_side(side, is_document, log, code);
      log.set_subject({});
      if (!view.ok()) return code;
      any_document |= is_document;
      views.push_back(view.take());
    }
    const PlacementDiff diff = diff_placements(views[0], views[1]);
    if (!any_document) report.cause = different_options(sides[0], sides[1]);
    options.format == Format::kJson ? print(diff_json(diff, report)) : print_lines(diff_text(diff, report));
    return diff.same() ? 0 : kDifferent;
  }

 private:
  /// Options of the command that no side has.
  static bool is_own(std::string_view name) {
    constexpr std::string_view kOwn[] = {"top",      "format", "quiet",  "verbose",    "log-level",
                                         "log-file", "color",  "config", "dump-config"};
    return std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn);
  }

  const OptionSet* set_ = nullptr;
  int64_t top_ = 20;
};

}  // namespace

std::unique_ptr<Command> make_diff_command() { return std::make_unique<DiffCommand>(); }

}  // namespace emplace
