#include "cli/bench_run.h"

#include <algorithm>
#include <utility>

#include "cli/elapsed.h"
#include "cli/pace.h"
#include "core/base/heap_limit.h"
#include "core/base/stop.h"
#include "core/report/bench/launch_times.h"
#include "core/report/bench/seen_shapes.h"
#include "core/report/bench/statistics.h"
#include "core/run/thread_pool.h"
#include "core/run/trace.h"
#include "core/run/watchers.h"
#include "core/run_watch.h"

namespace emplace {
namespace {

/// What steps take has limits of its own, and is taken by several threads.
Status step(Session& session, std::vector<Tensor>& outputs) {
  const HeapLimit no_limit = HeapLimit::none();
  return session.step(outputs);
}

Result<double> timed_step(Session& session, std::vector<Tensor>& outputs) {
  const auto start = Clock::now();
  RETURN_IF_ERROR(step(session, outputs));
  const double us = us_since(start);
  RETURN_IF_ERROR(stop_status());
  return us;
}

/// Until five steps in a row are within 5 % of each other. How many threads the last one shared its work among: one, if
/// it was too short for that to be worth waking others.
Result<int> warm_up(Session& session, const BenchPlan& plan, BenchResult& result) {
  constexpr size_t kLikeSteps = 5;
  constexpr double kAlike = 1.05, kMostSeconds = 2, kWorthWakingUs = 60;
  constexpr int64_t kLeastSteps = 3;
  int threads = 1;
  std::vector<Tensor> outputs;
  std::vector<double> last;
  const auto start = Clock::now();
  for (int64_t i = 0;; ++i) {
    if (plan.max_warmup >= 0 && i >= plan.max_warmup) return threads;
    if (plan.max_warmup < 0 && i >= kLeastSteps && us_since(start) > kMostSeconds * 1e6) return threads;
    const uint32_t shared = ThreadPool::shared().shared_so_far();
    ASSIGN_OR_RETURN(const double us, timed_step(session, outputs));
    threads = us > kWorthWakingUs && ThreadPool::shared().shared_so_far() != shared ? plan.threads : 1;
    if (result.rounds == 0 && i == 0) result.first_step_us = us;
    ++result.warmup;
    last.push_back(us);
    if (last.size() > kLikeSteps) last.erase(last.begin());
    const auto [least, most] = std::minmax_element(last.begin(), last.end());
    if (last.size() == kLikeSteps && *most <= kAlike * *least) return threads;
  }
}

/// All of them, or, of very short steps, every n-th; each with the slower one of the processor's paces before and
/// behind the two milliseconds that it ran in.
class Samples {
 public:
  /// `best_us`: the best pace so far, of all rounds. `threads`: that the steps use.
  Samples(double& best_us, int threads) : threads_(threads), best_us_(best_us), pace_us_(measure_pace_us(threads)) {}

  void add(int64_t i, double us) {
    window_us_ += us;
    if (i % every_ == 0) kept_.us.push_back(us);
    if (window_us_ >= kWindowUs) end_window();
    if (kept_.us.size() >= 2 * kMost) thin_out();
  }
  /// Time of steps in which nothing slowed the processor.
  double undisturbed_us() const { return undisturbed_us_; }
  void move_to(StepTimes& all) {
    end_window();
    all.us.insert(all.us.end(), kept_.us.begin(), kept_.us.end());
    all.pace_threads = std::max(all.pace_threads, threads_);
    all.pace_us.insert(all.pace_us.end(), kept_.pace_us.begin(), kept_.pace_us.end());
  }

 private:
  static constexpr size_t kMost = 20'000;
  static constexpr double kWindowUs = 2000;

  void end_window() {
    const double before = std::exchange(pace_us_, measure_pace_us(threads_));
    const double slower = std::max(before, pace_us_);
    best_us_ = std::min(best_us_, slower);
    if (slower <= kOnePace * best_us_) undisturbed_us_ += window_us_;
    window_us_ = 0;
    kept_.pace_us.resize(kept_.us.size(), slower);
  }
  void thin_out() {
    end_window();
    every_ *= 2;
    for (std::vector<double>* values : {&kept_.us, &kept_.pace_us}) {
      for (size_t k = 0; k < kMost; ++k) (*values)[k] = (*values)[2 * k];
      values->resize(kMost);
    }
  }

  StepTimes kept_;
  const int threads_;
  int64_t every_ = 1;
  double& best_us_;
  double pace_us_;
  double window_us_ = 0, undisturbed_us_ = 0;
};

/// Ready for its first step.
Result<Planned> planned_steps(const BenchedGraph& graph) {
  ASSIGN_OR_RETURN(Planned planned, plan_run(graph.context, graph.partitioned, graph.request));
  RETURN_IF_ERROR(start_state(graph.context, planned, graph.request));
  return planned;
}

/// Planned anew each round, since where memory happens to lie is worth some percent. The first one sets `rounds`: one
/// where planning takes long. Up to three times as long as was asked for while others slow the processor.
Status run_round(const BenchedGraph& graph, const BenchPlan& plan, int64_t& rounds, double& best_pace_us,
                 BenchResult& result) {
  constexpr double kMostPlanningMs = 200, kMostDisturbed = 3;
  const double before = graph.context.timings.plan_ms;
  ASSIGN_OR_RETURN(const Planned planned, planned_steps(graph));
  if (result.rounds == 0 && graph.context.timings.plan_ms - before > kMostPlanningMs) rounds = 1;
  Session& session = *planned.session;
  ASSIGN_OR_RETURN(const int threads, warm_up(session, plan, result));
  const auto share = [&](int64_t all) { return (all + rounds - 1) / rounds; };
  const int64_t most = plan.max_steps > 0 ? share(plan.max_steps) : INT64_MAX;
  const int64_t least = std::min(share(plan.min_steps), most);
  std::vector<Tensor> outputs;
  const double wanted_us = plan.min_time_s * 1e6 / static_cast<double>(rounds);
  Samples samples(best_pace_us, threads);
  const auto start = Clock::now();
  for (int64_t i = 0; i < most; ++i) {
    const double us_so_far = us_since(start);
    const bool enough = samples.undisturbed_us() >= wanted_us / 2 || us_so_far >= kMostDisturbed * wanted_us;
    if (plan.max_steps == 0 && i >= least && us_so_far >= wanted_us && enough) break;
    if (plan.max_steps > 0 && static_cast<int64_t>(result.steps.us.size()) + i >= plan.max_steps) break;
    ASSIGN_OR_RETURN(const double us, timed_step(session, outputs));
    samples.add(i, us);
  }
  samples.move_to(result.steps);
  if (result.rounds == 0 && result.first_step_us == 0) result.first_step_us = result.steps.us.front();
  ++result.rounds;
  result.memory = session.memory();
  return ok_status();
}

/// At least 10 steps, and 0.3 s of them; fewer where there are too many nodes to keep.
Status trace_steps(const BenchedGraph& graph, BenchResult& result) {
  constexpr double kSeconds = 0.3;
  constexpr int64_t kLeast = 10, kMost = 2000;
  TraceRecorder recorder;
  SeenShapes shapes;
  for (const auto& [tensor, value] : graph.request.feeds) shapes.see(tensor, value);
  ObserverList both;
  both.add(&recorder), both.add(&shapes);
  graph.context.observer = &both;
  const Result<Planned> planned = planned_steps(graph);
  graph.context.observer = nullptr;
  if (!planned.ok()) return planned.status();
  std::vector<Tensor> outputs;
  RETURN_IF_ERROR(step(*planned->session, outputs));  // as step -1: it warms up
  shapes.stop_looking();
  std::vector<double> us;
  const auto start = Clock::now();
  for (int64_t i = 0; i < kMost && (i < kLeast || us_since(start) < kSeconds * 1e6); ++i) {
    if (recorder.left_out() > 0 && i > 0) break;
    recorder.begin_step(i);
    ASSIGN_OR_RETURN(const double step_us, timed_step(*planned->session, outputs));
    us.push_back(step_us);
  }
  result.traced_step_us = median_of(us);
  result.costs = step_costs(graph.partitioned.file->graph, recorder, &shapes);
  return ok_status();
}

/// The same of launches, in the run as it is. Those of real GPUs last longer than their enqueueing: no look here.
Status time_launches(const BenchedGraph& graph, BenchResult& result) {
  constexpr double kSeconds = 0.2;
  constexpr int64_t kLeast = 10, kMost = 2000;
  for (const Device& device : graph.partitioned.devices->devices) {
    if (device.kind == DeviceKind::kCuda) return ok_status();
  }
  LaunchTrace launches(LaunchTrace::Short::kEach);
  graph.context.launches = &launches;
  const Result<Planned> planned = planned_steps(graph);
  graph.context.launches = nullptr;
  if (!planned.ok()) return planned.status();
  std::vector<Tensor> outputs;
  RETURN_IF_ERROR(step(*planned->session, outputs));
  std::vector<StepTime> steps;  // in the trace's units
  const auto start = Clock::now();
  for (int64_t i = 0; i < kMost && (i < kLeast || us_since(start) < kSeconds * 1e6); ++i) {
    launches.begin_step(i);
    steps.push_back({i, launches.now(), 0});
    RETURN_IF_ERROR(timed_step(*planned->session, outputs).take_status());
    steps.back().end_ns = launches.now();
  }
  std::vector<double> sorted = result.steps.us;
  std::sort(sorted.begin(), sorted.end());
  const double ns = launches.ns_of_unit(), step_us = percentile(sorted, 50);
  for (StepTime& step : steps) {
    for (int64_t* time : {&step.start_ns, &step.end_ns}) *time = static_cast<int64_t>(static_cast<double>(*time) * ns);
  }
  const Graph& g = graph.partitioned.file->graph;
  take_launch_times(g, launches, step_us, result.costs);
  result.split = split_steps(g, launches.work(), launches.spans(), std::move(steps), step_us);
  return ok_status();
}

/// --trace: a few steps more, which no time counts of.
Status write_trace(const BenchedGraph& graph, const std::string& file) {
  constexpr int64_t kSteps = 20;
  StageContext& c = graph.context;
  c.options.run.trace = file;
  ASSIGN_OR_RETURN(const Planned planned, planned_steps(graph));
  std::vector<Tensor> outputs;
  Status ran;
  for (int64_t i = 0; i < kSteps && ran.ok(); ++i) {
    planned.watch->begin_step(i);
    ran = step(*planned.session, outputs);
  }
  return planned.watch->end_steps(std::move(ran));
}

}  // namespace

Status measure_steps(const BenchedGraph& graph, const BenchPlan& plan, BenchResult& result) {
  int64_t rounds = 5;
  double best_pace_us = plan.pace_us;
  const std::string trace = std::exchange(graph.context.options.run.trace, {});
  for (int64_t round = 0; round < rounds; ++round)
    RETURN_IF_ERROR(run_round(graph, plan, rounds, best_pace_us, result));
  if (plan.trace_nodes) {
    RETURN_IF_ERROR(trace_steps(graph, result));
    RETURN_IF_ERROR(time_launches(graph, result));
  }
  return trace.empty() ? ok_status() : write_trace(graph, trace);
}

}  // namespace emplace
