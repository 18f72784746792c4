#include "core/steps_in_flight.h"

#include <chrono>
#include <thread>

#include "core/base/cat.h"
#include "core/graph/handles.h"
#include "core/run_request.h"

namespace emplace {
namespace {

/// The variable, or whatever else keeps a state, behind a reference or a handle.
NodeId state_behind(const Graph& g, NodeId node) {
  for (uint32_t turns = 0; turns < g.num_nodes() && !g.inputs(node).empty(); ++turns) node = g.inputs(node)[0].node;
  return node;
}

/// What a node leaves for the next step; empty: nothing.
std::string left_behind(const Graph& g, NodeId n) {
  const OpTraits& traits = g.traits(n);
  const OpSignature* signature = g.type(n).signature;
  if (traits.writes_variable) return cat("writes '", g.name(state_behind(g, n)), "', which the next step reads");
  if (traits.random) return "draws random numbers, and the next step goes on where it ends";
  if (traits.collective) return "waits for other nodes of its step";
  if (reads_handle(g, n)) {
    const bool reads = traits.reads_variable || traits.leaves_state || traits.identity || makes_handle(g, n);
    return reads ? std::string() : cat("may change '", g.name(state_behind(g, n)), "', which the next step reads");
  }
  if (signature && signature->is_stateful && !makes_handle(g, n) && !traits.placeholder && !traits.leaves_state)
    return "does more than its outputs tell, in the order of the steps";
  return {};
}

}  // namespace

Status check_steps_apart(const Graph& graph, const RunRequest& request) {
  RunRequest step = request;
  step.init.clear();
  const std::vector<char> needed = needed_nodes(graph, step);
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (!needed[n]) continue;
    const std::string what = left_behind(graph, n);
    if (!what.empty())
      return failed_precondition(cat("--in-flight: '", graph.name(n), "' (", graph.op(n), ") ", what,
                                     "; without --in-flight the steps follow each other"))
          .at_node(graph.name(n));
  }
  return ok_status();
}

StepsInFlight::StepsInFlight(Session& session, const StepRequest& request, int count) : session_(session) {
  for (int i = 0; i < count; ++i) callables_.push_back(session.add_step(request, count));
}

Status StepsInFlight::plan() {
  for (const int callable : callables_) RETURN_IF_ERROR(session_.plan_step(callable, {}));
  return ok_status();
}

Status StepsInFlight::run(int64_t first, int64_t end, const Done& done) {
  next_ = told_ = first;
  std::vector<std::thread> threads;
  for (size_t i = 1; i < callables_.size() && first + static_cast<int64_t>(i) < end; ++i)
    threads.emplace_back([&, i] { work(callables_[i], end, done); });
  work(callables_[0], end, done);
  for (std::thread& t : threads) t.join();
  return std::move(status_);
}

void StepsInFlight::work(int callable, int64_t end, const Done& done) {
  std::vector<Tensor> outputs;
  std::unique_lock lock(mutex_);
  while (status_.ok() && next_ < end) {
    const int64_t step = next_++;
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    Status status = session_.run_numbered_step(callable, step, outputs);
    const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    lock.lock();
    told_one_.wait(lock, [&] { return told_ == step || !status_.ok(); });
    if (!status_.ok()) break;  // of an earlier step
    if (status.ok()) status = done(step, us, outputs);
    status_ = std::move(status);
    ++told_;
    told_one_.notify_all();
  }
}

}  // namespace emplace
