#include "core/train/train_loop.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/cat.h"
#include "core/base/exit_code.h"
#include "core/base/printable.h"
#include "core/base/stop.h"
#include "core/run/watchers.h"
#include "core/tensor/element.h"
#include "core/train/checkpoint_tables.h"
#include "core/train/replica_check.h"
#include "core/train/tower_loops.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A kernel's message without the node that the executor adds, and the task in front.
std::string without_node(const std::string& message) {
  const size_t begin = message.starts_with("From /job:") ? message.find('\n') + 1 : 0;
  return message.substr(begin, message.find("\n\t [[") - begin);
}

/// The one number of a loss or metric, whatever floating type it has.
double scalar(const Tensor& t) {
  double value = 0;
  with_type(t.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) value = static_cast<double>(*t.data<T>());
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
      value = static_cast<double>(static_cast<float>(*t.data<T>()));
  });
  return value;
}

/// A sample with a number that is not finite.
struct BadSample {
  size_t feed = 0;
  int64_t row = 0;    // of the data
  std::string found;  // "1 NaN of 2 elements ..."
};

std::optional<BadSample> find_bad_sample(const Batch& batch) {
  const auto rows = static_cast<int64_t>(batch.rows.size());
  for (size_t i = 0; i < batch.values.size(); ++i) {
    const Tensor& fed = batch.values[i];
    if (fed.dtype() == DType::kString) continue;
    const int64_t elements = fed.num_elements() / rows;
    for (int64_t row = 0; row < rows; ++row) {
      auto* first = static_cast<std::byte*>(fed.raw()) + static_cast<size_t>(row * elements) * dtype_size(fed.dtype());
      std::string found = non_finite_text(Tensor::wrap(fed.dtype(), Shape{elements}, first));
      if (!found.empty()) return BadSample{i, batch.rows[static_cast<size_t>(row)], std::move(found)};
    }
  }
  return std::nullopt;
}

}  // namespace

/// Where the run is.
struct TrainLoop::Progress {
  int64_t step = 0;
  DataPosition position;  // of the next batch
  int64_t steps_per_epoch = 0;
  std::optional<Batches> batches;
  Batch batch;
  std::vector<std::pair<NodeId, uint64_t>> random;  // before the step
  std::vector<Tensor> outputs;
  int64_t saved_step = -1;
  int64_t warm_step = -1;  // the last of the warm-up
  Clock::time_point saved_at = Clock::now(), start = saved_at, epoch_start = saved_at;
  double compute_s_before = 0, waiting_s_before = 0;  // of the result, from runs that were lost
  double copy_s_before = 0;                           // of the session, from the warm-up
  EpochSums sums;
  int64_t timed_samples = 0;  // of the epoch
  bool at_epoch_end = false;
  bool whole = true;  // no step is under way: variables, step and position belong together
};

SampleOrder TrainLoop::train_order() const {
  return {train_->rows(), request_.batch, request_.shuffle, request_.drop_remainder,
          static_cast<uint64_t>(request_.seed)};
}

Status TrainLoop::prepare(Session& session) {
  if (setup_.folder) RETURN_IF_ERROR(check_table_names(file_.graph));
  StepRequest step;
  step.fetches = {graph_.loss};
  step.fetches.insert(step.fetches.end(), graph_.batch_metrics.begin(), graph_.batch_metrics.end());
  step.targets = graph_.targets;
  if (train_) step.feeds = train_->placeholders();
  step.guard = graph_.loss;
  for (const TrainGraph::TowerStep& tower : graph_.towers) {
    StepRequest own{{tower.loss}, {tower.update}, step.feeds, tower.loss};
    own.fetches.insert(own.fetches.end(), tower.metrics.begin(), tower.metrics.end());
    tower_callables_.push_back(session.add_step(std::move(own), static_cast<int>(graph_.towers.size())));
    RETURN_IF_ERROR(train_ ? plan_batches(session, tower_callables_.back(), *train_)
                           : session.plan_step(tower_callables_.back(), {}));
  }
  train_callable_ = tower_callables_.empty() ? session.add_step(step) : tower_callables_.front();
  forward_callable_ = session.add_step({{graph_.loss}, {}, step.feeds, {}});
  if (tower_callables_.empty())
    RETURN_IF_ERROR(train_ ? plan_batches(session, train_callable_, *train_) : session.plan_step(train_callable_, {}));
  if (!setup_.fetches.empty()) {
    fetch_callable_ = session.add_step({setup_.fetches, {}, step.feeds, {}});
    RETURN_IF_ERROR(train_ ? plan_batches(session, fetch_callable_, *train_) : session.plan_step(fetch_callable_, {}));
  }
  if (!test_ || graph_.metrics.empty()) return ok_status();
  StepRequest metrics;
  for (const auto& [name, tensor] : graph_.metrics) metrics.fetches.push_back(tensor);
  metrics.feeds = test_->placeholders();
  test_callable_ = session.add_step(metrics);
  return plan_batches(session, test_callable_, *test_);
}

/// For whole batches and for the rest.
Status TrainLoop::plan_batches(Session& session, int callable, const Dataset& data) {
  const int64_t batch = request_.batch > 0 ? std::min(request_.batch, data.rows()) : data.rows();
  bool rest_used = !(request_.drop_remainder && &data == train_);
  for (int64_t size : {batch, rest_used ? data.rows() % batch : 0}) {
    if (size == 0) continue;
    std::vector<int64_t> rows(static_cast<size_t>(size));
    std::vector<Tensor> feeds;
    RETURN_IF_ERROR(data.gather(rows, feeds));
    RETURN_IF_ERROR(session.plan_step(callable, feeds));
  }
  return ok_status();
}

int64_t TrainLoop::steps_left(const Progress& p) const {
  constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();
  int64_t left = request_.steps > 0 ? request_.steps - p.step : kNoBound;
  int64_t epochs = request_.epochs > 0 || request_.steps > 0 ? request_.epochs : 1;
  if (!train_ || epochs == 0) return left;
  if (p.position.epoch >= epochs) return 0;
  SampleOrder order = train_order();
  const int64_t used = request_.drop_remainder ? train_->rows() - train_->rows() % order.batch() : train_->rows();
  const int64_t in_epoch = (used - p.position.row + order.batch() - 1) / order.batch();
  return std::min(left, in_epoch + (epochs - 1 - p.position.epoch) * order.batches_per_epoch());
}

Status TrainLoop::run(Session& session, TrainResult& result) {
  Progress p;
  p.sums = result.sums;
  p.compute_s_before = result.compute_s, p.waiting_s_before = result.waiting_s;
  if (setup_.first_values) RETURN_IF_ERROR(setup_.first_values(session));
  if (!setup_.init.empty()) RETURN_IF_ERROR(session.run_nodes(setup_.init));
  if (setup_.restored) {
    RETURN_IF_ERROR(apply_checkpoint(*setup_.restored, file_.graph, session, graph_.copies, Fit::kExact));
    ASSIGN_OR_RETURN(const std::string warning,
                     apply_tables(setup_.restored->variables, file_.graph, session, setup_.needed));
    if (!warning.empty()) listener_.warning(warning);
    p.step = p.saved_step = setup_.restored->step;
    p.position = setup_.restored->position;
  }
  if (train_) p.steps_per_epoch = train_order().batches_per_epoch();
  const int64_t count = steps_left(p);
  if (count <= 0)
    return failed_precondition(
        cat("nothing is left to do: ", p.step, " steps are done", setup_.restored ? " by the checkpoint" : ""));
  if (setup_.warmup_steps > 0) p.warm_step = p.step + setup_.warmup_steps;
  if (train_) p.batches.emplace(*train_, train_order(), p.position, count);

  Status status =
      tower_callables_.empty() ? run_in_order(session, p, result, count) : run_towers(session, p, result, count);
  result.steps = p.step;
  result.has_test = test_callable_ >= 0;
  status = finish(session, p, result, std::move(status));
  if (status.blame() == kBlamePeer) status = peer_lost(status, p);
  result.total_s += seconds_since(p.start);
  result.copy_s += session.copy_seconds() - p.copy_s_before;
  return status;
}

/// Another task is gone: how far this run came, and how to go on.
Status TrainLoop::peer_lost(const Status& status, const Progress& p) const {
  const std::string kept =
      p.saved_step >= 0 ? cat("last checkpoint: step ", p.saved_step, "; restart that task and add --restore latest")
                        : "there is no checkpoint";
  const Status lost = lost_at_step(status, p.step + 1);
  return Status(lost.code(), cat(lost.message(), "; ", kept)).blamed(kBlamePeer);
}

/// The last evaluation, checkpoint and fetches; after a stop, the checkpoint only. `status` is that of the steps.
Status TrainLoop::finish(Session& session, Progress& p, TrainResult& result, Status status) {
  if (status.ok() && !stop_requested() && result.has_test && !p.at_epoch_end)
    status = evaluate(session, result.metrics);
  Status stopped = stop_status();
  if (p.whole && !status.ok() && status.code() == stopped.code()) status = ok_status();
  const bool in_time = stopped.code() == Code::kDeadlineExceeded && status.ok() && steps_left(p) <= 0;
  if (in_time) stopped = ok_status();
  // A full disk is not tried again.
  if (setup_.folder && p.step != p.saved_step && (status.ok() || status.code() == Code::kDataLoss)) {
    Status saved = save(session, p, result);
    if (status.ok()) status = std::move(saved);
  }
  if (!status.ok()) return status;
  if (stopped.code() == Code::kDeadlineExceeded)
    return {stopped.code(), cat(stopped.message(), " and ", p.step, " steps")};
  if (!stopped.ok() || fetch_callable_ < 0) return stopped;
  return session.run_step(fetch_callable_, p.batch.values, result.outputs);
}

Status TrainLoop::run_in_order(Session& session, Progress& p, TrainResult& result, int64_t count) {
  for (int64_t i = 0; i < count && !stop_requested(); ++i) {
    if (setup_.one_returned && setup_.one_returned()) return leave_for_others(session, p, result);
    if (setup_.keeps_state) {
      ASSIGN_OR_RETURN(result.state, state_of(session, p));
      result.sums = p.sums;
    }
    RETURN_IF_ERROR(one_step(session, p, result));
    if (setup_.check_replicas_every > 0 && p.step % setup_.check_replicas_every == 0)
      RETURN_IF_ERROR(check_replicas(file_.graph, session, graph_.copies, p.step));
    if (p.at_epoch_end) RETURN_IF_ERROR(end_epoch(session, p, result));
    if (time_to_save(p)) RETURN_IF_ERROR(save(session, p, result));
  }
  return ok_status();
}

/// Every tower in a loop of its own. They meet at the end of an epoch and where a checkpoint is due.
Status TrainLoop::run_towers(Session& session, Progress& p, TrainResult& result, int64_t count) {
  StalenessGate gate(tower_callables_.size(), request_.replication.max_staleness);
  TowerLoops loops(session, tower_callables_, gate);
  Status status;
  while (count > 0 && !stop_requested() && status.ok()) {
    auto start = Clock::now();
    DataPosition taken = p.position;
    int64_t left = setup_.save_every_steps > 0
                       ? std::min(count, setup_.save_every_steps - p.step % setup_.save_every_steps)
                       : count;
    bool returned = false;
    auto next = [&](Batch& batch) -> Result<bool> {
      if (setup_.one_returned && left > 0) returned = returned || setup_.one_returned();
      if (returned || left == 0 || stop_requested() || taken.epoch != p.position.epoch) return false;
      --left;
      --count;
      if (!train_) return true;
      auto asked = Clock::now();
      Result<Batch> read = p.batches->next(std::move(batch));
      if (!read.ok() && stop_requested()) return false;
      if (!read.ok()) return read.take_status();
      batch = read.take();
      result.waiting_s += seconds_since(asked);
      taken = batch.next;
      return true;
    };
    p.whole = false;
    const auto done = [&](size_t tower, const Batch& batch, const std::vector<Tensor>& outputs) {
      const double loss = scalar(outputs[0]);
      if (!(loss - loss == 0)) return Status(Code::kDataLoss, cat(loss));  // a program with loops has no guard
      return tell_step(session, p, batch, outputs, static_cast<int>(tower), result);
    };
    const auto lost = [&](const Status& why) {
      listener_.warning(cat(why.message(), " at step ", p.step + 1, "; the other towers go on, and take its batch"));
    };
    status = loops.run({next, done, lost});
    result.compute_s += seconds_since(std::max(start, p.start));
    if (status.code() == Code::kDataLoss) {
      if (loops.failed_batch()) p.batch = std::move(*loops.failed_batch());
      status = explain(session, p, without_node(status.message()));
    }
    p.at_epoch_end = train_ && taken.epoch != p.position.epoch;
    p.position = taken;
    p.whole = status.ok();
    if (status.ok() && p.at_epoch_end) status = end_epoch(session, p, result);
    if (status.ok() && time_to_save(p)) status = save(session, p, result);
    if (status.ok() && returned && count > 0) status = leave_for_others(session, p, result);
  }
  for (const auto& [updates, steps] : gate.histogram()) result.staleness[updates] += steps;
  result.tower_steps.resize(std::max(result.tower_steps.size(), gate.steps().size()));
  for (size_t tower = 0; tower < gate.steps().size(); ++tower) result.tower_steps[tower] += gate.steps()[tower];
  return status;
}

/// More tasks are there than this session is on: another one goes on from here.
Status TrainLoop::leave_for_others(Session& session, const Progress& p, TrainResult& result) {
  ASSIGN_OR_RETURN(result.state, state_of(session, p));
  result.sums = p.sums;
  result.for_more_tasks = true;
  return Status(Code::kAborted, "a task came back").blamed(kBlamePeer);
}

Status TrainLoop::one_step(Session& session, Progress& p, TrainResult& result) {
  auto start = Clock::now();
  if (train_) {
    ASSIGN_OR_RETURN(p.batch, p.batches->next(std::move(p.batch)));
  }
  auto ready = Clock::now();
  result.waiting_s += std::chrono::duration<double>(ready - start).count();
  p.random = session.random_counters();
  p.whole = false;
  listener_.step_begins(p.step + 1);
  Status status = session.run_step(train_callable_, p.batch.values, p.outputs);
  result.compute_s += seconds_since(ready);
  if (status.code() == Code::kDataLoss) return explain(session, p, without_node(status.message()));
  RETURN_IF_ERROR(std::move(status));

  const double loss = scalar(p.outputs[0]);
  if (!(loss - loss == 0)) return explain(session, p, cat(loss));  // a program with loops has no guard
  RETURN_IF_ERROR(tell_step(session, p, p.batch, p.outputs, -1, result));
  if (train_) {
    p.at_epoch_end = p.batch.next.epoch != p.position.epoch;
    p.position = p.batch.next;
  }
  p.whole = true;
  return ok_status();
}

/// A step of the epoch in which `p` is has ended.
Status TrainLoop::tell_step(const Session& session, Progress& p, const Batch& batch, const std::vector<Tensor>& outputs,
                            int tower, TrainResult& result) {
  StepRecord record;
  record.tower = tower;
  record.loss = scalar(outputs[0]);
  for (size_t i = 1; i < outputs.size(); ++i) record.metrics.push_back(scalar(outputs[i]));
  record.step = ++p.step;
  record.epoch = p.position.epoch + 1;
  record.samples = static_cast<int64_t>(batch.rows.size());
  record.steps_per_epoch = p.steps_per_epoch;
  if (train_) {
    const int64_t behind = batch.next.epoch == p.position.epoch ? batch.next.row : train_->rows();
    record.step_in_epoch = (behind + train_order().batch() - 1) / train_order().batch();
  }
  p.sums.loss += record.loss * static_cast<double>(record.samples);
  p.sums.samples += record.samples;
  p.timed_samples += record.samples;
  result.loss = record.loss;
  result.epochs = record.epoch;
  if (test_callable_ < 0) result.metrics = record.metrics;
  if (p.step == p.warm_step) restart_clocks(session, p, result);
  if (p.step <= result.told_step) return ok_status();
  result.told_step = p.step;
  return listener_.step(record);
}

void TrainLoop::restart_clocks(const Session& session, Progress& p, TrainResult& result) const {
  p.start = p.epoch_start = Clock::now();
  p.timed_samples = 0;
  p.copy_s_before = session.copy_seconds();
  result.compute_s = p.compute_s_before, result.waiting_s = p.waiting_s_before;
}

Status TrainLoop::end_epoch(Session& session, Progress& p, TrainResult& result) {
  EpochRecord record;
  record.epoch = p.position.epoch;  // that of the batch which ended it, counted from 1
  record.step = p.step;
  record.mean_loss = p.sums.samples > 0 ? p.sums.loss / static_cast<double>(p.sums.samples) : 0;
  record.samples_per_s = static_cast<double>(p.timed_samples) / seconds_since(p.epoch_start);
  if (test_callable_ >= 0) {
    RETURN_IF_ERROR(evaluate(session, record.metrics));
    result.metrics = record.metrics;
  }
  p.sums = {};
  p.timed_samples = 0;
  p.epoch_start = Clock::now();
  if (record.epoch <= result.told_epoch) return ok_status();
  result.told_epoch = record.epoch;
  return listener_.epoch(record);
}

/// Means over the samples of the test set.
Status TrainLoop::evaluate(Session& session, std::vector<double>& metrics) {
  metrics.assign(graph_.metrics.size(), 0);
  SampleOrder order(test_->rows(), request_.batch, false, false, 0);
  DataPosition position;
  Batch batch;
  std::vector<Tensor> outputs;
  while (position.epoch == 0) {
    RETURN_IF_ERROR(stop_status());
    batch.rows = order.take(position);
    RETURN_IF_ERROR(test_->gather(batch.rows, batch.values));
    RETURN_IF_ERROR(session.run_step(test_callable_, batch.values, outputs));
    for (size_t i = 0; i < metrics.size(); ++i) {
      const double value = scalar(outputs[i]);
      if (!(value - value == 0)) warn_of_metric(i, value, batch);
      metrics[i] += value * static_cast<double>(batch.rows.size());
    }
  }
  for (double& metric : metrics) metric /= static_cast<double>(test_->rows());
  return ok_status();
}

/// Once a run: the first one, and the sample that it comes from if the data themselves hold such a number.
void TrainLoop::warn_of_metric(size_t metric, double value, const Batch& batch) {
  if (std::exchange(warned_of_metric_, true)) return;
  const std::optional<BadSample> bad = find_bad_sample(batch);
  listener_.warning(cat("metric '", printable(graph_.metrics[metric].first), "' is ", value, " on the test set",
                        bad ? cat(": ", bad->found, " of the sample at ", test_->where(bad->feed, bad->row)) : ""));
}

bool TrainLoop::time_to_save(const Progress& p) const {
  if (!setup_.folder) return false;
  return (setup_.save_every_steps > 0 && p.step % setup_.save_every_steps == 0) ||
         (setup_.save_every_s > 0 && seconds_since(p.saved_at) >= setup_.save_every_s);
}

Result<Checkpoint> TrainLoop::state_of(Session& session, const Progress& p) const {
  Checkpoint c;
  c.step = p.step;
  c.position = p.position;
  c.batch = request_.batch;
  c.seed = static_cast<uint64_t>(request_.seed);
  c.graph_file = file_.source->name();
  c.graph_sha256 = setup_.identity.graph_sha256;
  c.data = setup_.identity.data;
  for (const auto& [node, blocks] : session.random_counters()) c.random.emplace_back(file_.graph.name(node), blocks);
  ASSIGN_OR_RETURN(c.variables, read_variables(file_.graph, session, graph_.copies));
  return c;
}

Status TrainLoop::save(Session& session, Progress& p, TrainResult& result) {
  ASSIGN_OR_RETURN(Checkpoint c, state_of(session, p));
  for (const auto& [name, value] : c.variables) {
    const std::string found = non_finite_text(value);
    if (found.empty()) continue;
    // Nothing to go on from: the last good checkpoint stays.
    listener_.warning(cat("step ", p.step, " is not saved: variable '", name, "' is not finite: ", found));
    return ok_status();
  }
  ASSIGN_OR_RETURN(result.checkpoint, setup_.folder->save(std::move(c)));
  p.saved_step = p.step;
  p.saved_at = Clock::now();
  listener_.saved(result.checkpoint);
  return ok_status();
}

namespace {

/// A loss that is not finite.
Status not_finite(std::string text) { return Status(Code::kDataLoss, std::move(text)).blamed(Blame::kMismatch); }

}  // namespace

/// Computes the loss of this batch again, looking at every node. The variables are as they were before the step.
Status TrainLoop::explain(Session& session, const Progress& p, const std::string& what) const {
  std::string text = cat("step ", p.step + 1, train_ ? cat(", epoch ", p.position.epoch + 1) : "", ": the loss '",
                         request_.loss.name, "' is not finite: ", what);
  if (const std::optional<BadSample> bad = train_ ? find_bad_sample(p.batch) : std::nullopt) {
    const NodeId node = train_->placeholders()[bad->feed].node;
    return not_finite(cat(text, "\n  the first node with such a value is '", file_.graph.name(node), "' (",
                          file_.graph.op(node), "): ", bad->found, " of the sample at ",
                          train_->where(bad->feed, bad->row)));
  }
  for (const auto& [node, blocks] : p.random) session.set_random_counter(node, blocks);
  NumericsCheck check(file_.graph, session.devices(), true, [](const std::string&) {});
  Status found = session.run_observed(forward_callable_, p.batch.values, check);
  if (found.ok()) return not_finite(cat(text, "\n  computed again, it was finite"));
  if (found.code() == Code::kUnimplemented) return not_finite(text);
  return not_finite(cat(text, "\n  the first node with such a value is ", without_node(found.message())))
      .at_node(found.node());
}

}  // namespace emplace
