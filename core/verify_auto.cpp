#include "core/verify_auto.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "core/base/cat.h"
#include "core/base/host_memory.h"
#include "core/base/input_file.h"
#include "core/base/stop.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/pipeline.h"
#include "core/place/auto/solve.h"
#include "core/report/auto_report.h"
#include "core/report/bench/statistics.h"
#include "core/steps_in_flight.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSlower = 0.01, kLikely = 0.05;

double seconds_from(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Which of the placements that the search knows.
struct Choice {
  AutoPick pick = AutoPick::kFound;
  std::optional<uint16_t> single = {};  // of kOneDevice: that one
};

/// A solution of its own, so that each may have another device alone.
void take(const Choice& choice, AutoFlags& flags) {
  flags.pick = choice.pick;
  if (!choice.single) return;
  flags.solution = std::make_shared<autoplace::Solution>(*flags.solution);
  flags.solution->single = choice.single;
}

/// One placement, ready to run steps.
struct Trial {
  Choice choice;
  Log quiet;
  std::unique_ptr<StageContext> context;
  RunRequest request;
  std::optional<Planned> planned;
  std::vector<Tensor> outputs;
  std::vector<double> us;

  Trial(Choice of, const PipelineOptions& options, const std::string& path, const std::atomic<bool>* stop)
      : choice(of) {
    quiet.set_level(LogLevel::kOff);
    PipelineOptions own = options;
    take(choice, own.placing.automatic);
    own.placing.log_device_placement.clear();
    own.placing.placement_out.clear();
    own.placing.gates = {};
    own.run.trace.clear();
    own.dump.reset();
    context = std::make_unique<StageContext>(std::move(own), path, quiet, stop);
  }

  Status prepare() {
    ASSIGN_OR_RETURN(const Loaded loaded, load_graph(*context));
    ASSIGN_OR_RETURN(const Runnable runnable, validate_run(*context, loaded));
    request = runnable.request;
    ASSIGN_OR_RETURN(const Placed placed, place_to_run(*context, runnable));
    ASSIGN_OR_RETURN(const Partitioned partitioned, partition_graph(*context, placed));
    RETURN_IF_ERROR(partitioned.verdict);
    ASSIGN_OR_RETURN(planned, plan_run(*context, partitioned, request));
    return start_state(*context, *planned, request);
  }

  /// A step, or twice as many as may be in flight: their mean is one measurement.
  Status turn(bool counts) {
    const int64_t steps = planned->in_flight ? 2 * context->options.run.in_flight : 1;
    const auto start = Clock::now();
    if (planned->in_flight) {
      RETURN_IF_ERROR(
          planned->in_flight->run(0, steps, [](int64_t, double, std::vector<Tensor>&) { return stop_status(); }));
    } else {
      RETURN_IF_ERROR(planned->session->step(outputs));
    }
    if (counts) us.push_back(seconds_from(start) * 1e6 / static_cast<double>(steps));
    return stop_status();
  }
};

using Trials = std::vector<std::unique_ptr<Trial>>;

/// All in turn: at least 20 rounds and 2 s of them, fewer where they take minutes.
Status measure(const Trials& trials) {
  constexpr int kWarmUp = 3, kRounds = 20, kFewest = 8, kMost = 2000;
  constexpr double kSeconds = 2, kLong = 60;
  for (int i = 0; i < kWarmUp; ++i) {
    for (const auto& trial : trials) RETURN_IF_ERROR(trial->turn(false));
  }
  const auto start = Clock::now();
  for (int round = 0; round < kMost; ++round) {
    const double seconds = seconds_from(start);
    if ((round >= kRounds && seconds >= kSeconds) || (round >= kFewest && seconds >= kLong)) break;
    // Each is the first in turn: who comes first finds the caches of another one.
    for (size_t i = 0; i < trials.size(); ++i)
      RETURN_IF_ERROR(trials[(i + static_cast<size_t>(round)) % trials.size()]->turn(true));
  }
  return ok_status();
}

AutoRival compare(const Trial& rival, const Trial& chosen) {
  AutoRival found;
  std::vector<double> differences, changes;
  for (size_t i = 0; i < chosen.us.size(); ++i) {
    differences.push_back(rival.us[i] - chosen.us[i]);
    changes.push_back(rival.us[i] / std::max(chosen.us[i], 1e-3) - 1);
  }
  found.us = median_of(rival.us), found.change = median_of(changes), found.p = wilcoxon_p(differences);
  return found;
}

std::string title_of(const Trial& trial) {
  if (trial.choice.pick == AutoPick::kTensorFlow) return "TensorFlow's placement";
  return cat(short_device_name(*trial.planned->devices, *trial.choice.single), " alone");
}

/// Those that differ from what was chosen and from each other; without --auto, the order of a step is another one even
/// where nodes are the same. A table that is wrong may take a GPU for the best single device: the CPU is always one of
/// them.
std::vector<Choice> rivals_of(const autoplace::Solution& solution, autoplace::Goal goal) {
  std::vector<Choice> rivals;
  const autoplace::Assignment& found = solution.found.at;
  const autoplace::Start& original = solution.starts.front();
  const bool differs = original.found.at != found || goal == autoplace::Goal::kLatency;
  if (differs && original.fits) rivals.push_back({AutoPick::kTensorFlow});
  std::vector<const autoplace::Assignment*> known{&found, &original.found.at};
  for (const autoplace::Start* one : {best_single_device(solution), host_alone(solution)}) {
    const auto is_known = [&](const autoplace::Assignment* at) { return one->found.at == *at; };
    if (!one || std::any_of(known.begin(), known.end(), is_known)) continue;
    rivals.push_back({AutoPick::kOneDevice, one->device});
    known.push_back(&one->found.at);
  }
  return rivals;
}

/// Who names standard input means its bytes, however many placements read them.
Status keep_standard_input(const StageContext& c) {
  const std::vector<std::string>& feeds = c.options.run.feed;
  const bool is_fed = std::any_of(feeds.begin(), feeds.end(), [](const std::string& f) { return f.ends_with("=@-"); });
  if (c.path != "-" && !is_fed) return ok_status();
  HostMemory::of_process().set_limit(c.options.host_memory_limit);
  set_deadline(c.options.run.timeout_s);
  return InputFile::keep_standard_input().blamed(Blame::kFile);
}

}  // namespace

bool AutoRival::faster() const { return change < -kSlower && p < kLikely; }

std::string AutoVerdict::text() const {
  std::string out = cat("--verify: ", time_text(chosen_us / 1e6), " a step measured");
  for (const AutoRival& rival : rivals) {
    append(out, &rival == rivals.data() ? "; " : ", ", rival.title, ' ', time_text(rival.us / 1e6), " (",
           rival.change < 0 ? "" : "+", percent_text(rival.change), rival.p < kLikely ? ")" : ", by chance)");
  }
  if (rivals.empty()) return "--verify: nothing to compare with: TensorFlow and one device place the nodes alike";
  append(out, "; ", rounds, " rounds");
  return out;
}

Result<AutoVerdict> verify_auto(PipelineOptions& options, const std::string& path, Log& log,
                                const std::atomic<bool>* stop) {
  auto solution = std::make_shared<autoplace::Solution>();
  options.placing.automatic.solution = solution;
  Trials trials;
  trials.push_back(std::make_unique<Trial>(Choice{}, options, path, stop));
  RETURN_IF_ERROR(trials.front()->prepare());
  AutoVerdict verdict;
  if (solution->starts.empty()) return verdict;
  for (const Choice& choice : rivals_of(*solution, *options.placing.automatic.goal)) {
    auto rival = std::make_unique<Trial>(choice, options, path, stop);
    if (const Status status = rival->prepare(); !status.ok()) {
      RETURN_IF_ERROR(stop_status());
      log.info(cat("--verify: without ",
                   choice.pick == AutoPick::kTensorFlow ? "TensorFlow's placement" : "one device alone",
                   ", which cannot run: ", status.message()));
      continue;
    }
    trials.push_back(std::move(rival));
  }
  if (trials.size() < 2) return verdict;
  RETURN_IF_ERROR(measure(trials));
  const Trial& chosen = *trials.front();
  verdict.chosen_us = median_of(chosen.us), verdict.rounds = static_cast<int64_t>(chosen.us.size());
  double least = 0;
  for (size_t i = 1; i < trials.size(); ++i) {
    verdict.rivals.push_back(compare(*trials[i], chosen));
    AutoRival& rival = verdict.rivals.back();
    rival.title = title_of(*trials[i]);
    if (!rival.faster() || rival.change >= least) continue;
    verdict.fastest = i - 1, least = rival.change;
  }
  if (verdict.fastest) take(trials[*verdict.fastest + 1]->choice, options.placing.automatic);
  return verdict;
}

Status verify_first(StageContext& c) {
  std::vector<std::string>& gates = c.options.placing.gates.fail_on;
  const bool gate = std::erase(gates, "slower") > 0;
  if (!c.options.placing.automatic.verify)
    return gate ? invalid_argument("--fail-on slower needs --verify").blamed(Blame::kUsage) : ok_status();
  RETURN_IF_ERROR(keep_standard_input(c));
  const Result<AutoVerdict> verdict = verify_auto(c.options, c.path, c.log, c.stop);
  if (!verdict.ok()) return stop_status();
  c.log.info(verdict->text());
  if (!verdict->fastest) return ok_status();
  const AutoRival& best = verdict->rivals[*verdict->fastest];
  const std::string slower = cat("a step as costs chose takes ", time_text(verdict->chosen_us / 1e6), ", with ",
                                 best.title, ' ', time_text(best.us / 1e6));
  if (gate) return failed_precondition(cat("gate: --fail-on slower: ", slower)).blamed(Blame::kPlacement);
  c.log.warning(cat("--verify: ", slower, ", which is taken"));
  return ok_status();
}

}  // namespace emplace
