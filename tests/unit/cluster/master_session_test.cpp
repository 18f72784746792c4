// A master whose other task is in this process, behind requests that end as the test says.
#include "core/cluster/master_session.h"

#include <catch2/catch.hpp>
#include <thread>

#include "tests/unit/cluster/cluster_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

const std::string kMaster = "/job:worker/replica:0/task:0", kOther = "/job:worker/replica:0/task:1";

message::SessionRequest request_of(const ClusterCase& c, const std::string& text, const std::string& fetch) {
  message::SessionRequest request;
  request.session = 1, request.seed = 7;
  for (const std::string& task : {kMaster, kOther}) {
    message::TaskStatus& status = request.tasks.emplace_back();
    status.name = task;
    for (const Device& d : c.devices.devices) {
      if (d.parsed.task_name() == task)
        status.devices.push_back({d.name, static_cast<int>(d.kind), d.memory_limit, "", -1, ""});
    }
  }
  request.graph = text;
  for (NodeId node = 0; node < c.file->graph.num_nodes(); ++node) request.placement.push_back(c.placement.device(node));
  request.fetches.push_back({c.node(fetch), 0, {}});
  return request;
}

std::shared_ptr<TaskState> state_of(const DeviceSet& devices) {
  return std::make_shared<TaskState>(devices, GpuRunOptions{});
}

/// Does its part of every step, and sends nothing: its pieces are lost with it.
class OtherTask final : public Transport {
 public:
  explicit OtherTask(DeviceSet devices) : devices_(std::move(devices)) {}
  PeerChannel* connect(const std::string&, const TransportOptions&) override { return new Channel(*this); }
  ListeningPort* listen(const std::string&, const TransportOptions&, RequestHandler*, std::string*) override {
    return nullptr;
  }
  /// It has done its part of the step.
  bool ran() const { return ran_; }
  void die() { kept_->take({static_cast<int>(Code::kUnavailable), "Socket closed", {}}); }

 private:
  class Request final : public OutgoingRequest {
   public:
    void call_off() override {}
  };
  class Channel final : public PeerChannel {
   public:
    explicit Channel(OtherTask& task) : task_(task) {}
    std::shared_ptr<OutgoingRequest> send(std::string_view method, std::string body, double,
                                          AnswerSink* sink) override {
      task_.handle(method, body, sink);
      return std::make_shared<Request>();
    }

   private:
    OtherTask& task_;
  };

  void handle(std::string_view method, const std::string& body, AnswerSink* sink) {
    if (method == message::method::kKeep) {
      kept_ = sink;
    } else if (method == message::method::kRegister) {
      Peers nobody;
      nobody[kMaster] = std::make_shared<Peer>(*this, kMaster, "lost:1", TransportOptions{});
      auto made = TaskSession::create(message::read<message::SessionRequest>(body).take(), kOther, devices_,
                                      state_of(devices_), nobody, {});
      REQUIRE(made.ok());
      session_ = made.take();
      sink->take({0, {}, message::write(session_->reply(ok_status())).take()});
    } else if (method == message::method::kRunGraph) {
      const message::SessionReply reply = session_->run(message::read<message::StepCall>(body).take());
      CHECK(reply.status.code == 0);
      sink->take({0, {}, message::write(reply).take()});
      ran_ = true;
    } else {
      sink->take({});
    }
  }

  const DeviceSet devices_;
  std::shared_ptr<TaskSession> session_;
  AnswerSink* kept_ = nullptr;
  std::atomic<bool> ran_ = false;
};

}  // namespace

TEST_CASE("a task that is lost after its part was done, its pieces with it, ends the step") {
  const std::string text = R"({"node": [)" +
                           one_node("x", "Const", "", "\"/job:worker/task:1\"", R"({"value": [1.0, 2.0]})") + "," +
                           one_node("s", "Square", R"("x")", "\"/job:worker/task:1\"") + "," +
                           one_node("y", "Neg", R"("s")", "\"/job:worker/task:0\"") + "]}";
  const ClusterCase c(text, "worker=2");
  const TaskMap tasks(c.devices);
  OtherTask other(devices_of_task(c.devices, tasks, tasks.find(kOther)));
  const DeviceSet own = devices_of_task(c.devices, tasks, tasks.find(kMaster));
  Peers peers;
  peers[kOther] = std::make_shared<Peer>(other, kOther, "localhost:2223", TransportOptions{});
  const message::SessionRequest request = request_of(c, text, "y");
  auto made = MasterSession::create(
      request, peers, [&] { return TaskSession::create(request, kMaster, own, state_of(own), peers, {}); });
  REQUIRE(made.ok());
  const std::atomic<bool> called_off = false;
  message::SessionReply reply;
  std::thread step([&] { reply = (*made)->run({}, called_off); });
  while (!other.ran()) std::this_thread::yield();
  other.die();
  step.join();
  CHECK(reply.status.text == "peer lost: " + kOther + " localhost:2223 (connection closed) at step 1, node s");
  CHECK(reply.status.status().blame() == kBlamePeer);
}
