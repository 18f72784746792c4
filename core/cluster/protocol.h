/// The requests of a cluster: their names and messages. A *client* asks the *master*, which is the task that its
/// session talks to; the master asks all tasks, itself included; tasks send each other pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace emplace::message {

/// Tasks of other numbers are refused.
inline constexpr int kProtocol = 8;

/// Of a tensor between tasks: one that has more goes in several messages. What was just copied into a message is still
/// in the processor's memory when it is sent, and the first part arrives while the next is copied.
inline constexpr size_t kChunkBytes = size_t{1} << 20;

namespace method {
inline constexpr char kMaster[] = "/emplace.Master/";              // the service of the task that a session talks to
inline constexpr char kListTasks[] = "/emplace.Master/ListTasks";  // ListRequest -> TaskList
inline constexpr char kCreateSession[] = "/emplace.Master/CreateSession";  // SessionRequest -> SessionReply
inline constexpr char kRunStep[] = "/emplace.Master/RunStep";              // StepCall -> SessionReply
inline constexpr char kPlanStep[] = "/emplace.Master/PlanStep";            // PlanCall -> SessionReply
inline constexpr char kVariable[] = "/emplace.Master/Variable";            // VariableCall -> SessionReply
/// SessionId -> Empty. Answered when the session ends; the session ends when nobody waits for the answer.
inline constexpr char kHold[] = "/emplace.Master/Hold";
inline constexpr char kGetStatus[] = "/emplace.Worker/GetStatus";  // Empty -> TaskStatus
inline constexpr char kRegister[] = "/emplace.Worker/Register";    // SessionRequest -> SessionReply
inline constexpr char kRunGraph[] = "/emplace.Worker/RunGraph";    // StepCall -> SessionReply
inline constexpr char kPlanPart[] = "/emplace.Worker/PlanGraph";   // PlanCall -> SessionReply
/// PushMessage -> Empty. Answered at once, but for pieces of loops, once the receiver has room for more.
inline constexpr char kPush[] = "/emplace.Worker/Exchange";
inline constexpr char kAbort[] = "/emplace.Worker/Abort";  // StepCall -> Empty
inline constexpr char kKeep[] = "/emplace.Worker/Keep";    // as Hold, of a task's part of a session
/// SessionId -> LossMessage: once the task has lost something that it sent in a step, or, empty, when the session ends.
inline constexpr char kLosses[] = "/emplace.Worker/Losses";
inline constexpr char kTaskVariable[] = "/emplace.Worker/Variables";
/// The service whose requests whoever started the server answers.
inline constexpr char kCluster[] = "/emplace.Cluster/";
/// MemberMessage -> EndMessage. Answered when what the tasks do together has ended.
inline constexpr char kJoin[] = "/emplace.Cluster/Join";
inline constexpr char kLeave[] = "/emplace.Cluster/Leave";     // LeaveMessage -> Empty
inline constexpr char kTrace[] = "/emplace.Master/Trace";      // SessionId -> TraceReply: of all tasks, since the last
inline constexpr char kTaskTrace[] = "/emplace.Worker/Trace";  // SessionId -> TraceReply: of this one
inline constexpr char kJoinCluster[] = "/emplace.Members/Join";  // Member -> Members, once all are there
inline constexpr char kClock[] = "/emplace.Worker/Clock";        // Empty -> ClockReply
}  // namespace method

struct Empty {
  template <class F>
  void fields(F&) {}
};

struct DeviceMessage {
  std::string name;
  int kind = 0;
  int64_t memory_limit = 0;
  std::string physical_description;
  int physical_gpu = -1;
  std::string uuid;  // of that card

  template <class F>
  void fields(F& field) {
    field(1, name), field(2, kind), field(3, memory_limit), field(4, physical_description), field(5, physical_gpu);
    field(6, uuid);
  }
};

struct TaskStatus {
  int protocol = 0;
  std::string version, name, address;
  uint64_t incarnation = 0;  // of this run of the process
  std::vector<DeviceMessage> devices;
  int64_t sessions = 0;
  std::string no_collectives;  // why its GPUs cannot reduce together with others; empty: they can, or there is none

  template <class F>
  void fields(F& field) {
    field(1, protocol), field(2, version), field(3, name), field(4, address), field(5, incarnation);
    field(6, devices), field(7, sessions), field(8, no_collectives);
  }
};

/// A task tells the coordinator where it is found.
struct Member {
  int protocol = 0;
  std::string version, name, address;

  template <class F>
  void fields(F& field) {
    field(1, protocol), field(2, version), field(3, name), field(4, address);
  }
};

struct Members {
  std::vector<Member> members;

  template <class F>
  void fields(F& field) {
    field(1, members);
  }
};

struct ListRequest {
  double wait_s = 0;   // for tasks that are not there
  bool quiet = false;  // the master says nothing of them

  template <class F>
  void fields(F& field) {
    field(1, wait_s), field(2, quiet);
  }
};

struct TaskList {
  std::vector<TaskStatus> tasks;     // the master first, then as the cluster lists them
  std::vector<std::string> missing;  // "/job:worker/replica:0/task:1 localhost:2223"
  std::vector<std::string> reasons;  // of each: "Connection refused"

  template <class F>
  void fields(F& field) {
    field(1, tasks), field(2, missing), field(3, reasons);
  }
};

struct EndpointMessage {
  uint32_t node = 0, output = 0;
  Tensor value;  // of a feed

  template <class F>
  void fields(F& field) {
    field(1, node), field(2, output), field(3, value);
  }
};

/// A graph that is placed, and what its steps are about. Every task makes the same of it.
struct SessionRequest {
  uint64_t session = 0;           // the master chooses it
  std::vector<TaskStatus> tasks;  // as listed: their devices in this order are those of `placement`
  std::string_view graph;         // GraphDef in JSON; a request that was read: in its bytes, which outlive it
  std::shared_ptr<const std::string> graph_text = nullptr;  // what holds `graph` where it was made
  std::vector<uint32_t> placement;                          // by node
  std::vector<EndpointMessage> fetches, feeds;
  std::vector<uint32_t> targets;
  uint64_t seed = 0;
  double timeout_s = 0;
  int inter_op_threads = 0, intra_op_threads = 0;
  bool deterministic = false;
  std::vector<std::string> members;  // names of the tasks that have a part in it, the master first; empty: all
  bool trace = false;
  std::string folder,
      folder_place;           // of the graph's file: as names of files begin with it, and where the client has it
  bool collectives = false;   // GPUs of several tasks reduce together:
  std::string collective_id;  // by this, which the master makes

  template <class F>
  void fields(F& field) {
    field(1, session), field(2, tasks), field(4, placement), field(5, fetches), field(6, feeds);
    field(7, targets), field(8, seed), field(9, timeout_s), field(10, inter_op_threads);
    field(11, intra_op_threads), field(12, deterministic), field(13, members), field(14, trace);
    field(15, folder), field(16, folder_place), field(17, collectives), field(18, collective_id);
    field(3, graph);  // the last: what grows behind it would have it copied
  }
};

struct StatusMessage {
  int code = 0, blame = 0;
  std::string text, node;

  template <class F>
  void fields(F& field) {
    field(1, code), field(2, blame), field(3, text), field(4, node);
  }
  static StatusMessage of(const Status& s) {
    return {static_cast<int>(s.code()), static_cast<int>(s.blame()), s.message(), s.node()};
  }
  Status status() const {
    if (code == 0) return ok_status();
    return Status(static_cast<Code>(code), text).blamed(static_cast<Blame>(blame)).at_node(node);
  }
};

struct MemoryMessage {
  std::string device;
  int64_t limit = 0, planned = 0, variables = 0, constants = 0, pool = 0, peak = 0;

  template <class F>
  void fields(F& field) {
    field(1, device), field(2, limit), field(3, planned), field(4, variables), field(5, constants), field(6, pool);
    field(7, peak);
  }
};

/// How far a node that draws random numbers has come.
struct RandomMessage {
  uint32_t node = 0;
  uint64_t blocks = 0;

  template <class F>
  void fields(F& field) {
    field(1, node), field(2, blocks);
  }
};

/// What a task did in a step: bytes of tensors that went between it and others, and its time.
struct TrafficMessage {
  std::string task;
  int64_t sent_bytes = 0, received_bytes = 0;
  int64_t time_ns = 0, wait_ns = 0;  // of its part; for others, in that time
  int64_t collectives = 0;           // of MPI, since the session began

  template <class F>
  void fields(F& field) {
    field(1, task), field(2, sent_bytes), field(3, received_bytes), field(4, time_ns), field(5, wait_ns);
    field(6, collectives);
  }
};

/// What a task, or all of them, have to say of a session or a step.
struct SessionReply {
  StatusMessage status;
  uint64_t session = 0;
  std::vector<std::string> programs;  // hashes of those that were cut since the last reply
  std::vector<Tensor> outputs;
  std::vector<MemoryMessage> memory;
  int64_t copies = 0, copy_bytes = 0;  // of the last step
  double copy_seconds = 0;
  std::vector<RandomMessage> random;
  std::vector<TrafficMessage> traffic;  // of the last step

  template <class F>
  void fields(F& field) {
    field(1, status), field(2, session), field(3, programs), field(4, outputs), field(5, memory), field(6, copies);
    field(7, copy_bytes), field(8, copy_seconds), field(9, random), field(10, traffic);
  }
};

struct SessionId {
  uint64_t session = 0;

  template <class F>
  void fields(F& field) {
    field(1, session);
  }
};

/// Plans a step that may be run with other feeds each time, a callable. A new one has the next number; plans of it have
/// any, but no number twice.
struct PlanCall {
  uint64_t session = 0, step = 0;  // the master counts steps
  uint32_t callable = 0, plan = 0;
  std::vector<EndpointMessage> fetches, feeds;  // with values, for whose types and shapes it is planned
  std::vector<uint32_t> targets;
  std::vector<EndpointMessage> guard;  // none, or one

  template <class F>
  void fields(F& field) {
    field(1, session), field(2, step), field(3, callable), field(4, fetches), field(5, feeds), field(6, targets);
    field(7, guard), field(8, plan);
  }
};

enum class StepKind : uint8_t { kOwn, kNodes, kCallable };

/// The session's own step, some nodes once, or a callable.
struct StepCall {
  uint64_t session = 0, step = 0;  // the master counts steps
  StepKind kind = StepKind::kOwn;
  std::vector<uint32_t> nodes;
  uint32_t callable = 0, plan = 0;
  std::vector<Tensor> feeds;          // for the master, whose they are; others take those of the plan
  std::vector<RandomMessage> random;  // from where nodes draw, before the step
  bool traced = false;

  template <class F>
  void fields(F& field) {
    field(1, session), field(2, step), field(3, kind), field(4, nodes), field(5, callable), field(6, plan);
    field(7, feeds), field(8, random), field(9, traced);
  }
};

/// What a task has lost; code 0: nothing, and nothing will follow.
struct LossMessage {
  uint64_t step = 0;
  StatusMessage why;

  template <class F>
  void fields(F& field) {
    field(1, step), field(2, why);
  }
};

/// Reads a variable, or writes one; or the keys and values of a table, which answer nothing where it holds none.
struct VariableCall {
  uint64_t session = 0;
  uint32_t node = 0;
  bool writes = false;
  Tensor value;         // or keys
  Tensor table_values;  // of a table only

  template <class F>
  void fields(F& field) {
    field(1, session), field(2, node), field(3, writes), field(4, value), field(5, table_values);
  }
};

struct ClockReply {
  int64_t now_ns = 0;  // by std::chrono::steady_clock

  template <class F>
  void fields(F& field) {
    field(1, now_ns);
  }
};

/// A LaunchedWork, on the devices of the session.
struct WorkMessage {
  std::vector<uint32_t> nodes;
  int device = 0, from = 0;
  uint32_t reader = 0;
  int64_t bytes = 0;
  bool is_loop = false, is_transfer = false, receives = false;
  uint32_t transfer = 0;

  template <class F>
  void fields(F& field) {
    field(1, nodes), field(2, device), field(3, from), field(4, reader), field(5, bytes), field(6, is_loop);
    field(7, is_transfer), field(8, receives), field(9, transfer);
  }
};

struct SpanMessage {
  uint32_t work = 0, thread = 0;
  int64_t start_ns = 0, end_ns = 0;

  template <class F>
  void fields(F& field) {
    field(1, work), field(2, thread), field(3, start_ns), field(4, end_ns);
  }
};

/// What a task did in the traced steps since the last time that it was asked.
struct TaskTrace {
  std::string task;
  int64_t ahead_ns = 0, error_ns = 0;  // of its clock before the master's, at most so wrong
  std::vector<WorkMessage> work;       // that is new; spans count all of it
  std::vector<SpanMessage> spans;

  template <class F>
  void fields(F& field) {
    field(1, task), field(2, ahead_ns), field(3, error_ns), field(4, work), field(5, spans);
  }
};

struct TraceReply {
  StatusMessage status;
  std::vector<TaskTrace> tasks;

  template <class F>
  void fields(F& field) {
    field(1, status), field(2, tasks);
  }
};

struct PieceMessage {
  uint32_t copy = 0;
  bool dead = false;
  Tensor value;
  uint64_t iteration = 0;

  template <class F>
  void fields(F& field) {
    field(1, copy), field(2, dead), field(3, value), field(4, iteration);
  }
};

/// A part of a piece that is too large for one message. All but the last one are kChunkBytes.
struct ChunkMessage {
  uint32_t copy = 0;
  uint64_t iteration = 0;
  int dtype = 0;
  std::vector<int64_t> shape;  // of the whole
  uint64_t number = 0;
  std::string_view data;

  template <class F>
  void fields(F& field) {
    field(1, copy), field(2, iteration), field(3, dtype), field(4, shape), field(5, number), field(6, data);
  }
};

/// What one task has for another in a step.
struct PushMessage {
  uint64_t session = 0, step = 0;
  uint32_t from = 0;  // which of the session's tasks sends it
  std::vector<PieceMessage> pieces;
  std::vector<ChunkMessage> chunks;

  static constexpr uint32_t kPieces = 4;

  template <class F>
  void fields(F& field) {
    field(1, session), field(2, step), field(3, from), field(kPieces, pieces), field(5, chunks);
  }
};

/// What a task is about to do together with others; see core/cluster/gathering.h.
struct MemberMessage {
  std::string task;
  std::vector<std::string> names, values;

  template <class F>
  void fields(F& field) {
    field(1, task), field(2, names), field(3, values);
  }
};

struct EndMessage {
  int exit_code = 0;
  std::string text;

  template <class F>
  void fields(F& field) {
    field(1, exit_code), field(2, text);
  }
};

/// A task has heard of the end, or was told to end by a signal.
struct LeaveMessage {
  std::string task;
  int signal = 0;

  template <class F>
  void fields(F& field) {
    field(1, task), field(2, signal);
  }
};

}  // namespace emplace::message
