/// Tasks that do one thing together, a training: its chief gathers them. Each joins with what it is about to do, which
/// must be the same on all; it stays until it hears how that ended.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/peer.h"
#include "core/cluster/transport.h"

namespace emplace {

/// What must be the same on all tasks, by what it is called in a message: "graph", "data", "--batch".
using TaskFacts = std::vector<std::pair<std::string, std::string>>;

/// How it ended, as the chief's process does.
struct GatheringEnd {
  int exit_code = 0;
  std::string text;  // of an error
};

/// The chief's side: answers the requests of a TaskServer that are of the service Cluster. Thread-safe.
class Gathering final : public RequestHandler {
 public:
  /// `self` and `others`: names of tasks. `told_to_end`: a signal has come to one of them; any thread.
  Gathering(std::string self, const std::vector<std::string>& others, TaskFacts facts,
            std::function<void(int signal)> told_to_end);
  ~Gathering();

  /// Waits for all others, so long, and says so now and then. FailedPrecondition: one of them is about to do something
  /// else. Either is blamed on the peer. `still` says why to wait no longer; OK also if `stop` is set.
  Status wait(double timeout_s, const std::atomic<bool>& stop, const std::function<Status()>& still,
              const std::function<void(const std::string&)>& say);
  /// From now on a task that was lost may join again.
  void let_lost_tasks_return();
  /// Has one joined again since the last call?
  bool one_returned();
  /// How many are there now, this one included.
  size_t present();
  /// Tells all others, and waits a moment for them to have heard it. Only the first call counts.
  void end(const GatheringEnd& how);

  void handle(IncomingRequest* request) override;
  void called_off(IncomingRequest* request) override;

 private:
  struct Member {
    IncomingRequest* request = nullptr;  // to join, open until the end
    bool came = false, left = false;
  };
  void join(IncomingRequest* request);
  void leave(IncomingRequest* request);
  Status differs(const std::string& task, const TaskFacts& facts) const;

  const std::string self_;
  const TaskFacts facts_;
  const std::function<void(int)> told_to_end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::map<std::string, Member> members_;
  std::vector<IncomingRequest*> lost_;  // nobody waits for their answers, which they get at the end
  Status wrong_;                        // a member's facts
  bool may_return_ = false, one_returned_ = false;
  bool ended_ = false;
  GatheringEnd end_;
};

/// Another task's side: joins `chief`, waiting so long for it to be there, and stays until the end. `signal` is asked
/// again and again: not 0, the task was told to end, and tells the chief; -1: nobody needs it any longer.
/// FailedPrecondition: see Gathering. Blamed on the peer: the chief is not there, or was lost.
Result<GatheringEnd> attend(Peer& chief, const std::string& self, const TaskFacts& facts, double timeout_s,
                            const std::function<int()>& signal, const std::function<void(const std::string&)>& say);

}  // namespace emplace
