// What every task makes of a graph by itself: the same program, of which the parts of all tasks are the whole.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "core/base/cat.h"
#include "core/formats/graph_writer.h"
#include "core/partition/partition.h"
#include "core/partition/rounds.h"
#include "core/partition/task_part.h"
#include "tests/unit/cluster/cluster_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

Program cut(const GraphFile& file, const ClusterCase& c, const std::vector<std::string>& fetches) {
  const SessionOptions o = c.options(fetches);
  Result<Program> program = partition(file, c.devices, c.placement, {o.fetches, o.targets, {}, {}});
  REQUIRE(program.ok());
  return program.take();
}

}  // namespace

TEST_CASE("a graph that was written and read again is cut into the same program") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    const RandomGraph graph = random_graph(seed, 3, 1);
    ClusterCase c(graph.text, "ps=1,worker=3", 1, 1);
    const Program program = cut(*c.file, c, graph.fetches);
    const std::string hash = program_hash(c.file->graph, c.devices, program);
    Problems problems;
    const auto again = load(Source::from_text("again", write_graph(*c.file)), {}, problems);
    validate(*again, problems);
    REQUIRE(problems.empty());
    CHECK(program_hash(again->graph, c.devices, cut(*again, c, graph.fetches)) == hash);
    CHECK(program_hash(c.file->graph, c.devices, cut(*c.file, c, {graph.fetches[0]})) != hash);
    Placement other = c.placement;
    DeviceId& first = other.decisions[program.instructions.front().node].device;
    DeviceId& last = other.decisions[program.instructions.back().node].device;
    if (first == last) continue;
    std::swap(first, last);
    std::swap(c.placement, other);
    CHECK(program_hash(c.file->graph, c.devices, cut(*c.file, c, graph.fetches)) != hash);
  }
}

namespace {

/// What a task does, in order: names of nodes, of what is sent with "send ".
std::vector<std::string> done_by(const ClusterCase& c, const Program& whole, TaskId task) {
  const TaskMap tasks(c.devices);
  std::vector<std::string> out;
  for (const Instruction& s : WholeProgram(*c.file, c.devices, tasks, whole).part_of(task).take().instructions) {
    if (s.kind == InstructionKind::kConstant) continue;
    const char* what = s.kind == InstructionKind::kSend      ? "send "
                       : s.kind == InstructionKind::kReceive ? "receive "
                                                             : "";
    out.push_back(cat(what, c.file->graph.name(s.node)));
  }
  return out;
}

}  // namespace

TEST_CASE("what another task reads is sent as soon as it is made") {
  const ClusterCase c(R"({"node": [
      {"name": "x", "op": "Const", "attr": {"value": [1, 2]}},
      {"name": "a", "op": "Neg", "input": ["x"], "device": "/job:w/task:0"},
      {"name": "b", "op": "Exp", "input": ["a"], "device": "/job:w/task:0"},
      {"name": "c", "op": "Exp", "input": ["a"], "device": "/job:w/task:1"},
      {"name": "y", "op": "AddV2", "input": ["b", "c"], "device": "/job:w/task:0"}]})",
                      "w=2", 1, 0);
  const Program whole = cut(*c.file, c, {"y"});
  CHECK(done_by(c, whole, 0) == std::vector<std::string>{"a", "send a", "b", "receive c", "y"});
  CHECK(done_by(c, whole, 1) == std::vector<std::string>{"receive a", "c", "send c"});
}

TEST_CASE("gradients meet two buckets behind those that are being made") {
  std::string text = R"({"node": [{"name": "x", "op": "Const", "attr": {"value": [1, 2]}})";
  for (const int task : {0, 1}) {  // a chain on each: g0, g1, g2, g3
    for (int g = 0; g < 4; ++g) {
      append(text, R"(, {"name": "t)", task, "g", g, R"(", "op": "Neg", "input": [")",
             g == 0 ? "x" : cat("t", task, "g", g - 1), R"("], "device": "/job:w/task:)", task, "\"}");
    }
  }
  for (int g = 0; g < 4; ++g) {
    append(text, R"(, {"name": "m)", g, R"(", "op": "AddV2", "input": ["t0g)", g, R"(", "t1g)", g,
           R"("], "device": "/job:w/task:0", "attr": {"_reduce_bucket": {"i": )", g, "}}}");
  }
  const ClusterCase c(text + "]}", "w=2", 1, 0);
  const Program whole = cut(*c.file, c, {"m0", "m1", "m2", "m3"});
  CHECK(done_by(c, whole, 0) == std::vector<std::string>{"t0g0", "t0g1", "t0g2", "receive t1g0", "m0", "t0g3",
                                                         "receive t1g1", "m1", "receive t1g2", "m2", "receive t1g3",
                                                         "m3"});
  CHECK(done_by(c, whole, 1) ==
        std::vector<std::string>{"t1g0", "send t1g0", "t1g1", "send t1g1", "t1g2", "send t1g2", "t1g3", "send t1g3"});
}

namespace {

/// "t1g0 0>1" for what goes from task 0 to task 1, by round.
std::vector<std::vector<std::string>> rounds_of(const ClusterCase& c, const Program& whole) {
  std::vector<std::vector<std::string>> out;
  const auto rounds = find_rounds(c.file->graph, whole, TaskMap(c.devices));
  if (!rounds) return out;
  for (const Round& round : rounds->all) {
    std::vector<std::string>& items = out.emplace_back();
    for (const Round::Item& item : round.items) {
      items.push_back(cat(c.file->graph.name(whole.values[item.value].tensor.node), " ", item.from, ">", item.to,
                          round.to_all ? " all" : ""));
      CHECK(rounds->all[rounds->round_of.at(item.copy)].items.size() == round.items.size());
    }
  }
  return out;
}

}  // namespace

TEST_CASE("what goes to a bucket, and what comes from it, is a round each, in the order in which they are begun") {
  std::string text = R"({"node": [{"name": "x", "op": "Const", "attr": {"value": [1, 2]}}, )";
  text += R"({"name": "late", "op": "Neg", "input": ["m0"], "device": "/job:w/task:1"})";
  for (const int task : {0, 1, 2}) {
    for (int g = 0; g < 2; ++g) {
      append(text, R"(, {"name": "t)", task, "g", g, R"(", "op": "Neg", "input": [")",
             g == 0 ? "x" : cat("t", task, "g", g - 1), R"("], "device": "/job:w/task:)", task, "\"}");
    }
    append(text, R"(, {"name": "y)", task, R"(", "op": "AddV2", "input": ["m0", "m1"], "device": "/job:w/task:)", task,
           "\"}");
  }
  const std::string node = R"(, {"name": "m)", tail = R"(", "op": "AddN", "input": ["t0g)";
  for (int g = 0; g < 2; ++g) {
    append(text, node, g, tail, g, R"(", "t1g)", g, R"(", "t2g)", g, R"("], "device": "/job:w/task:)", g,
           R"(", "attr": {"_reduce_bucket": {"i": )", g, "}}}");
  }
  // A node of bucket 0 that reads what is made of its own mean, on another task.
  text +=
      R"(, {"name": "m2", "op": "Neg", "input": ["late"], "device": "/job:w/task:2", "attr": {"_reduce_bucket": {"i": 0}}})";
  const ClusterCase c(text + "]}", "w=3", 1, 0);
  using Items = std::vector<std::vector<std::string>>;
  CHECK(rounds_of(c, cut(*c.file, c, {"y0", "y1", "y2"})) == Items{{"t1g0 1>0", "t2g0 2>0"},
                                                                   {"t0g1 0>1", "t2g1 2>1"},
                                                                   {"m0 0>1 all", "m0 0>2 all"},
                                                                   {"m1 1>0 all", "m1 1>2 all"}});
  for (const std::vector<std::string>& round : rounds_of(c, cut(*c.file, c, {"y0", "m2"})))
    CHECK(std::find(round.begin(), round.end(), "t1g0 1>0") == round.end());  // it would wait for itself
  CHECK(rounds_of(c, cut(*c.file, c, {"t0g1", "t1g1"})).empty());
}

TEST_CASE("the parts of all tasks have every instruction once, and a receive for every send") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    const RandomGraph graph = random_graph(seed, 3, static_cast<int>(seed % 2));
    const ClusterCase c(graph.text, "ps=1,worker=3", 1, static_cast<int>(seed % 2));
    const Program whole = cut(*c.file, c, graph.fetches);
    const TaskMap tasks(c.devices);
    size_t nodes = 0, wanted = 0;
    std::map<uint32_t, std::pair<TaskId, TaskId>> sent, received;  // by number: from, to
    for (TaskId task = 0; task < tasks.size(); ++task) {
      const Program part = WholeProgram(*c.file, c.devices, tasks, whole).part_of(task).take();
      for (const Instruction& s : part.instructions) {
        nodes += s.kind == InstructionKind::kNode;
        CHECK(s.device < devices_of_task(c.devices, tasks, task).size());
      }
      for (const Transfer& t : part.transfers) {
        const bool sends = part.instructions[t.instruction].kind == InstructionKind::kSend;
        (sends ? sent : received)[t.copy] = sends ? std::pair(task, t.peer) : std::pair(t.peer, task);
      }
    }
    for (const Instruction& s : whole.instructions) wanted += s.kind == InstructionKind::kNode;
    CHECK(nodes == wanted);
    CHECK(sent == received);
  }
}

TEST_CASE("a variable is used on its own task only") {
  ClusterCase c(cat(R"({"node": [)",
                    one_node("v", "VariableV2", "", R"("/job:ps/task:0")", R"({"dtype": "float32", "shape": [2]})"),
                    ",", one_node("x", "Const", "", R"("/job:worker/task:0")", R"({"value": [1, 2]})"), ",",
                    one_node("set", "Assign", R"("v", "x")", R"("/job:ps/task:0")"), "]}"),
                "ps=1,worker=1");
  c.placement.decisions[c.node("set")].device = 0;  // where no placer puts it
  const TaskMap tasks(c.devices);
  const Status refused = WholeProgram(*c.file, c.devices, tasks, cut(*c.file, c, {"^set"})).part_of(0).status();
  CHECK(refused.code() == Code::kUnimplemented);
  CHECK(refused.message() ==
        "'set' on /job:worker/replica:0/task:0 uses the variable of 'v', which is on /job:ps/replica:0/task:0");
}
