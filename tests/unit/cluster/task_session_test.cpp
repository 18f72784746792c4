// What other tasks send is checked against the graph: types, shapes, numbers of nodes.
#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "core/run/exchange.h"
#include "tests/unit/cluster/cluster_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// Every piece that arrives is this one.
class OnePiece final : public Exchange {
 public:
  explicit OnePiece(Piece piece) : piece_(std::move(piece)) {}
  Status agree(const std::string& /*program_hash*/) override { return ok_status(); }
  const std::string& task_name(TaskId /*task*/) const override { return name_; }
  Status send(const Transfer& /*transfer*/, const Piece& /*piece*/, const StopSignal& /*stop*/) override {
    return ok_status();
  }
  Result<Piece> receive(const Transfer& /*transfer*/, uint64_t /*iteration*/, const StopSignal& /*stop*/) override {
    return piece_;
  }

 private:
  const Piece piece_;
  const std::string name_ = "/job:worker/replica:0/task:1";
};

/// Worker 0's part of "y = -x", where x, two floats, comes from worker 1.
Status step_with(Tensor value) {
  ClusterCase c(cat(R"({"node": [)", one_node("x", "Const", "", "\"/job:worker/task:1\"", R"({"value": [1.0, 2.0]})"),
                    ",", one_node("s", "Square", R"("x")", "\"/job:worker/task:1\""), ",",
                    one_node("y", "Neg", R"("s")", "\"/job:worker/task:0\""), "]}"),
                "worker=2");
  OnePiece exchange({std::move(value), false});
  const TaskMap tasks(c.devices);
  const TaskId self = tasks.find("/job:worker/replica:0/task:0");
  const DeviceSet own = devices_of_task(c.devices, tasks, self);
  const TaskShare share(c.devices, self, exchange);
  SessionOptions options = c.options({"y"});
  options.share = &share;
  auto session = Session::create(*c.file, own, c.placement, options);
  REQUIRE(session.ok());
  std::vector<Tensor> outputs;
  return (*session)->step(outputs);
}

}  // namespace

TEST_CASE("a piece of another type or shape than the graph says is refused") {
  CHECK(step_with(Tensor::of<float>(Shape{2}, std::vector<float>{3, 4})).ok());
  const Status type = step_with(Tensor::of<int64_t>(Shape{2}, std::vector<int64_t>{3, 4}));
  CHECK(type.code() == Code::kDataLoss);
  CHECK(type.message() == "another task sent int64[2] for s:0, which is float32[2]");
  const Status shape = step_with(Tensor::of<float>(Shape{3}, std::vector<float>{3, 4, 5}));
  CHECK(shape.code() == Code::kDataLoss);
  CHECK(step_with(Tensor()).code() == Code::kDataLoss);
}
