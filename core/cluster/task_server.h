/// TaskServer: a task of a cluster that answers requests: those of other tasks, for its part of their sessions, and
/// those of clients, whose master it is. tf.distribute.Server.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/cluster/cluster_spec.h"
#include "core/cluster/master_session.h"
#include "core/cluster/message_passing.h"
#include "core/cluster/server_port.h"
#include "core/cluster/session_holds.h"
#include "core/cluster/task_directory.h"
#include "core/cluster/task_session.h"
#include "core/cluster/task_threads.h"
#include "core/cluster/transport.h"

namespace emplace {

struct TaskServerOptions {
  ClusterSpec cluster;
  ClusterTask self;
  std::string bind;     // "127.0.0.1:2222"; port 0: one that is free
  std::string version;  // which others have to have, too
  /// Where the addresses of `cluster` are not known, but for this task's: all join here, and start() waits for them.
  std::optional<ClusterTask> coordinator;
  std::string host;           // of this task, for the others
  double join_timeout_s = 0;  // 0: waits as long as it takes
  const std::atomic<bool>* stop = nullptr;
  DeviceSet devices;                    // of this process, under any task's name
  std::vector<std::string> data_roots;  // folders whose files graphs may read and write here; none: no file
  TransportOptions transport;
  MessagePassing* collectives = nullptr;        // of an MPI job, whose ranks are the addresses; outlives the server
  std::function<void(const std::string&)> say;  // a line of log; any thread
  RequestHandler* gathering = nullptr;          // of the service Cluster; null: nobody. Outlives the server
};

class TaskServer final : public RequestHandler {
 public:
  /// Unknown: the port is taken.
  static Result<std::unique_ptr<TaskServer>> start(Transport& transport, TaskServerOptions options);
  ~TaskServer();
  TaskServer(const TaskServer&) = delete;
  TaskServer& operator=(const TaskServer&) = delete;

  /// "grpc://localhost:2222".
  std::string target() const;
  const DeviceSet& devices() const { return devices_; }
  /// With the addresses of all.
  const ClusterSpec& cluster() const { return directory_.cluster(); }
  /// No step begins any longer; those that run get this long, then they are aborted: "task is shutting down".
  void shut_down(double grace_s);

  void handle(IncomingRequest* request) override;
  void called_off(IncomingRequest* request) override;

 private:
  TaskServer(Transport& transport, TaskServerOptions options);

  // What the requests do, by their names. These wait, on threads of their own.
  Answer waiting_answer(std::string_view name, const std::string& body, const std::atomic<bool>& called_off);
  Answer answer_as_master(std::string_view name, const std::string& body, const std::atomic<bool>& called_off);
  Answer answer_as_task(std::string_view name, const std::string& body);
  Answer add_member(const std::string& body);
  Answer list_tasks(const std::string& body);
  Answer create_session(const std::string& body);
  Answer register_session(const std::string& body);
  Answer trace(const std::string& body, bool whole);
  /// Its next step most likely ends soon.
  bool is_brief(uint64_t session);
  // These do not.
  void take_push(IncomingRequest* request);
  Answer abort_step(const std::string& body);
  void hold(IncomingRequest* request, bool whole);

  message::TaskStatus status();
  Result<std::shared_ptr<TaskSession>> make_session(const message::SessionRequest& request);
  std::shared_ptr<TaskSession> find(uint64_t session);
  std::shared_ptr<MasterSession> find_master(uint64_t session);
  void close(const SessionHolds::Held& held);
  void close_unless_kept(const SessionHolds::Held& held);

  const TaskServerOptions options_;
  const std::string name_;
  const uint64_t incarnation_;
  TaskDirectory directory_;
  DeviceSet devices_;  // under this task's name
  std::shared_ptr<TaskState> state_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<uint64_t, std::shared_ptr<TaskSession>> sessions_;
  std::map<uint64_t, std::shared_ptr<MasterSession>> masters_;
  std::map<IncomingRequest*, std::shared_ptr<std::atomic<bool>>> called_off_;  // of requests that wait
  std::set<uint64_t> brief_;           // sessions of which the last step here was
  std::atomic<bool> closing_ = false;  // read without the lock, too

  SessionHolds holds_;
  ServerPort port_;  // requests that threads_ answer are its own
  TaskThreads threads_;
};

}  // namespace emplace
