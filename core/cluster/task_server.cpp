#include "core/cluster/task_server.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

#include "core/cluster/clock.h"
#include "core/cluster/cluster.h"
#include "core/device/gpu.h"

namespace emplace {

using message::SessionReply;
using message::SessionRequest;
using message::StatusMessage;
using message::TaskStatus;
namespace method = message::method;

namespace {

constexpr size_t kMostSessions = 1000;
constexpr int64_t kBrief_ns = 1'000'000;  // so long a thread that reads requests may be kept from it

uint64_t random_number() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

Answer answer_of(const Status& status) { return {static_cast<int>(status.code()), status.message(), {}}; }

template <class T>
Answer answer_with(const T& message) {
  Result<std::string> body = message::write(message);
  return body.ok() ? Answer{0, {}, body.take()} : answer_of(body.status());
}

/// A failure with all that a Status says, which an Answer does not.
Answer failed_reply(const Status& status) {
  SessionReply reply;
  reply.status = StatusMessage::of(status);
  return answer_with(reply);
}

Status shutting_down() { return Status(Code::kAborted, "task is shutting down").blamed(kBlamePeer); }

Answer no_session() { return {static_cast<int>(Code::kNotFound), "no such session", {}}; }

/// The answer to a request that belongs to a session, which `find` finds and `act` asks.
template <class Call, class Find, class Act>
Answer of_session(const std::string& body, const Find& find, const Act& act) {
  Result<Call> call = message::read<Call>(body);
  if (!call.ok()) return answer_of(call.status());
  const auto session = find(call->session);
  return session ? answer_with(act(*session, call.take())) : no_session();
}

/// Answered with what the session loses, which `find` finds.
template <class Find>
void await_loss(IncomingRequest* request, const Find& find) {
  const Result<message::SessionId> id = message::read<message::SessionId>(request->body());
  if (!id.ok()) return request->answer(answer_of(id.status()));
  const auto session = find(id->session);
  if (!session) return request->answer(no_session());
  session->traffic().losses->next(request, [request](uint64_t step, const Status& why) {
    request->answer(answer_with(message::LossMessage{step, StatusMessage::of(why)}));
  });
}

/// Of another task, asked for now.
Result<TaskStatus> status_of(Peer& peer, double dead_after_s) {
  const Answer answer = peer.ask(method::kGetStatus, {}, nullptr, 2);
  if (answer.code == 0) return message::read<TaskStatus>(answer.body);
  return Status(static_cast<Code>(answer.code), why_silent(answer, dead_after_s));
}

/// FailedPrecondition: of another version, or not the task of that name.
Status same_kind(const TaskStatus& other, const std::string& name, const std::string& version) {
  RETURN_IF_ERROR(same_version(name, other.protocol, other.version, version));
  if (other.name != name)
    return failed_precondition(cat("the task at ", name, "'s address says that it is ", other.name));
  return ok_status();
}

/// 0: it is none, or so large that to read it takes time itself.
uint64_t session_of_step(IncomingRequest& request) {
  constexpr size_t kSmall = size_t{64} << 10;
  const std::string_view name = request.method();
  if (request.body().size() > kSmall || (name != method::kRunStep && name != method::kRunGraph)) return 0;
  const Result<message::SessionId> id = message::read<message::SessionId>(request.body());
  return id.ok() ? id->session : 0;
}

Peers peers_of(const SessionRequest& request, const Peers& all) {
  Peers peers;
  for (const TaskStatus& task : request.tasks) {
    if (const auto found = all.find(task.name); found != all.end()) peers.insert(*found);
  }
  return peers;
}

}  // namespace

TaskServer::TaskServer(Transport& transport, TaskServerOptions options)
    : options_(std::move(options)),
      name_(options_.self.name()),
      incarnation_(random_number()),
      directory_(transport, options_.cluster, options_.self, options_.transport, !options_.coordinator),
      devices_(under_task(options_.devices, options_.self)),
      state_(std::make_shared<TaskState>(devices_, GpuRunOptions{})),
      port_(*this, options_.say) {}

Result<std::unique_ptr<TaskServer>> TaskServer::start(Transport& transport, TaskServerOptions options) {
  std::unique_ptr<TaskServer> made(new TaskServer(transport, std::move(options)));
  const TaskServerOptions& o = made->options_;
  RETURN_IF_ERROR(made->port_.listen(transport, o.bind, o.transport));
  if (!o.coordinator) return made;
  static const std::atomic<bool> kNever = false;
  message::Member own{message::kProtocol, o.version, made->name_, cat(o.host, ":", made->port_.number())};
  RETURN_IF_ERROR(made->directory_.join(*o.coordinator, std::move(own), {o.stop ? *o.stop : kNever, o.join_timeout_s}));
  return made;
}

TaskServer::~TaskServer() {
  directory_.stop();
  shut_down(0);
  port_.close();
}

std::string TaskServer::target() const {
  const Result<HostPort> given = parse_host_port(directory_.own_address());
  const std::string host = given.ok() ? given->host : "localhost";
  return cat("grpc://", host.find(':') == host.npos ? host : cat("[", host, "]"), ":", port_.number());
}

void TaskServer::shut_down(double grace_s) {
  std::map<uint64_t, std::shared_ptr<MasterSession>> masters;
  std::map<uint64_t, std::shared_ptr<TaskSession>> sessions;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    masters = masters_;
    sessions = sessions_;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(grace_s);
  const auto runs = [&] {
    return std::any_of(sessions.begin(), sessions.end(), [](const auto& s) { return s.second->runs(); });
  };
  while (runs() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (const auto& [id, master] : masters) master->shut_down();
  for (const auto& [id, session] : sessions) session->close();
  for (IncomingRequest* request : holds_.close()) request->answer(answer_of(shutting_down()));
}

void TaskServer::handle(IncomingRequest* request) {
  const std::string_view name = request->method();
  if (!directory_.complete() && name != method::kJoinCluster)
    return request->answer(answer_of(unavailable("not all tasks of the cluster are there yet")));
  if (options_.gathering && name.starts_with(method::kCluster)) return options_.gathering->handle(request);
  if (name == method::kPush) return take_push(request);
  if (name == method::kAbort) return request->answer(abort_step(request->body()));
  if (name == method::kGetStatus) return request->answer(answer_with(status()));
  if (name == method::kClock) return request->answer(answer_with(message::ClockReply{steady_now_ns()}));
  if (name == method::kHold || name == method::kKeep) return hold(request, name == method::kHold);
  if (name == method::kLosses) return await_loss(request, [this](uint64_t session) { return find(session); });
  const auto off = std::make_shared<std::atomic<bool>>(false);
  {
    std::lock_guard lock(mutex_);
    if (closing_) off->store(true);
    called_off_[request] = off;
  }
  const uint64_t session = session_of_step(*request);
  const auto work = [this, request, off, session, name = std::string(name)] {
    const int64_t begin_ns = steady_now_ns();
    Answer answer = waiting_answer(name, request->body(), *off);
    {
      std::lock_guard lock(mutex_);
      called_off_.erase(request);
      if (steady_now_ns() - begin_ns >= kBrief_ns)
        brief_.erase(session);
      else if (sessions_.contains(session))
        brief_.insert(session);
    }
    request->answer(std::move(answer));
  };
  // On to another thread and back would take as long as a step of few nodes.
  if (is_brief(session) && request->stay()) return work();
  threads_.start(work);
}

bool TaskServer::is_brief(uint64_t session) {
  std::lock_guard lock(mutex_);
  return brief_.contains(session);
}

Answer TaskServer::waiting_answer(std::string_view name, const std::string& body, const std::atomic<bool>& off) {
  if (off) return failed_reply(shutting_down());
  if (name == method::kJoinCluster) return add_member(body);
  if (name == method::kListTasks) return list_tasks(body);
  if (name == method::kCreateSession) return create_session(body);
  if (name == method::kRegister) return register_session(body);
  if (name == method::kTrace || name == method::kTaskTrace) return trace(body, name == method::kTrace);
  return name.starts_with(method::kMaster) ? answer_as_master(name, body, off) : answer_as_task(name, body);
}

Answer TaskServer::answer_as_master(std::string_view name, const std::string& body, const std::atomic<bool>& off) {
  const auto find = [this](uint64_t session) { return find_master(session); };
  if (name == method::kRunStep)
    return of_session<message::StepCall>(body, find, [&](auto& s, auto call) { return s.run(std::move(call), off); });
  if (name == method::kPlanStep)
    return of_session<message::PlanCall>(body, find, [&](auto& s, auto call) { return s.plan(std::move(call), off); });
  if (name == method::kVariable)
    return of_session<message::VariableCall>(body, find, [](auto& s, const auto& call) { return s.variable(call); });
  return answer_of(unimplemented(cat("no request ", name)));
}

Answer TaskServer::answer_as_task(std::string_view name, const std::string& body) {
  const auto find = [this](uint64_t session) { return this->find(session); };
  if (name == method::kRunGraph)
    return of_session<message::StepCall>(body, find, [](auto& s, const auto& call) { return s.run(call); });
  if (name == method::kPlanPart)
    return of_session<message::PlanCall>(body, find, [](auto& s, const auto& call) { return s.plan(call); });
  if (name == method::kTaskVariable)
    return of_session<message::VariableCall>(body, find, [](auto& s, const auto& call) { return s.variable(call); });
  return answer_of(unimplemented(cat("no request ", name)));
}

void TaskServer::called_off(IncomingRequest* request) {
  if (options_.gathering && request->method().starts_with(method::kCluster))
    return options_.gathering->called_off(request);
  std::shared_ptr<MasterSession> master;
  {
    std::lock_guard lock(mutex_);
    if (const auto found = called_off_.find(request); found != called_off_.end()) {
      found->second->store(true);
      if (request->method() == method::kRunStep) {
        const Result<message::StepCall> call = message::read<message::StepCall>(request->body());
        if (call.ok() && masters_.contains(call->session)) master = masters_[call->session];
      }
    }
  }
  if (master) master->interrupt();
  // What keeps a session, or waits for room in an inbox or for a loss: answered and let go of on another thread, which
  // may wait.
  const bool is_of_part = request->method() == method::kPush || request->method() == method::kLosses;
  threads_.start([this, request, is_of_part] {
    const auto held = holds_.remove(request);
    std::map<uint64_t, std::shared_ptr<TaskSession>> parts;
    if (is_of_part) {
      std::lock_guard lock(mutex_);
      parts = sessions_;
    }
    for (const auto& [id, session] : parts) session->traffic().let_go(request);
    if (!held) return;
    close(*held);
    request->answer({});
  });
}

TaskStatus TaskServer::status() {
  TaskStatus made;
  made.protocol = message::kProtocol, made.version = options_.version, made.name = name_;
  made.incarnation = incarnation_;
  made.address = directory_.own_address();
  for (const Device& d : devices_.devices) {
    const bool is_card = d.kind == DeviceKind::kCuda && d.physical_gpu >= 0;
    made.devices.push_back({d.name, static_cast<int>(d.kind), d.memory_limit, d.physical_description, d.physical_gpu,
                            is_card ? devices_.physical_gpus[static_cast<size_t>(d.physical_gpu)].uuid : ""});
    if (is_card) made.no_collectives = devices_.gpus->collectives().message();
  }
  std::lock_guard lock(mutex_);
  made.sessions = static_cast<int64_t>(sessions_.size());
  return made;
}

Answer TaskServer::add_member(const std::string& body) {
  const Result<message::Member> member = message::read<message::Member>(body);
  if (!member.ok()) return answer_of(member.status());
  const Result<message::Members> all = directory_.add(*member, options_.version);
  return all.ok() ? answer_with(*all) : answer_of(all.status());
}

Answer TaskServer::list_tasks(const std::string& body) {
  const Result<message::ListRequest> asked = message::read<message::ListRequest>(body);
  if (!asked.ok()) return answer_of(asked.status());
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(asked->wait_s);
  std::map<std::string, Result<TaskStatus>> found;
  for (;;) {
    bool all = true;
    for (const auto& [name, peer] : directory_.peers()) {
      const auto known = found.find(name);
      if (known != found.end() && known->second.ok()) continue;
      found.insert_or_assign(name, status_of(*peer, options_.transport.dead_after_s));
      all = all && found.at(name).ok();
    }
    if (all || std::chrono::steady_clock::now() >= end || closing_) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  message::TaskList list;
  list.tasks.push_back(status());
  for (const auto& [job, tasks] : directory_.cluster().jobs) {
    for (const auto& [index, address] : tasks) {
      const std::string name = ClusterTask{job, index}.name();
      if (name == name_) continue;
      const Result<TaskStatus>& one = found.at(name);
      if (!one.ok()) {
        list.missing.push_back(cat(name, " ", address)), list.reasons.push_back(one.status().message());
        if (options_.say && !asked->quiet)
          options_.say(cat("CreateSession still waiting for response from worker: ", name));
      } else if (const Status fits = same_kind(*one, name, options_.version); fits.ok()) {
        list.tasks.push_back(*one);
      } else {
        return answer_of(fits);
      }
    }
  }
  return answer_with(list);
}

Result<std::shared_ptr<TaskSession>> TaskServer::make_session(const SessionRequest& request) {
  for (const TaskStatus& task : request.tasks) {
    if (task.name == name_ && task.incarnation != incarnation_)
      return Status(Code::kAborted, cat(name_, " restarted; its variables are lost")).blamed(kBlamePeer);
    if (task.name != name_ && !directory_.peers().contains(task.name))
      return failed_precondition(cat(task.name, " is not in the cluster of ", name_));
  }
  {
    std::lock_guard lock(mutex_);
    if (closing_) return shutting_down();
    if (sessions_.size() >= kMostSessions) return resource_exhausted(cat(kMostSessions, " sessions on ", name_));
  }
  ASSIGN_OR_RETURN(auto made,
                   TaskSession::create(request, name_, devices_, state_, peers_of(request, directory_.peers()),
                                       options_.data_roots, options_.collectives));
  std::lock_guard lock(mutex_);
  sessions_[request.session] = made;
  return made;
}

Answer TaskServer::register_session(const std::string& body) {
  const Result<SessionRequest> request = message::read<SessionRequest>(body);
  if (!request.ok()) return answer_of(request.status());
  const auto made = make_session(*request);
  if (made.ok()) close_unless_kept({request->session, false});
  return made.ok() ? answer_with((*made)->reply(ok_status())) : failed_reply(made.status());
}

Answer TaskServer::create_session(const std::string& body) {
  Result<SessionRequest> request = message::read<SessionRequest>(body);
  if (!request.ok()) return answer_of(request.status());
  if (request->tasks.empty() || request->tasks.front().name != name_)
    return answer_of(invalid_argument(cat("the master of this session is not ", name_)));
  request->session = random_number();
  if (options_.collectives) request->members.clear();  // in which all ranks have their part
  if (request->collectives) {
    Result<std::string> id = devices_.gpus ? devices_.gpus->make_collective_id()
                                           : unavailable(cat("a collective of GPUs, but ", name_, " has none"));
    if (!id.ok()) return failed_reply(id.status().blamed(Blame::kDevice));
    request->collective_id = id.take();
  }
  auto made =
      MasterSession::create(*request, peers_of(*request, directory_.peers()), [&] { return make_session(*request); });
  if (!made.ok()) {
    close({request->session, false});
    return failed_reply(made.status());
  }
  SessionReply reply = (*made)->reply();
  std::lock_guard lock(mutex_);
  masters_[request->session] = made.take();
  close_unless_kept({request->session, true});
  return answer_with(reply);
}

std::shared_ptr<TaskSession> TaskServer::find(uint64_t session) {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : found->second;
}

std::shared_ptr<MasterSession> TaskServer::find_master(uint64_t session) {
  std::lock_guard lock(mutex_);
  const auto found = masters_.find(session);
  return found == masters_.end() ? nullptr : found->second;
}

Answer TaskServer::trace(const std::string& body, bool whole) {
  const Result<message::SessionId> id = message::read<message::SessionId>(body);
  if (!id.ok()) return answer_of(id.status());
  if (whole) {
    const auto master = find_master(id->session);
    return master ? answer_with(master->trace()) : no_session();
  }
  const auto session = find(id->session);
  if (!session) return no_session();
  message::TraceReply reply;
  reply.tasks.push_back(session->take_trace());
  return answer_with(reply);
}

void TaskServer::take_push(IncomingRequest* request) {
  Result<message::PushMessage> push = message::read<message::PushMessage>(request->body());
  if (!push.ok()) return request->answer(answer_of(push.status()));
  const auto session = find(push->session);
  if (!session) return request->answer(no_session());
  const auto of_loop = [](const auto& piece) { return piece.iteration > 0; };
  const bool is_of_loop = std::any_of(push->pieces.begin(), push->pieces.end(), of_loop) ||
                          std::any_of(push->chunks.begin(), push->chunks.end(), of_loop);
  const uint64_t step = push->step;
  const uint32_t from = push->from;
  if (const Status status = session->traffic().intake.take(push.take()); !status.ok())
    return request->answer(answer_of(status));
  session->traffic().intake.answer(request, step, from, is_of_loop);
}

Answer TaskServer::abort_step(const std::string& body) {
  const Result<message::StepCall> call = message::read<message::StepCall>(body);
  if (!call.ok()) return answer_of(call.status());
  if (const auto session = find(call->session)) session->abort(call->step);
  return {};
}

void TaskServer::hold(IncomingRequest* request, bool whole) {
  const Result<message::SessionId> id = message::read<message::SessionId>(request->body());
  if (!id.ok()) return request->answer(answer_of(id.status()));
  {
    std::lock_guard lock(mutex_);
    const bool known = whole ? masters_.contains(id->session) : sessions_.contains(id->session);
    if (known && !closing_) {
      return holds_.add(request, {id->session, whole});
    }
  }
  request->answer(no_session());
}

// Whoever asked for a session may be gone before it could say that it keeps it.
void TaskServer::close_unless_kept(const SessionHolds::Held& held) {
  static constexpr std::chrono::milliseconds kPatience{10000};
  holds_.await(held);
  threads_.start([this, held] {
    if (!holds_.wait_for(held, kPatience)) close(held);
  });
}

void TaskServer::close(const SessionHolds::Held& held) {
  const uint64_t session = held.session;
  std::shared_ptr<TaskSession> own;
  std::shared_ptr<MasterSession> master;
  {
    std::lock_guard lock(mutex_);
    brief_.erase(session);
    if (const auto found = sessions_.find(session); found != sessions_.end()) {
      own = found->second;
      sessions_.erase(found);
    }
    if (const auto found = masters_.find(session); held.whole && found != masters_.end()) {
      master = found->second;
      masters_.erase(found);
    }
  }
  if (master) master->interrupt();
  if (own) own->close();
}

}  // namespace emplace
