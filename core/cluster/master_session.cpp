#include "core/cluster/master_session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "core/cluster/clock.h"

namespace emplace {

using message::SessionReply;
using message::StepCall;

namespace {

StepCall step_call(uint64_t session, uint64_t step) {
  StepCall call;
  call.session = session, call.step = step;
  return call;
}

/// The failure of a peer is nobody's part: it is told as it is.
bool is_peer_loss(const Status& status) { return status.blame() == kBlamePeer; }

Result<SessionReply> reply_of(const Peer& peer, const Answer& answer) {
  if (answer.code != 0) return peer.lost(answer);
  return message::read<SessionReply>(answer.body);
}

}  // namespace

/// A step under way: shared with requests, which may be answered after it has ended.
struct MasterSession::Step {
  Step(size_t parts, uint64_t n, bool is_counted)
      : outcome(parts, is_counted ? std::optional(static_cast<int64_t>(n)) : std::nullopt), number(n), replies(parts) {}
  StepOutcome outcome;
  const uint64_t number;
  /// `restarted`: between two steps, so that no step tells where.
  void failed(const std::string& task, const Status& status, bool restarted) {
    if (!is_peer_loss(status)) return outcome.failed(task, status);
    restarted ? outcome.failed({}, status) : outcome.lost(status);
  }
  std::vector<SessionReply> replies;  // each written by its own part, before that ends
  std::deque<std::atomic<bool>> parts_ended = std::deque<std::atomic<bool>>(replies.size());  // likewise
};

Result<std::shared_ptr<MasterSession>> MasterSession::create(
    const message::SessionRequest& request, const Peers& peers,
    const std::function<Result<std::shared_ptr<TaskSession>>()>& own) {
  std::shared_ptr<MasterSession> made(new MasterSession(request.session, request.timeout_s));
  RETURN_IF_ERROR(made->register_all(request, peers, own));
  made->reply_ = made->sum(ok_status());
  return made;
}

MasterSession::~MasterSession() {
  {
    std::lock_guard lock(watch_->mutex);
    watch_->session = nullptr;
  }
  closing_ = true;
  if (own_) own_->close();
  for (const Member& member : members_) {
    if (member.keeping) member.keeping->call_off();
  }
}

Status MasterSession::register_all(const message::SessionRequest& request, const Peers& peers,
                                   const std::function<Result<std::shared_ptr<TaskSession>>()>& own) {
  ASSIGN_OR_RETURN(const std::string body, message::write(request));
  const std::vector<std::string>& wanted = request.members;
  for (const message::TaskStatus& task : request.tasks) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), task.name) == wanted.end()) continue;
    const auto found = peers.find(task.name);
    members_.push_back({found == peers.end() ? nullptr : found->second, task.name, nullptr, {}});
  }
  const auto step = std::make_shared<Step>(members_.size(), 0, false);
  for (size_t i = 1; i < members_.size(); ++i) {
    const std::shared_ptr<Peer> peer = members_[i].peer;
    peer->send(message::method::kRegister, body, [this, step, i, peer](const Answer& answer) {
      keep(members_[i]);  // at once, and whatever became of it: this is how the task hears that it is not needed
      hear_losses(watch_, id_, peer);
      Result<SessionReply> reply = reply_of(*peer, answer);
      const Status status = reply.ok() ? reply->status.status() : reply.take_status();
      if (!status.ok()) step->outcome.failed(is_peer_loss(status) ? std::string() : peer->name(), status);
      if (reply.ok()) step->replies[i] = reply.take();
      step->outcome.ended();
    });
  }
  Result<std::shared_ptr<TaskSession>> made = own();
  if (made.ok()) {
    own_ = made.take();
    hear_losses(watch_, own_);
    step->replies[0] = own_->reply(ok_status());
  } else {
    step->outcome.failed({}, made.status());
  }
  step->outcome.ended();
  while (!step->outcome.wait_for(std::chrono::seconds(1))) {
  }
  for (size_t i = 0; i < members_.size(); ++i) members_[i].reply = std::move(step->replies[i]);
  RETURN_IF_ERROR(step->outcome.status());
  return agreed();
}

void MasterSession::keep(Member& member) {
  Result<std::string> body = message::write(message::SessionId{id_});
  member.keeping = member.peer->send(message::method::kKeep, body.take(),
                                     [watch = watch_, peer = member.peer](const Answer& answer) {
                                       const Status status = peer->lost(answer);
                                       std::lock_guard lock(watch->mutex);
                                       if (watch->session && is_peer_loss(status)) watch->session->lost(status);
                                     });
}

void MasterSession::hear_losses(const std::shared_ptr<Watch>& watch, uint64_t session,
                                const std::shared_ptr<Peer>& peer) {
  Result<std::string> body = message::write(message::SessionId{session});
  peer->send(message::method::kLosses, body.take(), [watch, session, peer](const Answer& answer) {
    if (answer.code != 0) return;  // what keeps the session hears of it
    const Result<message::LossMessage> loss = message::read<message::LossMessage>(answer.body);
    if (!loss.ok() || loss->why.code == 0) return;
    {
      std::lock_guard lock(watch->mutex);
      if (!watch->session) return;
      watch->session->lost(loss->step, loss->why.status());
    }
    hear_losses(watch, session, peer);
  });
}

void MasterSession::hear_losses(const std::shared_ptr<Watch>& watch, const std::shared_ptr<TaskSession>& own) {
  const std::weak_ptr<TaskSession> kept = own;
  own->traffic().losses->next(nullptr, [watch, kept](uint64_t step, const Status& why) {
    if (why.ok()) return;
    {
      std::lock_guard lock(watch->mutex);
      if (!watch->session) return;
      watch->session->lost(step, why);
    }
    if (const auto session = kept.lock()) hear_losses(watch, session);
  });
}

void MasterSession::lost(const Status& status) {
  std::shared_ptr<Step> step;
  {
    std::lock_guard current(current_mutex_);
    step = current_;
  }
  if (step) lost(step->number, status);
}

void MasterSession::lost(uint64_t number, const Status& why) {
  std::shared_ptr<Step> step;
  {
    std::lock_guard current(current_mutex_);
    step = current_;
  }
  if (!step || step->number != number) return;
  step->failed({}, why, why.code() == Code::kAborted);
  abort(number);
}

Status MasterSession::agreed() const {
  for (const Member& member : members_) {
    const auto &first = members_.front().reply.programs, &here = member.reply.programs;
    for (size_t i = 0; i < std::max(first.size(), here.size()); ++i) {
      const std::string a = i < first.size() ? first[i] : "none", b = i < here.size() ? here[i] : "none";
      if (a == b) continue;
      return failed_precondition(cat("program ", a, " on ", members_.front().name, ", ", b, " on ", member.name,
                                     ": the tasks have not the same graph, devices or request"));
    }
  }
  return ok_status();
}

SessionReply MasterSession::sum(const Status& status) {
  SessionReply all;
  all.status = message::StatusMessage::of(status);
  all.session = id_;
  for (const Member& member : members_) {
    const SessionReply& part = member.reply;
    all.memory.insert(all.memory.end(), part.memory.begin(), part.memory.end());
    all.random.insert(all.random.end(), part.random.begin(), part.random.end());
    all.traffic.insert(all.traffic.end(), part.traffic.begin(), part.traffic.end());
    all.copies += part.copies, all.copy_bytes += part.copy_bytes, all.copy_seconds += part.copy_seconds;
  }
  if (status.ok()) all.outputs = std::move(members_.front().reply.outputs);
  return all;
}

void MasterSession::start_part(const std::shared_ptr<Step>& step, size_t i, std::string_view method,
                               const std::string& body) {
  const std::shared_ptr<Peer> peer = members_[i].peer;
  peer->send(method, body, [watch = watch_, step, i, peer](const Answer& answer) {
    Result<SessionReply> reply = reply_of(*peer, answer);
    Status status = reply.ok() ? reply->status.status() : reply.take_status();
    const bool restarted = status.code() == Code::kNotFound && !reply.ok();
    if (restarted) status = peer->restarted();
    if (reply.ok()) step->replies[i] = reply.take();
    if (!status.ok()) {
      step->failed(peer->name(), status, restarted);
      std::lock_guard lock(watch->mutex);
      if (watch->session) watch->session->abort(step->number);  // a part may end after the session
    }
    step->parts_ended[i] = true;
    step->outcome.ended();
  });
}

SessionReply MasterSession::run(StepCall call, const std::atomic<bool>& called_off) {
  std::lock_guard lock(running_);
  call.session = id_;
  call.step = ++step_;
  StepCall others = call;  // which take what is fed from the plan
  others.feeds.clear();
  const bool counted = call.kind != message::StepKind::kCallable;
  return on_all(message::method::kRunGraph, others, counted, called_off, [&] { return own_->run(call); });
}

SessionReply MasterSession::plan(message::PlanCall call, const std::atomic<bool>& called_off) {
  std::lock_guard lock(running_);
  call.session = id_;
  call.step = ++step_;
  return on_all(message::method::kPlanPart, call, false, called_off, [&] { return own_->plan(call); });
}

template <class Request>
SessionReply MasterSession::on_all(std::string_view method, const Request& request, bool counted,
                                   const std::atomic<bool>& called_off, const std::function<SessionReply()>& own) {
  Result<std::string> body = message::write(request);
  if (!body.ok()) return sum(body.status());
  const auto step = std::make_shared<Step>(members_.size(), request.step, counted);
  {
    std::lock_guard current(current_mutex_);
    current_ = step;
  }
  if (closing_ || called_off) interrupt();
  if (stuck_) {
    return reply_ = sum(failed_precondition("a task has not ended the step that failed; a new session is needed")
                            .blamed(kBlamePeer));
  }
  for (size_t i = 1; i < members_.size(); ++i) start_part(step, i, method, *body);
  step->replies[0] = own();
  if (const Status status = step->replies[0].status.status(); !status.ok()) {
    step->failed(members_.front().name, status, false);
    step->outcome.stood_at(status.node());
    abort(step->number);
  }
  step->outcome.ended();
  if (!wait_for_end(*step)) return reply_ = sum(step->outcome.status());
  for (size_t i = 0; i < members_.size(); ++i) members_[i].reply = std::move(step->replies[i]);
  Status status = step->outcome.status();
  if (status.ok()) status = agreed();
  return reply_ = sum(status);
}

void MasterSession::late(Step& step) {
  for (size_t i = 1; i < members_.size(); ++i) {
    if (step.parts_ended[i]) continue;
    step.outcome.failed({}, Status(Code::kDeadlineExceeded, cat("the step did not end within ", timeout_s_, " s; ",
                                                                members_[i].name, " has not ended its part"))
                                .blamed(kBlamePeer));
  }
  abort(step.number);
}

bool MasterSession::wait_for_end(Step& step) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{1};  // after a failure
  const auto begin = Clock::now();
  std::optional<Clock::time_point> failed;
  while (!step.outcome.wait_for(std::chrono::milliseconds(100))) {
    if (timeout_s_ > 0 && Clock::now() - begin > std::chrono::duration<double>(timeout_s_)) late(step);
    if (step.outcome.status().ok()) continue;
    if (!failed) failed = Clock::now();
    if (Clock::now() - *failed > kPatience) return stuck_ = true, false;
  }
  return true;
}

void MasterSession::interrupt() {
  std::shared_ptr<Step> step;
  {
    std::lock_guard current(current_mutex_);
    step = current_;
  }
  if (!step) return;
  step->outcome.failed({}, closing_ ? Status(Code::kAborted, "task is shutting down").blamed(kBlamePeer)
                                    : Status(Code::kCancelled, "the run was interrupted"));
  abort(step->number);
}

void MasterSession::abort(uint64_t step) {
  own_->abort(step);
  Result<std::string> body = message::write(step_call(id_, step));
  for (size_t i = 1; i < members_.size(); ++i)
    members_[i].peer->send(message::method::kAbort, *body, [](const Answer&) {});
}

void MasterSession::shut_down() {
  closing_ = true;
  interrupt();
}

message::TraceReply MasterSession::trace() {
  std::lock_guard lock(running_);
  message::TraceReply all;
  all.tasks.push_back(own_->take_trace());
  for (size_t i = 1; i < members_.size(); ++i) {
    Peer& peer = *members_[i].peer;
    const Result<ClockOffset> clock = clock_of(peer);
    Result<message::TraceReply> reply =
        peer.call<message::TraceReply>(message::method::kTaskTrace, message::SessionId{id_});
    const Status status = !clock.ok() ? clock.status() : reply.status();
    if (!status.ok()) {
      all.status = message::StatusMessage::of(status);
      return all;
    }
    for (message::TaskTrace& task : reply->tasks) {
      task.ahead_ns = clock->ahead_ns, task.error_ns = clock->error_ns;
      all.tasks.push_back(std::move(task));
    }
  }
  return all;
}

SessionReply MasterSession::variable(const message::VariableCall& call) {
  std::lock_guard lock(running_);
  if (!own_->has_node(call.node)) return sum(invalid_argument(cat("no node ", call.node)));
  if (own_->on_this_task(call.node)) return own_->variable(call);
  for (const Member& member : members_) {
    if (member.name != own_->task_of(call.node)) continue;
    Result<SessionReply> reply = member.peer->call<SessionReply>(message::method::kTaskVariable, call);
    return reply.ok() ? reply.take() : sum(reply.take_status());
  }
  return sum(internal_error("a variable of no task"));
}

}  // namespace emplace
