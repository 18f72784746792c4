// A master whose other task is in this process, behind requests that end as the test says.
#include "core/cluster/master_session.h"

#include <catch2/catch.hpp>
#include <thread>
#include <utility>

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

/// Does its part of every step; what it sends goes nowhere.
class OtherTask final : public Transport {
 public:
  explicit OtherTask(DeviceSet devices) : devices_(std::move(devices)) {}
  /// Answers what still waits. REQUIRES: the master's session is gone.
  ~OtherTask() {
    for (AnswerSink** waiting : {&kept_, &pushed_, &asked_}) {
      if (*waiting) answer(*waiting, Code::kUnavailable, "Socket closed");
    }
    if (session_) session_->close();
  }
  PeerChannel* connect(const std::string& address, const TransportOptions&) override {
    return new Channel(*this, address == "lost:1");
  }
  ListeningPort* listen(const std::string&, const TransportOptions&, RequestHandler*, std::string*) override {
    return nullptr;
  }
  /// It has done its part of the step.
  bool ran() const { return ran_; }
  void begin() { ran_ = false; }
  /// From now on it does no part, and what comes is for a session that it does not know.
  void forget() { forgot_ = true; }
  /// It was told that the step failed.
  bool aborted() const { return aborted_; }
  void refuse_part() { answer(asked_, Code::kNotFound, "no such session"); }
  /// Nobody has taken what it sent.
  void lose() { answer(pushed_, Code::kUnavailable, "Connection refused"); }
  void die() { answer(kept_, Code::kUnavailable, "Socket closed"); }

 private:
  class Request final : public OutgoingRequest {
   public:
    void call_off() override {}
  };
  class Channel final : public PeerChannel {
   public:
    Channel(OtherTask& task, bool to_master) : task_(task), to_master_(to_master) {}
    std::shared_ptr<OutgoingRequest> send(std::string_view method, std::string body, double,
                                          AnswerSink* sink) override {
      to_master_ ? task_.sent(sink) : task_.handle(method, body, sink);
      return std::make_shared<Request>();
    }

   private:
    OtherTask& task_;
    const bool to_master_;
  };

  static void answer(AnswerSink*& waiting, Code code, const char* text) {
    std::exchange(waiting, nullptr)->take({static_cast<int>(code), text, {}});
  }

  void sent(AnswerSink* sink) { pushed_ = sink; }

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
    } else if (method == message::method::kLosses) {
      session_->traffic().losses->next(sink, [sink](uint64_t step, const Status& why) {
        sink->take({0, {}, message::write(message::LossMessage{step, message::StatusMessage::of(why)}).take()});
      });
    } else if (forgot_ && method == message::method::kRunGraph) {
      asked_ = sink;
    } else if (forgot_ && method == message::method::kPush) {
      sink->take({static_cast<int>(Code::kNotFound), "no such session", {}});
    } else if (forgot_ && method == message::method::kAbort) {
      sink->take({});
      aborted_ = true;
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
  AnswerSink *kept_ = nullptr, *pushed_ = nullptr, *asked_ = nullptr;
  bool forgot_ = false;
  std::atomic<bool> ran_ = false, aborted_ = false;
};

/// Its step is under way.
class Case {
 public:
  explicit Case(const std::string& nodes)
      : text_(R"({"node": [)" + nodes + "]}"),
        cluster_(text_, "worker=2"),
        tasks_(cluster_.devices),
        own_(devices_of_task(cluster_.devices, tasks_, tasks_.find(kMaster))),
        other(devices_of_task(cluster_.devices, tasks_, tasks_.find(kOther))) {
    peers_[kOther] = std::make_shared<Peer>(other, kOther, "localhost:2223", TransportOptions{});
    const message::SessionRequest request = request_of(cluster_, text_, "y");
    auto made = MasterSession::create(
        request, peers_, [&] { return TaskSession::create(request, kMaster, own_, state_of(own_), peers_, {}); });
    REQUIRE(made.ok());
    master_ = made.take();
  }

  void start() {
    step_ = std::thread([this] { reply_ = master_->run({}, called_off_); });
  }
  Status end() {
    step_.join();
    return reply_.status.status();
  }

 private:
  const std::string text_;
  const ClusterCase cluster_;
  const TaskMap tasks_;
  const DeviceSet own_;

 public:
  OtherTask other;

 private:
  Peers peers_;
  std::shared_ptr<MasterSession> master_;
  const std::atomic<bool> called_off_ = false;
  message::SessionReply reply_;
  std::thread step_;
};

std::string node_of_task(int task, const char* name, const char* op, const char* input, const char* attrs = "{}") {
  return one_node(name, op, input, "\"/job:worker/task:" + std::to_string(task) + "\"", attrs);
}

const std::string kFromOther = node_of_task(1, "x", "Const", "", R"({"value": [1.0, 2.0]})") + "," +
                               node_of_task(1, "s", "Square", R"("x")") + "," + node_of_task(0, "y", "Neg", R"("s")");

}  // namespace

TEST_CASE("a task that is lost after its part was done, its pieces with it, ends the step") {
  Case c(kFromOther);
  c.start();
  while (!c.other.ran()) std::this_thread::yield();
  c.other.die();
  const Status status = c.end();
  CHECK(status.message() == "peer lost: " + kOther + " localhost:2223 (connection closed) at step 1, node s");
  CHECK(status.blame() == kBlamePeer);
}

TEST_CASE("a task that has lost what it sent, after its part was done, ends the step without finding the master") {
  Case c(kFromOther);
  for (int64_t step = 1; step <= 2; ++step) {  // the session goes on
    c.start();
    while (!c.other.ran()) std::this_thread::yield();
    c.other.lose();
    const Status status = c.end();
    CHECK(status.message() ==
          "peer lost: " + kMaster + " lost:1 (Connection refused) at step " + std::to_string(step) + ", node s");
    CHECK(status.blame() == kBlamePeer);
    c.other.begin();
  }
}

TEST_CASE("a master whose pieces are refused does not wait for what would be made of them") {
  Case c(node_of_task(0, "x", "Const", "", R"({"value": [1.0, 2.0]})") + "," +
         node_of_task(0, "s", "Square", R"("x")") + "," + node_of_task(1, "t", "Neg", R"("s")") + "," +
         node_of_task(0, "y", "Neg", R"("t")"));
  c.other.forget();
  c.start();
  while (!c.other.aborted()) std::this_thread::yield();
  c.other.refuse_part();
  const Status status = c.end();
  CHECK(status.message() == kOther + " localhost:2223 restarted; its variables are lost");
  CHECK(status.blame() == kBlamePeer);
}
