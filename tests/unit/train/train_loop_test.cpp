// A loop that goes on after the loss of a task.
#include "core/train/train_loop.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/base/cat.h"
#include "core/base/exit_code.h"
#include "core/train/train_options.h"
#include "tests/unit/train/idle_session.h"

namespace emplace {
namespace {

constexpr int kTrained = 0, kEvaluated = 2;  // callables, as the loop declares them

/// The loss of a batch is its mean. The evaluation fails so often, by the loss of a task.
class LossySession final : public IdleSession {
 public:
  explicit LossySession(int losses) : losses_(losses) {}
  Status run_step(int callable, const std::vector<Tensor>& feeds, std::vector<Tensor>& outputs) override {
    if (callable == kEvaluated && losses_-- > 0) return unavailable("peer lost").blamed(kBlamePeer);
    float sum = 0;
    for (const float x : feeds[0].flat<float>()) sum += x;
    const std::vector<float> mean = {sum / static_cast<float>(feeds[0].num_elements())};
    outputs = {Tensor::of<float>(Shape{}, mean)};
    if (callable == kTrained) std::this_thread::sleep_for(std::chrono::milliseconds(2)), copied_s_ += 0.001;
    return ok_status();
  }
  int add_step(StepRequest, int) override { return callables_++; }
  double copy_seconds() const override { return copied_s_; }

 private:
  int losses_, callables_ = 0;
  double copied_s_ = 0;
};

/// "1:3" of step 1 with loss 3, "epoch 1:4" of its mean.
class Heard final : public TrainListener {
 public:
  Status step(const StepRecord& r) override { return lines.push_back(cat(r.step, ":", r.loss)), ok_status(); }
  Status epoch(const EpochRecord& r) override {
    return lines.push_back(cat("epoch ", r.epoch, ":", r.mean_loss)), ok_status();
  }
  std::vector<std::string> lines;
};

/// Two epochs of two steps, on 1, 2, 3, 4.
class TwoEpochs {
 public:
  TwoEpochs() {
    const auto csv = std::filesystem::temp_directory_path() / cat("emplace_train_loop_", getpid(), ".csv");
    std::ofstream(csv) << "1\n2\n3\n4\n";
    Problems found;
    file_ = load(Source::from_text((csv.parent_path() / "g.json").string(),
                                   cat(R"({"node": [{"name": "x", "op": "Placeholder", "attr":
        {"dtype": "float32", "shape": [-1]}}], "data": {"train": {"file": ")",
                                       csv.filename().string(), R"(", "feed": {"x": "0"}}}})")),
                 {}, found);
    validate(*file_, found);
    DataRequest data;
    read_train_keys(*file_, {}, request_, data, found);
    REQUIRE(found.to_string(*file_->source) == "");
    DataProblems problems;
    data_ = Dataset::read(*file_, *data.train, "train", problems);
    REQUIRE(problems.files + problems.graph.to_string(*file_->source) == "");
    std::filesystem::remove(csv);
    request_.batch = 2, request_.epochs = 2, request_.shuffle = false;
    graph_.metrics = {{"mean", Endpoint{}}};
  }

  Status run(Session& session, const Checkpoint* from, TrainListener& listener, TrainResult& result) const {
    TrainSetup setup;
    setup.file = file_.get(), setup.request = &request_, setup.graph = &graph_;
    setup.train = setup.test = data_.get();
    setup.restored = from, setup.keeps_state = true;
    TrainLoop loop(setup, listener);
    RETURN_IF_ERROR(loop.prepare(session));
    return loop.run(session, result);
  }

 private:
  std::unique_ptr<GraphFile> file_;
  std::unique_ptr<Dataset> data_;
  TrainRequest request_;
  TrainGraph graph_;
};

}  // namespace

TEST_CASE("a step that is repeated after a loss is told once, and its epoch's mean is that of all steps") {
  const TwoEpochs training;
  TrainResult result;
  Heard heard;
  LossySession first(1), second(0);
  const Status lost = training.run(first, nullptr, heard, result);
  CHECK(lost.blame() == kBlamePeer);
  CHECK(heard.lines == std::vector<std::string>{"1:1.5", "2:3.5"});
  REQUIRE(result.state);
  const Checkpoint state = std::move(*result.state);
  CHECK(state.step == 1);
  const TrainResult before = result;

  REQUIRE(training.run(second, &state, heard, result).message() == "");
  CHECK(heard.lines == std::vector<std::string>{"1:1.5", "2:3.5", "epoch 1:2.5", "3:1.5", "4:3.5", "epoch 2:2.5"});
  CHECK(result.total_s >= before.total_s + 0.006);
  CHECK(result.compute_s >= before.compute_s + 0.006);
  CHECK(result.copy_s == Approx(0.005));
  CHECK(result.waiting_s > before.waiting_s);
  CHECK(result.compute_s + result.waiting_s <= result.total_s);
}

}  // namespace emplace
