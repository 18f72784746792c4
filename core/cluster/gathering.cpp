#include "core/cluster/gathering.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "core/base/cat.h"
#include "core/cluster/protocol.h"

namespace emplace {

namespace method = message::method;

namespace {

using Clock = std::chrono::steady_clock;

Answer answer_with_end(const GatheringEnd& end) {
  Result<std::string> body = message::write(message::EndMessage{end.exit_code, end.text});
  return body.ok() ? Answer{0, {}, body.take()} : Answer{static_cast<int>(body.status().code()), {}, {}};
}

Answer refusal(const Status& status) { return {static_cast<int>(status.code()), status.message(), {}}; }

}  // namespace

Gathering::Gathering(std::string self, const std::vector<std::string>& others, TaskFacts facts,
                     std::function<void(int signal)> told_to_end)
    : self_(std::move(self)), facts_(std::move(facts)), told_to_end_(std::move(told_to_end)) {
  for (const std::string& task : others) members_[task];
}

Gathering::~Gathering() { end({1, "the chief has ended"}); }

Status Gathering::differs(const std::string& task, const TaskFacts& facts) const {
  const auto value = [](const TaskFacts& all, const std::string& name) -> std::string {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& fact) { return fact.first == name; });
    return found == all.end() ? "not given" : found->second;
  };
  TaskFacts all = facts_;
  all.insert(all.end(), facts.begin(), facts.end());
  for (const auto& [name, any] : all) {
    const std::string here = value(facts_, name), there = value(facts, name);
    if (here == there) continue;
    return failed_precondition(cat(name, ": ", here, " on ", self_, ", ", there, " on ", task,
                                   "; all tasks run the same command on the same files"))
        .blamed(kBlamePeer);
  }
  return ok_status();
}

void Gathering::handle(IncomingRequest* request) {
  if (request->method() == method::kJoin) return join(request);
  if (request->method() == method::kLeave) return leave(request);
  request->answer(refusal(unimplemented(cat("no request ", request->method()))));
}

void Gathering::join(IncomingRequest* request) {
  const Result<message::MemberMessage> asked = message::read<message::MemberMessage>(request->body());
  if (!asked.ok()) return request->answer(refusal(asked.status()));
  TaskFacts facts;
  for (size_t i = 0; i < std::min(asked->names.size(), asked->values.size()); ++i)
    facts.emplace_back(asked->names[i], asked->values[i]);
  Answer answer;
  {
    std::lock_guard lock(mutex_);
    const auto found = members_.find(asked->task);
    const Status differs_here = differs(asked->task, facts);
    if (may_return_ && found != members_.end() && found->second.request && !found->second.request->is_awaited())
      lost_.push_back(std::exchange(found->second.request, nullptr)), found->second.left = true;
    if (ended_) {
      answer = answer_with_end(end_);
    } else if (found == members_.end()) {
      answer = refusal(failed_precondition(cat(asked->task, " is not in the cluster of ", self_)));
    } else if (found->second.came && !(may_return_ && found->second.left)) {
      answer = refusal(failed_precondition(cat(asked->task, " has joined before; the training cannot take it again")));
    } else if (!differs_here.ok()) {
      if (wrong_.ok()) wrong_ = differs_here;
      answer = refusal(differs_here);
    } else {
      one_returned_ |= found->second.came;
      found->second = {request, true, false};
    }
    changed_.notify_all();
    if (found != members_.end() && found->second.request == request) return;
  }
  request->answer(std::move(answer));
}

void Gathering::let_lost_tasks_return() {
  std::lock_guard lock(mutex_);
  may_return_ = true;
}

bool Gathering::one_returned() {
  std::lock_guard lock(mutex_);
  return std::exchange(one_returned_, false);
}

size_t Gathering::present() {
  std::lock_guard lock(mutex_);
  const auto is_here = [](const auto& member) { return member.second.request && member.second.request->is_awaited(); };
  return 1 + static_cast<size_t>(std::count_if(members_.begin(), members_.end(), is_here));
}

void Gathering::leave(IncomingRequest* request) {
  const Result<message::LeaveMessage> told = message::read<message::LeaveMessage>(request->body());
  if (!told.ok()) return request->answer(refusal(told.status()));
  {
    std::lock_guard lock(mutex_);
    const auto found = members_.find(told->task);
    if (found != members_.end() && told->signal == 0) found->second.left = true;
    changed_.notify_all();
  }
  request->answer({});
  if (told->signal > 0) told_to_end_(told->signal);
}

void Gathering::called_off(IncomingRequest* request) {
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const auto& member) { return member.second.request == request; });
  if (found == members_.end()) return;
  lost_.push_back(std::exchange(found->second.request, nullptr));
  found->second.left = true;
  changed_.notify_all();
}

Status Gathering::wait(double timeout_s, const std::atomic<bool>& stop, const std::function<Status()>& still,
                       const std::function<void(const std::string&)>& say) {
  constexpr std::chrono::seconds kSay{10};
  const auto start = Clock::now();
  auto said = start;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!wrong_.ok() || stop) return wrong_;
    RETURN_IF_ERROR(still());
    const auto absent = std::find_if(members_.begin(), members_.end(), [](const auto& m) { return !m.second.came; });
    if (absent == members_.end()) return ok_status();
    if (Clock::now() - start >= std::chrono::duration<double>(timeout_s)) {
      return Status(Code::kDeadlineExceeded, cat(absent->first, " did not join within ", timeout_s, " s"))
          .blamed(kBlamePeer);
    }
    if (Clock::now() - said >= kSay) said = Clock::now(), say(cat("still waiting for ", absent->first));
    changed_.wait_for(lock, std::chrono::milliseconds(20));
  }
}

void Gathering::end(const GatheringEnd& how) {
  constexpr std::chrono::seconds kToHear{2};
  std::vector<IncomingRequest*> open;
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true, end_ = how;
    open.swap(lost_);
    for (auto& [task, member] : members_) {
      if (member.request) open.push_back(std::exchange(member.request, nullptr));
    }
  }
  for (IncomingRequest* request : open) request->answer(answer_with_end(how));
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kToHear, [&] {
    return std::all_of(members_.begin(), members_.end(), [](const auto& m) { return !m.second.came || m.second.left; });
  });
}

namespace {

/// A task's stay.
class Attendance {
 public:
  Attendance(Peer& chief, const std::string& self, const std::function<int()>& signal)
      : chief_(chief), self_(self), signal_(signal) {}

  Status wait_for_chief(double timeout_s, const std::function<void(const std::string&)>& say) {
    constexpr double kSay = 10;
    const auto start = Clock::now();
    for (double said = 0;;) {
      const Answer answer = chief_.ask(method::kGetStatus, {}, nullptr, 2);
      if (answer.code == 0) return ok_status();
      if (answer.code != static_cast<int>(Code::kUnavailable) &&
          answer.code != static_cast<int>(Code::kDeadlineExceeded))
        return chief_.lost(answer);
      const double waited = std::chrono::duration<double>(Clock::now() - start).count();
      if (waited > timeout_s || signal_() != 0) {
        return Status(Code::kDeadlineExceeded, cat(chief_.text(), " did not answer within ", timeout_s, " s"))
            .blamed(kBlamePeer);
      }
      if (waited - said >= kSay) said = waited, say(cat("still waiting for the chief: ", chief_.text()));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  Result<GatheringEnd> stay(const TaskFacts& facts) {
    message::MemberMessage member;
    member.task = self_;
    for (const auto& [name, value] : facts) member.names.push_back(name), member.values.push_back(value);
    ASSIGN_OR_RETURN(std::string body, message::write(member));
    const auto ended = std::make_shared<Ended>();
    const auto request = chief_.send(method::kJoin, std::move(body), [ended](Answer answer) {
      std::lock_guard lock(ended->mutex);
      ended->answer = std::move(answer);
      ended->came.notify_all();
    });
    ASSIGN_OR_RETURN(const Answer answer, wait(*ended, *request));
    if (answer.code != 0) {
      const Status status = chief_.lost(answer);
      return status.code() == Code::kFailedPrecondition ? status.blamed(kBlamePeer) : status;
    }
    tell(0);
    ASSIGN_OR_RETURN(const auto end, message::read<message::EndMessage>(answer.body));
    return GatheringEnd{end.exit_code, end.text};
  }

 private:
  struct Ended {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<Answer> answer;  // guarded by mutex
  };

  Result<Answer> wait(Ended& ended, OutgoingRequest& request) {
    bool told = false;
    std::unique_lock lock(ended.mutex);
    while (!ended.came.wait_for(lock, std::chrono::milliseconds(20), [&] { return ended.answer.has_value(); })) {
      const int signal = signal_();
      if (told || signal == 0) continue;
      told = true;
      lock.unlock();
      if (signal < 0) request.call_off();
      if (signal > 0) tell(signal);
      lock.lock();
    }
    return std::move(*ended.answer);
  }

  void tell(int signal) {
    Result<std::string> body = message::write(message::LeaveMessage{self_, signal});
    if (body.ok()) static_cast<void>(chief_.ask(method::kLeave, body.take(), nullptr, 2));
  }

  Peer& chief_;
  const std::string& self_;
  const std::function<int()>& signal_;
};

}  // namespace

Result<GatheringEnd> attend(Peer& chief, const std::string& self, const TaskFacts& facts, double timeout_s,
                            const std::function<int()>& signal, const std::function<void(const std::string&)>& say) {
  Attendance attendance(chief, self, signal);
  RETURN_IF_ERROR(attendance.wait_for_chief(timeout_s, say));
  return attendance.stay(facts);
}

}  // namespace emplace
