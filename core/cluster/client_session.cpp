#include "core/cluster/client_session.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/cluster/clock.h"
#include "core/partition/prune.h"

namespace emplace {

using message::SessionReply;
using message::StepCall;
using message::StepKind;
namespace method = message::method;

namespace {

constexpr uint32_t kThreadsOfTask = 1 << 16;  // numbers of its threads in a trace

}  // namespace

ClientSession::ClientSession(std::shared_ptr<Peer> master, const GraphFile& file, const DeviceSet& devices,
                             const Placement& placement, const std::atomic<bool>* stop,
                             std::shared_ptr<std::vector<message::TrafficMessage>> traffic, LaunchTrace* trace)
    : master_(std::move(master)),
      file_(file),
      devices_(devices),
      placement_(placement),
      stop_(stop),
      traffic_(std::move(traffic)),
      trace_(trace) {}

ClientSession::~ClientSession() {
  if (!keeping_) return;
  constexpr std::chrono::seconds kToHear{1};  // the master: if this process ends before, it takes that for a loss
  std::future<void> ended = kept_->get_future();
  keeping_->call_off();
  ended.wait_for(kToHear);
}

Status ClientSession::begin(std::shared_ptr<const message::SessionRequest> request) {
  request_ = std::move(request);
  RETURN_IF_ERROR(ask(method::kCreateSession, *request_));
  id_ = reply_.session;
  ASSIGN_OR_RETURN(std::string body, message::write(message::SessionId{id_}));
  keeping_ = master_->send(method::kHold, std::move(body), [kept = kept_](const Answer&) { kept->set_value(); });
  return ok_status();
}

Status ClientSession::run_nodes(const std::vector<NodeId>& nodes) {
  StepCall call;
  call.kind = StepKind::kNodes;
  call.nodes.assign(nodes.begin(), nodes.end());
  return nodes.empty() ? ok_status() : run(std::move(call));
}

Status ClientSession::step(std::vector<Tensor>& outputs) {
  RETURN_IF_ERROR(run({}));
  outputs = std::move(reply_.outputs);
  return ok_status();
}

int ClientSession::add_step(StepRequest request, int at_once) {
  Callable& added = callables_.emplace_back();
  added.request = std::move(request);
  // Beside steps that run at once, all have sessions of their own: none needs a task that another one has lost.
  added.runs_apart = at_once > 1 || callables_.front().runs_apart;
  return static_cast<int>(callables_.size()) - 1;
}

Status ClientSession::plan_step(int callable, const std::vector<Tensor>& feeds) {
  Callable& c = callables_[static_cast<size_t>(callable)];
  if (!c.runs_apart) return find_or_plan(c, feeds).take_status();
  ASSIGN_OR_RETURN(ClientSession * apart, session_apart(c));
  return apart->plan_step(0, feeds);
}

Status ClientSession::run_step(int callable, const std::vector<Tensor>& feeds, std::vector<Tensor>& outputs) {
  Callable& c = callables_[static_cast<size_t>(callable)];
  if (c.runs_apart) {
    ASSIGN_OR_RETURN(ClientSession * apart, session_apart(c));
    return apart->run_step(0, feeds, outputs);
  }
  StepCall call;
  call.kind = StepKind::kCallable;
  ASSIGN_OR_RETURN(call.plan, find_or_plan(c, feeds));
  call.callable = static_cast<uint32_t>(c.number);
  call.feeds = feeds;
  RETURN_IF_ERROR(run(std::move(call)));
  outputs = std::move(reply_.outputs);
  return ok_status();
}

Status ClientSession::run_observed(int /*callable*/, const std::vector<Tensor>& /*feeds*/, RunObserver& /*observer*/) {
  return unimplemented("a step of several tasks cannot be watched node by node");
}

Result<uint32_t> ClientSession::find_or_plan(Callable& c, const std::vector<Tensor>& feeds) {
  std::vector<Shape> shapes;
  shapes.reserve(feeds.size());
  for (const Tensor& feed : feeds) shapes.push_back(feed.shape());
  for (const auto& [planned, number] : c.plans) {
    if (planned == shapes) return number;
  }
  message::PlanCall call;
  call.session = id_;
  call.plan = next_plan_++;
  if (c.number < 0) c.number = next_number_++;
  call.callable = static_cast<uint32_t>(c.number);
  for (const Endpoint& e : c.request.fetches) call.fetches.push_back({e.node, e.slot, {}});
  for (size_t i = 0; i < feeds.size(); ++i)
    call.feeds.push_back({c.request.feeds[i].node, c.request.feeds[i].slot, feeds[i]});
  call.targets.assign(c.request.targets.begin(), c.request.targets.end());
  if (const Endpoint& guard = c.request.guard; guard.node != kNoNode)
    call.guard.push_back({guard.node, guard.slot, {}});
  RETURN_IF_ERROR(ask(method::kPlanStep, call));
  c.plans.emplace_back(std::move(shapes), call.plan);
  return call.plan;
}

Result<ClientSession*> ClientSession::session_apart(Callable& c) {
  if (c.apart) return c.apart.get();
  auto request = std::make_shared<message::SessionRequest>(*request_);
  request->members = tasks_of(c.request);
  const auto own_traffic = std::make_shared<std::vector<message::TrafficMessage>>();  // others may end a step meanwhile
  auto made = std::make_unique<ClientSession>(master_, file_, devices_, placement_, stop_, own_traffic, nullptr);
  RETURN_IF_ERROR(made->begin(std::move(request)));
  made->add_step(c.request, 1);
  c.apart = std::move(made);
  return c.apart.get();
}

/// The master, and all that a node of the step is on.
std::vector<std::string> ClientSession::tasks_of(const StepRequest& step) const {
  std::vector<std::string> tasks = {devices_.own_task};
  std::vector<bool> seen(devices_.size());
  const Pruned pruned(file_.graph, step);
  for (const NodeId node : pruned.nodes()) {
    const DeviceId d = placement_.device(node);
    if (seen[d]) continue;
    seen[d] = true;
    const std::string task = devices_.at(d).parsed.task_name();
    if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(task);
  }
  return tasks;
}

Status ClientSession::run(StepCall call) {
  ++step_;
  call.session = id_;
  call.random = std::exchange(to_draw_, {});
  call.traced = trace_ && trace_->records(trace_->step());
  const Status sent = send(method::kRunStep, call), status = sent.ok() ? reply_.status.status() : sent;
  if (call.traced && status.ok()) RETURN_IF_ERROR(take_trace());
  if (status.code() == Code::kNotFound) return master_->restarted();
  // The master itself is lost; of other tasks, it told.
  const bool is_loss = sent.blame() == kBlamePeer && sent.code() == Code::kUnavailable;
  return is_loss && call.kind != StepKind::kCallable ? lost_at_step(sent, step_) : status;
}

Status ClientSession::take_trace() {
  ASSIGN_OR_RETURN(const ClockOffset clock, clock_of(*master_));
  ASSIGN_OR_RETURN(const message::TraceReply reply,
                   master_->call<message::TraceReply>(method::kTrace, message::SessionId{id_}, stop_));
  RETURN_IF_ERROR(reply.status.status());
  for (size_t t = 0; t < reply.tasks.size(); ++t) {
    const message::TaskTrace& task = reply.tasks[t];
    std::vector<uint32_t>& ids = work_ids_[task.task];
    for (const message::WorkMessage& work : task.work) {
      ASSIGN_OR_RETURN(LaunchedWork made, work_of(work));
      ids.push_back(trace_->add_work(std::move(made)));
    }
    trace_->set_clock_error(clock.error_ns + task.error_ns);
    for (const message::SpanMessage& span : task.spans) {
      if (span.work >= ids.size()) return internal_error("a span of no work");
      const auto thread = static_cast<uint32_t>(t) * kThreadsOfTask + span.thread;
      trace_->add_from({ids[span.work], thread, 0, span.start_ns, span.end_ns}, clock.ahead_ns + task.ahead_ns);
    }
  }
  return ok_status();
}

Result<LaunchedWork> ClientSession::work_of(const message::WorkMessage& work) const {
  const auto is_device = [&](int id) { return id >= 0 && id < devices_.size(); };
  if (!is_device(work.device) || (work.from != -1 && !is_device(work.from)))
    return internal_error("a trace of no device");
  LaunchedWork made;
  made.nodes.assign(work.nodes.begin(), work.nodes.end());
  for (const NodeId node : made.nodes) {
    if (node >= file_.graph.num_nodes()) return internal_error("a trace of no node");
  }
  made.device = static_cast<DeviceId>(work.device);
  made.from = work.from == -1 ? kNoDevice : static_cast<DeviceId>(work.from);
  made.reader = work.reader, made.bytes = work.bytes, made.is_loop = work.is_loop;
  made.receives = work.receives, made.transfer = work.transfer;
  if (work.is_transfer) made.peer = 0;  // any: it is one
  return made;
}

template <class Request>
Status ClientSession::ask(const char* name, const Request& request) {
  RETURN_IF_ERROR(send(name, request));
  return reply_.status.status();
}

template <class Request>
Status ClientSession::send(const char* name, const Request& request) {
  Result<SessionReply> reply = master_->call<SessionReply>(name, request, stop_);
  if (!reply.ok()) return reply.take_status();
  reply_ = reply.take();
  for (const message::RandomMessage& r : reply_.random) random_[r.node] = r.blocks;
  if (reply_.status.status().ok() && !reply_.memory.empty()) {
    std::lock_guard lock(mutex_);
    memory_ = reply_.memory;
    copies_ = reply_.copies, copy_bytes_ = reply_.copy_bytes, copy_seconds_ = reply_.copy_seconds;
    *traffic_ = reply_.traffic;
  }
  return ok_status();
}

Result<Tensor> ClientSession::variable(NodeId node) {
  RETURN_IF_ERROR(ask(method::kVariable, message::VariableCall{id_, node, false, {}, {}}));
  return reply_.outputs.empty() ? Tensor() : reply_.outputs.front();
}

Status ClientSession::set_variable(NodeId node, const Tensor& value) {
  return ask(method::kVariable, message::VariableCall{id_, node, true, value, {}});
}

Result<std::optional<TableContents>> ClientSession::table(NodeId node) {
  RETURN_IF_ERROR(ask(method::kVariable, message::VariableCall{id_, node, false, {}, {}}));
  if (reply_.outputs.size() != 2) return std::optional<TableContents>();
  return std::optional(TableContents{reply_.outputs[0], reply_.outputs[1]});
}

Status ClientSession::set_table(NodeId node, const TableContents& contents) {
  return ask(method::kVariable, message::VariableCall{id_, node, true, contents.keys, contents.values});
}

std::vector<std::pair<NodeId, uint64_t>> ClientSession::random_counters() const {
  std::map<NodeId, uint64_t> all = random_;
  for (const Callable& c : callables_) {
    if (!c.apart) continue;
    for (const auto& [node, blocks] : c.apart->random_counters()) all[node] = std::max(all[node], blocks);
  }
  return {all.begin(), all.end()};
}

void ClientSession::set_random_counter(NodeId node, uint64_t blocks) {
  random_[node] = blocks;
  to_draw_.push_back({node, blocks});
  for (Callable& c : callables_) {
    if (c.apart) c.apart->set_random_counter(node, blocks);
  }
}

std::vector<DeviceMemory> ClientSession::memory() const {
  std::vector<DeviceMemory> all(devices_.size());
  std::lock_guard lock(mutex_);
  for (DeviceId d = 0; d < devices_.size(); ++d) {
    DeviceMemory& row = all[d];
    row.device = d;
    for (const message::MemoryMessage& m : memory_) {
      if (m.device != devices_.at(d).name) continue;
      row.limit = m.limit, row.planned = m.planned, row.variables = m.variables, row.constants = m.constants;
      row.pool = m.pool, row.peak = m.peak;
    }
  }
  return all;
}

double ClientSession::copy_seconds() const {
  double seconds = 0;
  for (const Callable& c : callables_) seconds += c.apart ? c.apart->copy_seconds() : 0;
  std::lock_guard lock(mutex_);
  return seconds + copy_seconds_;
}

int64_t ClientSession::copies_per_step() const {
  std::lock_guard lock(mutex_);
  return copies_;
}

int64_t ClientSession::copy_bytes_per_step() const {
  std::lock_guard lock(mutex_);
  return copy_bytes_;
}

}  // namespace emplace
