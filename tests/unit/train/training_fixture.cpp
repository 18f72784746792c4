#include "tests/unit/train/training_fixture.h"

#include "core/base/cat.h"
#include "core/cluster/local_cluster.h"
#include "core/device/make_device_set.h"
#include "core/place/placement.h"
#include "core/tensor/element.h"
#include "core/train/train_options.h"
#include "tests/unit/cluster/cluster_case.h"
#include "tests/unit/read_gz.h"

namespace emplace {
namespace {

using nlohmann::json;

json node(const std::string& name, const std::string& op, std::vector<std::string> inputs, json attr = json::object()) {
  return {{"name", name}, {"op", op}, {"input", inputs}, {"attr", attr}};
}

json value(const std::string& dtype, std::vector<int64_t> shape, const char* key) {
  return {{"dtype", dtype}, {"shape", shape}, {"data", optimizer_curves()[key]}};
}

// mean((x w + b - y)^2)
json regression(const Training::Setup& s) {
  auto variable = [&](const char* name, std::vector<int64_t> shape) {
    return json{{"name", name},
                {"op", "Variable"},
                {"initial_value", value(s.dtype, std::move(shape), name)},
                {"resource", s.resource}};
  };
  json g;
  g["node"] = {node("x", "Placeholder", {}, {{"dtype", s.dtype}, {"shape", {-1, 3}}}),
               node("y", "Placeholder", {}, {{"dtype", s.dtype}, {"shape", {-1, 2}}}),
               variable("w", {3, 2}),
               variable("b", {2}),
               node("product", "MatMul", {"x", "w"}),
               node("guess", "BiasAdd", {"product", "b"}),
               node("error", "Sub", {"guess", "y"}),
               node("square", "Square", {"error"}),
               node("axes", "Const", {}, {{"value", {{"dtype", "int32"}, {"data", {0, 1}}}}}),
               node("loss", "Mean", {"square", "axes"})};
  g["feed"] = {{"x", value(s.dtype, {8, 3}, "x")}, {"y", value(s.dtype, {8, 2}, "y")}};
  g["train"] = s.train;
  g["train"]["loss"] = "loss";
  return g;
}

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out;
  with_type(t.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      out.assign(t.flat<T>().begin(), t.flat<T>().end());
  });
  return out;
}

}  // namespace

const json& optimizer_curves() {
  static const json curves = json::parse(read_gz("training/optimizer_curves.json.gz"));
  return curves;
}

Training::Training(const Setup& setup) {
  Problems problems;
  source_ = Source::from_text("g.json", regression(setup).dump());
  file_ = load(source_, {}, problems);
  if (problems.empty()) validate(*file_, problems);
  TrainRequest request;
  DataRequest data;
  if (problems.empty()) read_train_keys(*file_, {}, request, data, problems);
  if (problems.empty()) check_train_request(*file_, request, problems);
  REQUIRE(problems.to_string(*source_) == "");

  devices_ = make_devices(setup);
  std::vector<std::string> notes;
  request.replication.strategy = setup.strategy, request.replication.ps = setup.ps;
  REQUIRE(resolve_replication(devices_, false, request.replication, notes).message() == "");
  add_training(*file_, request, training_, problems);
  REQUIRE(problems.to_string(*source_) == "");

  std::vector<std::string> details;
  Result<Placement> placement = place(*file_, devices_, {}, details);
  REQUIRE(placement.status().message() == "");
  placement_ = std::make_unique<Placement>(placement.take());
  SessionOptions session;
  session.fetches = {training_.loss};
  session.targets = training_.targets;
  for (const auto& [name, tensor] : file_->feed)
    session.feeds.emplace_back(Endpoint{graph().find(name.name), 0}, tensor);
  Result<std::unique_ptr<Session>> made = setup.jobs.empty()
                                              ? Session::create(*file_, devices_, *placement_, std::move(session))
                                              : create_local_cluster(*file_, devices_, *placement_, session);
  REQUIRE(made.status().message() == "");
  session_ = made.take();
  REQUIRE(session_->run_nodes(training_.init).message() == "");
}

DeviceSet Training::make_devices(const Setup& setup) const {
  if (!setup.jobs.empty()) {
    return testing::cluster_devices(parse_job_counts(setup.jobs, "jobs").take(), 1, setup.gpus,
                                    "/job:worker/replica:0/task:0");
  }
  DeviceOptions options;
  options.simulate_gpus = setup.gpus;
  std::vector<std::string> notes;
  Result<DeviceSet> devices = make_device_set(
      options, [](const char*) -> const char* { return nullptr; }, notes);
  REQUIRE(devices.status().message() == "");
  return devices.take();
}

std::vector<double> Training::run(int steps) {
  std::vector<double> losses;
  std::vector<Tensor> outputs;
  for (int i = 0; i < steps; ++i) {
    REQUIRE(session_->step(outputs).message() == "");
    losses.push_back(numbers(outputs[0]).at(0));
  }
  return losses;
}

Tensor Training::variable(std::string_view name) const {
  INFO(name);
  const NodeId node = graph().find(name);
  REQUIRE(node != kNoNode);
  Result<Tensor> value = session_->variable(node);
  REQUIRE(value.status().message() == "");
  return value.take();
}

std::vector<double> Training::values(std::string_view name) const { return numbers(variable(name)); }

std::string Training::device_of(std::string_view node) const {
  const NodeId id = graph().find(node);
  return id == kNoNode ? "" : devices_.at(placement_->device(id)).parsed.local_name();
}

std::string Training::task_of(std::string_view node) const {
  const NodeId id = graph().find(node);
  return id == kNoNode ? "" : devices_.at(placement_->device(id)).parsed.task_name();
}

void check_close(const std::vector<double>& a, const std::vector<double>& b, double rtol) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    INFO("element " << i);
    CHECK(std::abs(a[i] - b[i]) <= rtol * std::max(std::abs(b[i]), 0.05));
  }
}

}  // namespace emplace
