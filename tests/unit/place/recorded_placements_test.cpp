// Replays what TensorFlow's placer and partitioner answered (tests/data/placement): device of every node, order,
// error texts, copies.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "core/base/cat.h"
#include "core/partition/copies.h"
#include "core/place/isolate_calls.h"
#include "core/place/placement.h"
#include "tests/unit/read_gz.h"

using namespace emplace;
using nlohmann::json;

namespace {

std::vector<json> read_lines(const std::string& name) {
  std::vector<json> out;
  std::istringstream lines(read_gz("placement/" + name));
  for (std::string line; std::getline(lines, line);) out.push_back(json::parse(line));
  return out;
}

DeviceSet devices_of(const json& names) {
  DeviceSet set;
  set.runnable = false;  // as recorded: no device of this process
  for (const json& name : names) {
    Device d;
    d.name = name.get<std::string>();
    d.parsed = *DeviceName::parse(d.name);
    d.type = *d.parsed.type;
    set.devices.push_back(std::move(d));
  }
  return set;
}

// Sorted by name; commas inside brackets and quotes separate nothing.
std::string sorted_attrs(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (!quoted) depth += (c == '[' || c == '<') - (c == ']' || c == '>');
    if (c == ',' && depth == 0 && !quoted) {
      parts.emplace_back();
      ++i;
    } else {
      parts.back() += c;
    }
  }
  std::sort(parts.begin(), parts.end());
  std::string out;
  for (const std::string& p : parts) append(out, out.empty() ? "" : ", ", p);
  return out;
}

// What TensorFlow prints in the order of a hash table is sorted; values of tensors are left out.
std::string normalized(const std::string& message) {
  static const std::regex kValues(" values: [^>]*>");
  std::istringstream lines(std::regex_replace(message, kValues, ">"));
  std::vector<std::string> out;
  size_t kernels = 0;  // first line of the block of kernels, 0: not in it
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Node attrs: ")) line = "Node attrs: " + sorted_attrs(line.substr(12));
    if (const size_t at = line.find("with these attrs: ["); at != line.npos && line.back() == ']') {
      const size_t begin = at + 19;
      line = line.substr(0, begin) + sorted_attrs(line.substr(begin, line.size() - begin - 1)) + "]";
    }
    out.push_back(line);
    if (line == "Registered kernels:") kernels = out.size();
    if (kernels && !line.starts_with("  device=") && out.size() > kernels) {
      std::sort(out.begin() + static_cast<std::ptrdiff_t>(kernels), out.end() - 1);
      kernels = 0;
    }
  }
  std::string text;
  for (const std::string& line : out) append(text, line, '\n');
  return text;
}

class Case {
 public:
  Case(const json& answer, const json& graph) : answer_(answer), devices_(devices_of(answer["devices"])) {
    Problems problems;
    file_ = load(Source::from_text("recorded", graph.dump()), {}, problems);
    Problems contradictions;  // TensorFlow places a graph whose shapes do not fit
    if (problems.empty()) validate(*file_, problems, &contradictions);
    UNSCOPED_INFO(problems.to_string(*file_->source));
    REQUIRE(problems.empty());
    isolate_calls(*file_->ops, file_->graph);
    options_.allow_soft_placement = answer["soft"].get<bool>();
    devices_.own_task = answer.value("target", "");
    if (answer.contains("assigned")) {
      for (const auto& [node, device] : answer["assigned"].items()) {
        options_.assigned.emplace_back(file_->graph.find(node), device.get<std::string>());
      }
    }
  }

  Result<Placement> place() { return emplace::place(*file_, devices_, options_, details_); }
  const GraphFile& file() const { return *file_; }
  const DeviceSet& devices() const { return devices_; }

  void check() {
    Result<Placement> placement = place();
    const std::string status(code_name(placement.status().code()));
    if (status != answer_["status"].get<std::string>()) {
      FAIL_CHECK("status " << status << ", wanted " << answer_["status"] << "\n" << placement.status().message());
      return;
    }
    if (!placement.ok()) {
      CHECK(normalized(placement.status().message()) == normalized(answer_["message"].get<std::string>()));
      CHECK(!details_.empty());
      return;
    }
    json order = json::array();
    for (NodeId n : placement->order) order.push_back({file_->graph.name(n), placement->device(n)});
    CHECK(order == answer_["placement"]);
    for (const Decision& d : placement->decisions) CHECK(d.reason != Reason::kNone);
    if (answer_.contains("copies")) check_copies(*placement);
  }

 private:
  using Rows = std::multiset<json>;
  static Rows rows(const json& list) { return {list.begin(), list.end()}; }
  Rows recorded(const char* key) const { return answer_.contains(key) ? rows(answer_[key]) : Rows{}; }

  void check_copies(const Placement& placement) {
    const CopyPlan plan = plan_copies(*file_, devices_, placement);
    Rows copies, control, inside, moved;
    for (const Copy& c : plan.copies) {
      const std::string name(file_->graph.name(c.tensor.node));
      const std::string tensor = cat(name, ':', c.tensor.slot);
      if (c.control) {
        control.insert(json::array({name, c.from, c.to}));
      } else if (c.inside) {
        inside.insert(json::array({tensor, c.to, c.received_in == MemoryKind::kHost ? "to host" : "to device"}));
      } else {
        copies.insert(json::array({tensor, c.from, c.to}));
      }
    }
    if (answer_.contains("target")) {  // recorded as a set, and nothing else
      CHECK(std::set<json>(copies.begin(), copies.end()) ==
            std::set<json>(answer_["copies"].begin(), answer_["copies"].end()));
      return;
    }
    for (const Move& m : plan.moves) moved.insert(json::array({file_->graph.name(m.node), m.device}));
    CHECK(copies == recorded("copies"));
    CHECK(control == recorded("control"));
    CHECK(inside == recorded("inside"));
    CHECK(moved == recorded("moved"));
  }

  const json& answer_;
  DeviceSet devices_;
  std::unique_ptr<GraphFile> file_;
  PlaceOptions options_;
  std::vector<std::string> details_;
};

void check_file(const std::string& name) {
  int line = 0;
  for (const json& answer : read_lines(name)) {
    INFO("line " << ++line << " of " << name);
    Case(answer, answer["graph"]).check();
  }
}

}  // namespace

TEST_CASE("graphs of every placement rule and published graphs are placed as TensorFlow places them") {
  std::map<std::string, json> graphs;
  for (json& g : read_lines("graphs.jsonl.gz")) graphs[g["name"]] = std::move(g["graph"]);
  for (const json& answer : read_lines("answers.jsonl.gz")) {
    INFO(answer["graph"] << " on " << answer["devices"] << (answer["soft"].get<bool>() ? ", soft" : ""));
    Case(answer, graphs.at(answer["graph"])).check();
  }
}

TEST_CASE("random graphs are placed as TensorFlow places them") { check_file("random.jsonl.gz"); }

TEST_CASE("calls of functions that return resources are placed as TensorFlow places them") {
  check_file("calls.jsonl.gz");
}

TEST_CASE("control flow that moves in chains goes where TensorFlow moves it") { check_file("control_flow.jsonl.gz"); }

TEST_CASE("graphs that cannot be placed get TensorFlow's words") { check_file("errors.jsonl.gz"); }

TEST_CASE("random graphs on several tasks are placed as TensorFlow places them from one of the tasks") {
  check_file("cluster.jsonl.gz");
}

TEST_CASE("a ResNet-50 training step without its devices gets them back") {
  const std::vector<json> lines = read_lines("resnet50.jsonl.gz");
  const json& answer = lines.at(0);
  Case c(answer, answer["graph"]);
  const Result<Placement> placement = c.place();
  REQUIRE(placement.ok());
  const Graph& graph = c.file().graph;
  CHECK(graph.num_nodes() == 2359);
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    INFO(graph.name(n));
    CHECK(placement->device(n) == answer["device_of"][std::string(graph.name(n))].get<DeviceId>());
  }
}
