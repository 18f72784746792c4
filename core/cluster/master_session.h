/// MasterSession: a session as its master leads it: its steps on all tasks, the first failure as the only one told.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/cluster/step_outcome.h"
#include "core/cluster/task_session.h"

namespace emplace {

class MasterSession {
 public:
  /// Registers the session on all its tasks, and keeps it there. `own`: the master's own part.
  /// FailedPrecondition: a task has cut another program than this one.
  static Result<std::shared_ptr<MasterSession>> create(
      const message::SessionRequest& request, const Peers& peers,
      const std::function<Result<std::shared_ptr<TaskSession>>()>& own);
  ~MasterSession();

  /// Of the last of: creation, a step.
  const message::SessionReply& reply() const { return reply_; }
  /// One step on all tasks. `called_off`: by the time that it begins; then, see interrupt().
  message::SessionReply run(message::StepCall call, const std::atomic<bool>& called_off);
  /// A callable, on all tasks.
  message::SessionReply plan(message::PlanCall call, const std::atomic<bool>& called_off);
  message::SessionReply variable(const message::VariableCall& call);
  /// Of all tasks, by the master's clock.
  message::TraceReply trace();
  /// Ends the running step on all tasks: nobody waits for it any longer. Any thread, at once.
  void interrupt();
  /// The same, because this task ends. No other step begins.
  void shut_down();

 private:
  struct Member {
    std::shared_ptr<Peer> peer;  // null: the master itself
    std::string name;
    std::shared_ptr<OutgoingRequest> keeping;  // while it lives, the task keeps its part
    message::SessionReply reply;               // of the running step; written before the step's end
  };
  struct Step;
  /// What requests that keep a task's part tell of its loss, as long as there is a session.
  struct Watch {
    std::mutex mutex;
    MasterSession* session;  // guarded by mutex; null: it is gone
  };

  MasterSession(uint64_t id, double timeout_s) : id_(id), timeout_s_(timeout_s) { watch_->session = this; }
  Status register_all(const message::SessionRequest& request, const Peers& peers,
                      const std::function<Result<std::shared_ptr<TaskSession>>()>& own);
  void keep(Member& member);
  /// Hears of what the task loses, as long as there is a session.
  static void hear_losses(const std::shared_ptr<Watch>& watch, uint64_t session, const std::shared_ptr<Peer>& peer);
  static void hear_losses(const std::shared_ptr<Watch>& watch, const std::shared_ptr<TaskSession>& own);
  /// A task is gone. It may have answered that its part of the running step is done, and pieces of it never come.
  void lost(const Status& status);
  /// A task has lost what it sent in this step, or its receiver: nobody waits for it any longer.
  void lost(uint64_t step, const Status& why);
  Status agreed() const;
  message::SessionReply sum(const Status& status);
  /// Asks the other tasks with `request`, does the master's own part, and waits for all. `counted`: whoever is lost is
  /// told with the number of the step; else the client knows a better one.
  template <class Request>
  message::SessionReply on_all(std::string_view method, const Request& request, bool counted,
                               const std::atomic<bool>& called_off, const std::function<message::SessionReply()>& own);
  void start_part(const std::shared_ptr<Step>& step, size_t member, std::string_view method, const std::string& body);
  /// False: it failed, and some task does not end its part.
  bool wait_for_end(Step& step);
  /// The step's time is up, and the master's own part has ended.
  void late(Step& step);
  void abort(uint64_t step);

  const uint64_t id_;
  const double timeout_s_;  // of a step; 0: none
  const std::shared_ptr<Watch> watch_ = std::make_shared<Watch>();
  std::shared_ptr<TaskSession> own_;
  std::vector<Member> members_;  // the master first
  std::mutex running_;
  // Guarded by running_.
  uint64_t step_ = 0;
  bool stuck_ = false;  // a task has not ended a step that failed
  std::mutex current_mutex_;
  std::shared_ptr<Step> current_;  // guarded by current_mutex_
  std::atomic<bool> closing_ = false;
  message::SessionReply reply_;
};

}  // namespace emplace
