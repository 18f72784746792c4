#include "core/cluster/task_session.h"

#include <algorithm>
#include <utility>

#include "core/base/cat.h"
#include "core/device/gpu.h"
#include "core/device/task_map.h"

namespace emplace {

namespace {

constexpr int64_t kNotTraced = LaunchTrace::kBeforeSteps - 1;

}  // namespace

using message::EndpointMessage;
using message::SessionReply;
using message::SessionRequest;

namespace {

Status no_step() { return invalid_argument("the session has no such step"); }

Result<NodeId> node_of(const Graph& g, uint32_t number) {
  return number < g.num_nodes() ? Result<NodeId>(number) : invalid_argument(cat("no node ", number));
}

Result<Endpoint> endpoint_of(const Graph& g, const EndpointMessage& e) {
  if (e.node < g.num_nodes() && e.output < g.num_outputs(e.node)) return Endpoint{e.node, e.output};
  return invalid_argument(cat("no tensor ", e.node, ":", e.output));
}

Result<StepRequest> step_request(const Graph& g, const message::PlanCall& call) {
  StepRequest step;
  for (const EndpointMessage& e : call.fetches) {
    ASSIGN_OR_RETURN(const Endpoint fetch, endpoint_of(g, e));
    step.fetches.push_back(fetch);
  }
  for (const EndpointMessage& e : call.feeds) {
    ASSIGN_OR_RETURN(const Endpoint feed, endpoint_of(g, e));
    if (!e.value.valid() || e.value.dtype() != base_type(g.output_type(feed)) ||
        !g.output_shape(feed).compatible_with(e.value.shape()))
      return invalid_argument(cat("'", g.name(e.node), "' takes another type or shape"));
    step.feeds.push_back(feed);
  }
  for (const uint32_t number : call.targets) {
    ASSIGN_OR_RETURN(const NodeId target, node_of(g, number));
    step.targets.push_back(target);
  }
  for (const EndpointMessage& e : call.guard) {
    ASSIGN_OR_RETURN(step.guard, endpoint_of(g, e));
  }
  return step;
}

/// Those of the call, or of the plan where another task is the master.
Result<const std::vector<Tensor>*> feeds_of(const PlannedFeeds& all, const message::StepCall& call) {
  if (call.callable >= all.size() || !all[call.callable].contains(call.plan)) return no_step();
  const std::vector<Tensor>& planned = all[call.callable].at(call.plan);
  if (call.feeds.empty()) return &planned;
  const bool fit = std::equal(
      planned.begin(), planned.end(), call.feeds.begin(), call.feeds.end(),
      [](const Tensor& a, const Tensor& b) { return b.valid() && a.dtype() == b.dtype() && a.shape() == b.shape(); });
  return fit ? Result<const std::vector<Tensor>*>(&call.feeds)
             : invalid_argument("feeds of other types or shapes than the step was planned for");
}

/// InvalidArgument: there is no such variable on this task, or it does not take the value.
Status check_variable(const TaskSession& session, const Graph& g, const message::VariableCall& call) {
  if (!session.has_node(call.node)) return invalid_argument(cat("no node ", call.node));
  if (!session.on_this_task(call.node) || !(g.traits(call.node).variable || names_table(g.attrs(call.node))))
    return invalid_argument(cat("'", g.name(call.node), "' is no variable or table of this task"));
  if (!call.writes) return ok_status();
  const Attrs attrs = g.attrs(call.node);
  if (!g.traits(call.node).variable)
    return call.value.valid() && call.table_values.valid() ? ok_status() : invalid_argument("a table without contents");
  const Tensor& value = call.value;
  if (value.valid() && value.dtype() == attrs.type("dtype") && attrs.shape("shape").compatible_with(value.shape()))
    return ok_status();
  return invalid_argument(cat("'", g.name(call.node), "' takes another type or shape"));
}

Result<std::vector<Tensor>> read_variable(Session& session, NodeId node) {
  ASSIGN_OR_RETURN(Tensor value, session.variable(node));
  return std::vector{std::move(value)};
}

Result<std::vector<Tensor>> read_table(Session& session, NodeId node) {
  ASSIGN_OR_RETURN(std::optional<TableContents> contents, session.table(node));
  if (!contents) return std::vector<Tensor>();
  return std::vector{std::move(contents->keys), std::move(contents->values)};
}

}  // namespace

Result<std::shared_ptr<TaskSession>> TaskSession::create(const SessionRequest& request, const std::string& self,
                                                         const DeviceSet& own, std::shared_ptr<TaskState> state,
                                                         const Peers& peers, const std::vector<std::string>& data_roots,
                                                         MessagePassing* collectives) {
  std::shared_ptr<TaskSession> made(new TaskSession);
  made->id_ = request.session;
  RETURN_IF_ERROR(made->load(request));
  RETURN_IF_ERROR(made->set_devices(request, self, own));
  const TaskMap tasks(made->cluster_);
  made->traffic_ = std::make_unique<PieceTraffic>(tasks.names.size());
  PieceIntake& intake = made->traffic_->intake;
  made->exchange_ = std::make_unique<RemoteExchange>(
      request.session, tasks, tasks.find(self), peers, intake.inbox(), [&intake] { intake.taken(); },
      [losses = made->traffic_->losses](uint64_t step, const Status& why) { losses->tell(step, why); });
  if (collectives) made->exchange_->use_collectives(*collectives, tasks, tasks.find(self), peers);
  made->share_ = std::make_unique<TaskShare>(made->cluster_, tasks.find(self), *made->exchange_);
  made->share_->collective_id = request.collective_id;
  made->checkpoints_ =
      std::make_unique<GraphCheckpoints>(graph_folders_of_server(request.folder, request.folder_place, data_roots));
  if (request.trace) made->trace_ = std::make_unique<LaunchTrace>(LaunchTrace::Short::kShared);
  ASSIGN_OR_RETURN(SessionOptions options, made->options(request));
  made->has_own_step_ = !options.fetches.empty() || !options.targets.empty();
  options.task = std::move(state);
  ASSIGN_OR_RETURN(made->session_, Session::create(*made->file_, made->own_, made->placement_, std::move(options)));
  return made;
}

Status TaskSession::load(const SessionRequest& request) {
  Problems problems;
  file_ = emplace::load(Source::from_text("the session's graph", std::string(request.graph)), {}, problems);
  if (problems.empty()) validate(*file_, problems);
  if (!problems.empty()) return invalid_argument(problems.list().front().message).blamed(Blame::kFile);
  if (request.placement.size() != file_->graph.num_nodes()) {
    return invalid_argument(
        cat("a placement of ", request.placement.size(), " nodes for a graph of ", file_->graph.num_nodes()));
  }
  return ok_status();
}

Status TaskSession::set_devices(const SessionRequest& request, const std::string& self, const DeviceSet& own) {
  for (const message::TaskStatus& task : request.tasks) {
    for (const message::DeviceMessage& d : task.devices) {
      const std::optional<DeviceName> name = DeviceName::parse(d.name);
      if (!name || !name->complete() || name->task_name() != task.name)
        return invalid_argument(cat("'", d.name, "' is not a device of ", task.name));
      if (d.kind < 0 || d.kind > static_cast<int>(DeviceKind::kDescribed))
        return invalid_argument(cat("'", d.name, "' is of no kind that there is"));
      if (cluster_.devices.size() == kNoDevice) return invalid_argument("too many devices");
      Device& made = cluster_.devices.emplace_back();
      made.name = d.name, made.parsed = *name, made.type = *name->type;
      made.kind = static_cast<DeviceKind>(d.kind), made.memory_limit = d.memory_limit;
      made.physical_description = d.physical_description, made.physical_gpu = d.physical_gpu;
    }
  }
  for (const uint32_t device : request.placement) {
    if (device >= cluster_.devices.size()) return invalid_argument(cat("no device ", device));
    placement_.decisions.push_back({static_cast<DeviceId>(device)});
  }
  cluster_.own_task = request.tasks.empty() ? self : request.tasks.front().name;
  const TaskMap tasks(cluster_);
  const TaskId task = tasks.find(self);
  if (task == kNoTask) return invalid_argument(cat(self, " has no device in the session"));
  const std::vector<DeviceId> ids = tasks.devices_of(task);
  for (size_t i = 0; i < std::max(ids.size(), own.devices.size()); ++i) {
    if (i < ids.size() && i < own.devices.size() && cluster_.at(ids[i]).name == own.devices[i].name) continue;
    return failed_precondition(cat("the devices of ", self, " are others than those that were listed"));
  }
  own_ = own;
  return ok_status();
}

Result<SessionOptions> TaskSession::options(const SessionRequest& request) const {
  SessionOptions o;
  for (const EndpointMessage& e : request.fetches) {
    ASSIGN_OR_RETURN(const Endpoint fetch, endpoint_of(file_->graph, e));
    o.fetches.push_back(fetch);
  }
  for (const EndpointMessage& e : request.feeds) {
    ASSIGN_OR_RETURN(const Endpoint feed, endpoint_of(file_->graph, e));
    if (!e.value.valid()) return invalid_argument(cat("no value is fed to '", file_->graph.name(e.node), "'"));
    o.feeds.emplace_back(feed, e.value);
  }
  for (const uint32_t number : request.targets) {
    ASSIGN_OR_RETURN(const NodeId target, node_of(file_->graph, number));
    o.targets.push_back(target);
  }
  o.seed = request.seed;
  o.timeout_s = request.timeout_s;
  o.inter_op_threads = request.inter_op_threads;
  o.intra_op_threads = request.intra_op_threads;
  o.gpu.deterministic = request.deterministic;
  o.stop = &stop_;
  o.share = share_.get();
  o.trace = trace_.get();
  o.checkpoints = checkpoints_.get();
  return o;
}

SessionReply TaskSession::reply(const Status& status) {
  SessionReply reply;
  reply.status = message::StatusMessage::of(status);
  reply.session = id_;
  reply.programs = exchange_->take_programs();
  reply.copies = session_->copies_per_step();
  reply.copy_bytes = session_->copy_bytes_per_step();
  reply.copy_seconds = session_->copy_seconds();
  for (const auto& [node, blocks] : session_->random_counters()) reply.random.push_back({node, blocks});
  reply.traffic.push_back({share_->tasks.names[share_->task], exchange_->sent_bytes(), exchange_->received_bytes(),
                           exchange_->time_ns(), exchange_->wait_ns(), exchange_->collectives()});
  for (const DeviceMemory& m : session_->memory()) {
    reply.memory.push_back({own_.at(m.device).name, m.limit, m.planned, m.variables, m.constants, m.pool, m.peak});
  }
  return reply;
}

SessionReply TaskSession::run(const message::StepCall& call) {
  std::lock_guard lock(running_);
  runs_ = true;
  std::vector<Tensor> outputs;
  exchange_->begin(call.step);
  if (trace_) trace_->begin_step(call.traced ? 0 : kNotTraced);
  step_ = call.step;
  stop_ = false;
  Status status;
  if (closed_) status = Status(Code::kCancelled, "the session is closed");
  if (traffic_->intake.inbox().aborted(call.step)) status = Status(Code::kCancelled, "the step failed on another task");
  if (status.ok()) status = run_part(call, outputs);
  exchange_->flush();
  if (status.ok()) exchange_->finish(stop_);
  if (const Status unsent = exchange_->failure(); !unsent.ok()) status = unsent.at_node(status.node());
  if (closed_ && status.code() == Code::kCancelled)
    status = Status(Code::kAborted, "task is shutting down").blamed(kBlamePeer);
  traffic_->intake.end(call.step);
  runs_ = false;
  SessionReply made = reply(status);
  if (status.ok()) made.outputs = std::move(outputs);
  return made;
}

Status TaskSession::run_part(const message::StepCall& call, std::vector<Tensor>& outputs) {
  for (const message::RandomMessage& r : call.random) {
    ASSIGN_OR_RETURN(const NodeId drawing, node_of(file_->graph, r.node));
    if (on_this_task(drawing)) session_->set_random_counter(drawing, r.blocks);
  }
  if (call.kind == message::StepKind::kOwn) return has_own_step_ ? session_->step(outputs) : no_step();
  if (call.kind == message::StepKind::kCallable) {
    ASSIGN_OR_RETURN(const std::vector<Tensor>* feeds, feeds_of(planned_, call));
    return session_->run_step(static_cast<int>(call.callable), *feeds, outputs);
  }
  std::vector<NodeId> nodes;
  for (const uint32_t number : call.nodes) {
    ASSIGN_OR_RETURN(const NodeId one, node_of(file_->graph, number));
    nodes.push_back(one);
  }
  return session_->run_nodes(nodes);
}

SessionReply TaskSession::plan(const message::PlanCall& call) {
  std::lock_guard lock(running_);
  SessionReply made = reply(closed_ ? Status(Code::kCancelled, "the session is closed") : plan_callable(call));
  traffic_->intake.end(call.step);
  return made;
}

Status TaskSession::plan_callable(const message::PlanCall& call) {
  if (call.callable > planned_.size()) return no_step();
  ASSIGN_OR_RETURN(StepRequest step, step_request(file_->graph, call));
  std::vector<Tensor> feeds;
  for (const EndpointMessage& e : call.feeds) feeds.push_back(e.value);
  if (call.callable == planned_.size()) {
    session_->add_step(std::move(step));
    planned_.emplace_back();
  }
  RETURN_IF_ERROR(session_->plan_step(static_cast<int>(call.callable), feeds));
  planned_[call.callable][call.plan] = std::move(feeds);
  return ok_status();
}

SessionReply TaskSession::variable(const message::VariableCall& call) {
  std::lock_guard lock(running_);
  if (const Status status = check_variable(*this, file_->graph, call); !status.ok()) return reply(status);
  const bool is_table = !file_->graph.traits(call.node).variable;
  if (call.writes)
    return reply(is_table ? session_->set_table(call.node, {call.value, call.table_values})
                          : session_->set_variable(call.node, call.value));
  Result<std::vector<Tensor>> values =
      is_table ? read_table(*session_, call.node) : read_variable(*session_, call.node);
  SessionReply made = reply(values.status());
  if (values.ok()) made.outputs = values.take();
  return made;
}

message::TaskTrace TaskSession::take_trace() {
  std::lock_guard lock(running_);
  message::TaskTrace made;
  made.task = share_->tasks.names[share_->task];
  if (!trace_) return made;
  const std::vector<DeviceId> ids = share_->tasks.devices_of(share_->task);
  for (const auto& all = trace_->work(); work_taken_ < all.size(); ++work_taken_) {
    const LaunchedWork& w = all[work_taken_];
    message::WorkMessage& to = made.work.emplace_back();
    to.nodes.assign(w.nodes.begin(), w.nodes.end());
    to.device = ids[w.device], to.from = w.from == kNoDevice ? -1 : ids[w.from];
    to.reader = w.reader, to.bytes = w.bytes, to.is_loop = w.is_loop;
    if (w.peer == kNoTask) continue;
    to.is_transfer = true, to.receives = w.receives, to.transfer = w.transfer;
    (w.receives ? to.from : to.device) = share_->tasks.host[w.peer];
  }
  for (const LaunchSpan& span : trace_->take_spans())
    made.spans.push_back({span.work, span.thread, span.start_ns, span.end_ns});
  return made;
}

void TaskSession::abort(uint64_t step) {
  traffic_->intake.inbox().abort(step);
  if (step_ > step) return;
  stop_ = true;
  // Who waits for a GPU that is lost would wait for good.
  if (!share_->collective_id.empty() && own_.gpus) own_.gpus->give_up_collectives(share_->collective_id);
}

void TaskSession::close() {
  closed_ = true;
  abort(UINT64_MAX);
  traffic_->close();
}

bool TaskSession::on_this_task(NodeId node) const { return share_->tasks.of[placement_.device(node)] == share_->task; }

const std::string& TaskSession::task_of(NodeId node) const {
  return share_->tasks.names[share_->tasks.of[placement_.device(node)]];
}

}  // namespace emplace
