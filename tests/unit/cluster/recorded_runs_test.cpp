// Replays what TensorFlow's servers answered (tests/data/cluster/runs.json.gz) on tasks of this process: the placement
// log, results, which failure is told and of which task, variables that sessions share.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/cat.h"
#include "core/cluster/local_exchange.h"
#include "core/report/placement_log.h"
#include "tests/unit/cluster/cluster_case.h"
#include "tests/unit/read_gz.h"

using namespace emplace;
using namespace emplace::testing;
using nlohmann::json;

namespace {

/// {"dtype", "shape", "data"} as a tensor: the value of a constant.
Tensor tensor_of(const json& value) {
  json node, graph;
  node["name"] = "c";
  node["op"] = "Const";
  node["attr"]["value"] = {{"dtype", value["dtype"]}, {"shape", value["shape"]}, {"data", value["data"]}};
  graph["node"] = json::array({node});
  Problems problems;
  const auto file = load(Source::from_text("value", graph.dump()), {}, problems);
  if (problems.empty()) validate(*file, problems);  // which types the value
  UNSCOPED_INFO(problems.to_string(*file->source));
  REQUIRE(problems.empty());
  return detached(file->graph.attrs(file->graph.find("c")).tensor("value")).take();  // the file owns the elements
}

/// Kernels of another library: equal but for a few last digits.
bool near(const Tensor& found, const Tensor& wanted) {
  if (same(found, wanted)) return true;
  if (found.dtype() != DType::kFloat || wanted.dtype() != DType::kFloat || !(found.shape() == wanted.shape()))
    return false;
  for (int64_t i = 0; i < found.num_elements(); ++i) {
    const double a = found.data<float>()[i], b = wanted.data<float>()[i];
    if (!(std::abs(a - b) <= 1e-6 * std::abs(b)) && !(std::isnan(a) && std::isnan(b))) return false;
  }
  return true;
}

std::string full_task(const std::string& target) { return DeviceName::parse(cat(target, "/replica:0"))->task_name(); }

/// One session of a recorded case.
struct Replayed {
  DeviceSet devices;
  Placement placement;
  std::unique_ptr<Session> session;
};

class RecordedCase {
 public:
  explicit RecordedCase(const json& recorded) : recorded_(recorded) {
    for (const auto& [job, count] : recorded["cluster"].items()) jobs_.emplace_back(job, count.get<int>());
    Problems problems;
    file_ = load(Source::from_text("recorded", recorded["graph"].dump()), {}, problems);
    if (problems.empty()) validate(*file_, problems);
    UNSCOPED_INFO(problems.to_string(*file_->source));
    REQUIRE(problems.empty());
  }

  void replay() {
    std::map<int, Replayed> open;
    for (const json& call : recorded_["calls"]) {
      INFO(call.dump());
      const int number = call["session"].get<int>();
      if (!open.contains(number) && !begin(call, open[number])) {
        open.erase(number);
        continue;
      }
      if (open[number].session) run(call, *open[number].session);
      if (call.value("close", false)) open.erase(number);
    }
  }

 private:
  Endpoint endpoint(const std::string& name) const {
    const size_t colon = name.find(':');
    const NodeId node = file_->graph.find(name.substr(0, colon));
    REQUIRE(node != kNoNode);
    return {node, colon == name.npos ? 0 : static_cast<uint32_t>(std::stoul(name.substr(colon + 1)))};
  }

  /// False: it could not be placed, as recorded.
  bool begin(const json& call, Replayed& made) {
    made.devices = cluster_devices(jobs_, recorded_["cpus_per_task"].get<int>(), 0, full_task(call["target"]));
    PlaceOptions options;
    options.allow_soft_placement = call.value("soft", false);
    std::vector<std::string> offenders;
    Result<Placement> placement = place(*file_, made.devices, options, offenders);
    const json& answer = call["answer"];
    if (!placement.ok()) {
      CHECK(code_name(placement.status().code()) == answer["status"]);
      CHECK(placement.status().message() == answer.value("message", ""));
      return false;
    }
    made.placement = placement.take();
    if (answer.contains("placement_log")) {
      std::string wanted;
      for (const json& line : answer["placement_log"]) append(wanted, line.get<std::string>(), '\n');
      CHECK(placement_lines(file_->graph, made.devices, made.placement) == wanted);
    }
    SessionOptions session;
    session.seed = 1;
    TaskStates own;  // config.isolate_session_state
    auto created = create_local_cluster(*file_, made.devices, made.placement, session, {},
                                        call.value("isolate", false) ? &own : &states_);
    REQUIRE(created.ok());
    made.session = created.take();
    return true;
  }

  void run(const json& call, Session& session) const {
    StepRequest request;
    std::vector<Tensor> feeds, outputs;
    for (const json& name : call.value("fetch", json::array())) request.fetches.push_back(endpoint(name));
    for (const json& name : call.value("run", json::array())) request.targets.push_back(endpoint(name).node);
    const json fed = call.value("feed", json::object());
    for (const auto& [name, value] : fed.items()) {
      request.feeds.push_back(endpoint(name));
      feeds.push_back(tensor_of(value));
    }
    const Status status = session.run_step(session.add_step(request), feeds, outputs);
    const json& answer = call["answer"];
    INFO(status.message());
    if (!status.ok()) return check_failure(status, answer);
    REQUIRE(answer["status"] == "OK");
    const json& wanted = answer.value("outputs", json::array());
    REQUIRE(outputs.size() == wanted.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      INFO(wanted[i]["name"]);
      CHECK(near(outputs[i], tensor_of(wanted[i])));
    }
  }

  static void check_failure(const Status& status, const json& answer) {
    CHECK(answer["status"] != "OK");
    if (!answer.contains("cause")) return;  // TensorFlow's text of a dead fetch speaks of its rendezvous
    CHECK(code_name(status.code()) == answer["status"]);
    const std::string task = DeviceName::parse(answer["failed_on"].get<std::string>())->task_name();
    // What follows names TensorFlow's own resource containers.
    constexpr std::string_view kInside = " Debug info:";
    const std::string cause = answer["cause"].get<std::string>(), text = status.message();
    const std::string wanted = cat("From ", task, ":\n", cause);
    // Of shapes, emplace speaks as TensorFlow's shape functions do, whenever it finds out.
    if (cause.starts_with("Matrix size-incompatible") || cause.starts_with("Input to reshape")) {
      CHECK(text.starts_with(cat("From ", task, ":\n")));
      CHECK(text.ends_with(cause.substr(cause.find("\n\t [["))));
      return;
    }
    CHECK(text.substr(0, text.find(kInside)) == wanted.substr(0, wanted.find(kInside)));
  }

  const json& recorded_;
  JobCounts jobs_;
  std::unique_ptr<GraphFile> file_;
  TaskStates states_;
};

}  // namespace

TEST_CASE("what TensorFlow's servers answered is what tasks of one process answer") {
  const json recorded = json::parse(read_gz("cluster/runs.json.gz"));
  for (const json& one : recorded["cases"]) {
    INFO(one["name"]);
    RecordedCase(one).replay();
  }
}
