// Tasks join their chief, are compared, and hear of the end.
#include "core/cluster/gathering.h"

#include <catch2/catch.hpp>

#include "core/cluster/protocol.h"

using namespace emplace;

namespace {

/// A request of a task, and what it was answered.
class Asked final : public IncomingRequest {
 public:
  template <class Message>
  Asked(const char* method, const Message& message) : method_(method), body_(message::write(message).take()) {}
  std::string_view method() const override { return method_; }
  std::string& body() override { return body_; }
  void answer(Answer answer) override { answers.push_back(std::move(answer)); }

  std::vector<Answer> answers;

 private:
  const std::string method_;
  std::string body_;
};

Asked join_of(const std::string& task, const std::string& graph) {
  return {message::method::kJoin, message::MemberMessage{task, {"graph"}, {graph}}};
}
Asked leave_of(const std::string& task, int signal) {
  return {message::method::kLeave, message::LeaveMessage{task, signal}};
}

struct Chief {
  int signal = 0;
  Gathering gathering{"chief", {"a", "b"}, {{"graph", "1"}}, [this](int s) { signal = s; }};
  const std::atomic<bool> stop = false;
  Status wait(double seconds) {
    return gathering.wait(
        seconds, stop, [] { return ok_status(); }, [](const std::string&) {});
  }
};

}  // namespace

TEST_CASE("tasks that join alike are gathered, and hear how it ended") {
  Chief chief;
  Asked a = join_of("a", "1"), b = join_of("b", "1"), twice = join_of("a", "1"), stranger = join_of("c", "1");
  chief.gathering.handle(&a);
  CHECK(chief.wait(0.01).message() == "b did not join within 0.01 s");
  chief.gathering.handle(&b);
  CHECK(chief.wait(1).ok());
  chief.gathering.handle(&twice);
  chief.gathering.handle(&stranger);
  CHECK(twice.answers.at(0).code == static_cast<int>(Code::kFailedPrecondition));
  CHECK(stranger.answers.at(0).message == "c is not in the cluster of chief");
  CHECK(a.answers.empty());

  Asked told = leave_of("b", 15), heard = leave_of("a", 0);
  chief.gathering.handle(&told);
  CHECK(chief.signal == 15);
  chief.gathering.called_off(&b);  // lost: who answers it now would wait for itself
  CHECK(b.answers.empty());
  chief.gathering.handle(&heard);
  chief.gathering.end({143, "stopped"});
  const auto end = message::read<message::EndMessage>(a.answers.at(0).body);
  CHECK(end->exit_code == 143);
  CHECK(end->text == "stopped");
  CHECK(b.answers.size() == 1);
  Asked late = join_of("b", "1");
  chief.gathering.handle(&late);
  CHECK(message::read<message::EndMessage>(late.answers.at(0).body)->exit_code == 143);
}

TEST_CASE("a task that was lost may join again where that is let, and is compared again") {
  Chief chief;
  Asked a = join_of("a", "1"), b = join_of("b", "1");
  chief.gathering.handle(&a);
  chief.gathering.handle(&b);
  chief.gathering.called_off(&b);
  CHECK(chief.gathering.present() == 2);
  Asked refused = join_of("b", "1");
  chief.gathering.handle(&refused);
  CHECK(refused.answers.at(0).message == "b has joined before; the training cannot take it again");
  chief.gathering.let_lost_tasks_return();
  Asked twice = join_of("a", "1"), other = join_of("b", "2"), again = join_of("b", "1");
  for (Asked* asked : {&twice, &other, &again}) chief.gathering.handle(asked);
  CHECK(twice.answers.size() == 1);  // it is still there
  CHECK(other.answers.at(0).message.starts_with("graph: 1 on chief, 2 on b"));
  CHECK(again.answers.empty());
  CHECK(chief.gathering.present() == 3);
  CHECK(chief.gathering.one_returned());
  CHECK(!chief.gathering.one_returned());
  Asked heard_a = leave_of("a", 0), heard_b = leave_of("b", 0);
  chief.gathering.handle(&heard_a);
  chief.gathering.handle(&heard_b);
  chief.gathering.end({0, ""});
  CHECK(message::read<message::EndMessage>(again.answers.at(0).body)->exit_code == 0);
}

TEST_CASE("a task that is about to do something else is told, and so is the chief") {
  Chief chief;
  Asked a = join_of("a", "2");
  chief.gathering.handle(&a);
  const std::string wanted = "graph: 1 on chief, 2 on a; all tasks run the same command on the same files";
  CHECK(a.answers.at(0).message == wanted);
  CHECK(chief.wait(1).message() == wanted);
  Asked garbage(message::method::kJoin, message::EndMessage{3, "?"});
  chief.gathering.handle(&garbage);
  CHECK(garbage.answers.at(0).code != 0);
}
