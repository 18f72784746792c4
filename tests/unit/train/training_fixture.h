/// A small regression, trained in the process: for tests of optimizers and strategies.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/run/session.h"
#include "core/train/training_graph.h"

namespace emplace {

/// Recorded curves: inputs, first values, and a case an optimizer.
const nlohmann::json& optimizer_curves();

class Training {
 public:
  struct Setup {
    nlohmann::json train;  // the `train` key, without `loss`
    std::string dtype = "float32";
    bool resource = false;
    Strategy strategy = Strategy::kNone;
    int gpus = 0;           // simulated ones, and as many replicas
    std::string jobs = {};  // "ps=2,worker=2": on these tasks instead, threads of this process; worker 0 is the master
    std::string ps = {};    // as --ps
  };
  explicit Training(const Setup& setup);

  /// Losses of so many steps over all rows.
  std::vector<double> run(int steps);
  /// All elements of a variable, as they are now.
  std::vector<double> values(std::string_view variable) const;
  Tensor variable(std::string_view name) const;
  const Graph& graph() const { return file_->graph; }
  Session& session() { return *session_; }
  const TrainGraph& training() const { return training_; }
  std::string device_of(std::string_view node) const;
  /// "/job:ps/replica:0/task:0".
  std::string task_of(std::string_view node) const;

 private:
  DeviceSet make_devices(const Setup& setup) const;

  std::shared_ptr<const Source> source_;
  std::unique_ptr<GraphFile> file_;
  TrainGraph training_;
  DeviceSet devices_;
  std::unique_ptr<Placement> placement_;
  std::unique_ptr<Session> session_;
};

/// |a - b| <= rtol * max(|b|, 0.05), element by element: what lies near zero is a difference of larger numbers.
void check_close(const std::vector<double>& a, const std::vector<double>& b, double rtol);

}  // namespace emplace
