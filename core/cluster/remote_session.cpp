#include "core/cluster/remote_session.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include "core/cluster/client_session.h"
#include "core/cluster/cluster_spec.h"
#include "core/formats/graph_writer.h"
#include "core/op/checkpoint_access.h"
#include "core/partition/meetings.h"

namespace emplace {

using message::SessionRequest;
namespace method = message::method;

namespace {

constexpr std::string_view kScheme = "grpc://";

/// Are there collectives of GPUs on several tasks?
bool reduces_among_tasks(const Graph& g, const Placement& placement, const DeviceSet& devices) {
  const TaskMap tasks(devices);
  std::map<std::string_view, TaskId> first;
  for (NodeId node = 0; node < g.num_nodes(); ++node) {
    if (!is_collective(g, node) || devices.at(placement.device(node)).kind != DeviceKind::kCuda) continue;
    const TaskId task = tasks.of[placement.device(node)];
    if (first.try_emplace(meeting_of(g, node), task).first->second != task) return true;
  }
  return false;
}

/// The master, and all tasks that a node is on: others have no part in any step, and need not be there.
std::vector<std::string> tasks_with_nodes(const Graph& g, const Placement& placement, const DeviceSet& devices) {
  const TaskMap tasks(devices);
  std::vector<bool> has_node(tasks.size());
  has_node[0] = true;
  for (NodeId node = 0; node < g.num_nodes(); ++node) has_node[tasks.of[placement.device(node)]] = true;
  std::vector<std::string> names;
  for (TaskId task = 0; task < tasks.size(); ++task) {
    if (has_node[task]) names.push_back(tasks.names[task]);
  }
  return names;
}

SessionRequest request_of(const GraphFile& file, const Placement& placement, const SessionOptions& options,
                          const message::TaskList& tasks, const DeviceSet& devices) {
  SessionRequest request;
  request.tasks = tasks.tasks;
  request.graph_text = std::make_shared<const std::string>(write_graph(file));
  request.graph = *request.graph_text;
  for (NodeId node = 0; node < file.graph.num_nodes(); ++node) request.placement.push_back(placement.device(node));
  for (const Endpoint& e : options.fetches) request.fetches.push_back({e.node, e.slot, {}});
  for (const auto& [e, value] : options.feeds) request.feeds.push_back({e.node, e.slot, value});
  for (const NodeId node : options.targets) request.targets.push_back(node);
  std::random_device device;
  request.seed = options.seed != 0 ? options.seed : (uint64_t{device()} << 32) | device();
  request.timeout_s = options.timeout_s;
  request.inter_op_threads = options.inter_op_threads, request.intra_op_threads = options.intra_op_threads;
  request.deterministic = options.gpu.deterministic;
  request.trace = options.trace != nullptr;
  request.collectives = reduces_among_tasks(file.graph, placement, devices);
  if (!request.collectives) request.members = tasks_with_nodes(file.graph, placement, devices);
  if (options.checkpoints) {
    request.folder = options.checkpoints->folder();
    std::error_code ignored;  // no working folder, so no file there either
    request.folder_place = std::filesystem::absolute(request.folder, ignored).lexically_normal().string();
  }
  return request;
}

}  // namespace

Result<std::shared_ptr<RemoteCluster>> RemoteCluster::open(Transport& transport, const std::string& target,
                                                           const TransportOptions& options) {
  if (!target.starts_with(kScheme))
    return invalid_argument(cat("--master: '", target, "' is not a server; write for instance grpc://localhost:2222"));
  const std::string address = target.substr(kScheme.size());
  if (const Result<HostPort> parsed = parse_host_port(address); !parsed.ok())
    return parsed.status().with_context("--master");
  return std::shared_ptr<RemoteCluster>(new RemoteCluster(transport, target, address, options));
}

std::string RemoteCluster::why_not(const Answer& answer) const {
  std::string why = why_silent(answer, options_.dead_after_s);
  // A server that wants TLS closes the connection of whoever does not speak it.
  if (why == "connection closed")
    why += options_.tls_ca.empty() ? "; if it wants TLS: --tls-cert, --tls-key, --tls-ca"
                                   : "; it may not trust this end's certificate: --tls-cert";
  return why;
}

Status RemoteCluster::connect(double timeout_s, bool starting, const std::atomic<bool>* stop,
                              const std::function<void(const std::string&)>& say) {
  using Clock = std::chrono::steady_clock;
  constexpr double kLook = 10;
  const auto start = Clock::now();
  for (;;) {
    const double left = timeout_s - std::chrono::duration<double>(Clock::now() - start).count();
    ASSIGN_OR_RETURN(const std::string body, message::write(message::ListRequest{std::clamp(left, 0.0, kLook)}));
    const Answer answer = master_->ask(method::kListTasks, body, stop, std::max(left, 1.0) + kLook);
    if (answer.code == static_cast<int>(Code::kUnavailable) && starting && left > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    if (answer.code == static_cast<int>(Code::kUnavailable) || answer.code == static_cast<int>(Code::kDeadlineExceeded))
      return unavailable(cat("no server at ", target_, ": ", why_not(answer))).blamed(kBlamePeer);
    if (answer.code != 0) return {static_cast<Code>(answer.code), answer.message};
    ASSIGN_OR_RETURN(tasks_, message::read<message::TaskList>(answer.body));
    if (tasks_.missing.empty()) break;
    for (const std::string& task : tasks_.missing)
      say(cat("CreateSession still waiting for response from worker: ", task.substr(0, task.find(' '))));
    if (std::chrono::duration<double>(Clock::now() - start).count() < timeout_s) continue;
    std::string text;
    for (size_t i = 0; i < tasks_.missing.size(); ++i) {
      const std::string why = i < tasks_.reasons.size() ? tasks_.reasons[i] : "";
      append(text, text.empty() ? "" : "\n", tasks_.missing[i], " did not answer within ", timeout_s, " s: ", why);
    }
    return Status(Code::kDeadlineExceeded, text).blamed(kBlamePeer);
  }
  if (tasks_.tasks.empty()) return internal_error("a cluster without tasks");
  master_ = std::make_shared<Peer>(transport_, tasks_.tasks.front().name, master_->address(), options_);
  return ok_status();
}

Result<size_t> RemoteCluster::forget_lost_tasks() {
  message::ListRequest request;
  request.quiet = true;
  ASSIGN_OR_RETURN(const message::TaskList now, master_->call<message::TaskList>(method::kListTasks, request));
  return std::erase_if(tasks_.tasks, [&](const message::TaskStatus& known) {
    return std::none_of(now.tasks.begin(), now.tasks.end(), [&](const message::TaskStatus& task) {
      return task.name == known.name && task.incarnation == known.incarnation;
    });
  });
}

Result<size_t> RemoteCluster::take_tasks_anew() {
  message::ListRequest request;
  request.quiet = true;
  ASSIGN_OR_RETURN(tasks_, master_->call<message::TaskList>(method::kListTasks, request));
  return tasks_.tasks.size();
}

Result<std::unique_ptr<Session>> RemoteCluster::create_session(const GraphFile& file, const DeviceSet& devices,
                                                               const Placement& placement,
                                                               const SessionOptions& options) {
  if (options.observer) return unimplemented("a step of several tasks cannot be watched node by node");
  auto made = std::make_unique<ClientSession>(master_, file, devices, placement, options.stop, traffic_, options.trace);
  RETURN_IF_ERROR(made->begin(
      std::make_shared<const message::SessionRequest>(request_of(file, placement, options, tasks_, devices))));
  return std::unique_ptr<Session>(std::move(made));
}

}  // namespace emplace
