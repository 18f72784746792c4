/// Observers of a run behind command line options: TensorFlow's eager log, and the search for NaN and infinities.
#pragma once

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/place/placement.h"
#include "core/run/observer.h"

namespace emplace {

/// "Executing op MatMul in device /job:..." as each op starts (--log-style eager). A constant is made once, by
/// _EagerConst; without a word where it was asked for on the host, on which it is to begin with.
class EagerLog final : public RunObserver {
 public:
  using Write = std::function<void(const std::string& line)>;
  EagerLog(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options, Write write)
      : graph_(graph), devices_(devices), options_(options), write_(std::move(write)) {}
  bool needs_values() const override { return false; }
  void starting(const ObservedInstruction& what) override;
  Status finished(const ObservedInstruction& what, std::span<const Tensor> outputs) override;

 private:
  void say(std::string_view op, DeviceId device) const;

  const Graph& graph_;
  const DeviceSet& devices_;
  const PlaceOptions& options_;
  Write write_;
  std::set<NodeId> constants_;  // that are made
};

/// Looks for NaN and infinities in every output (--check-numerics).
class NumericsCheck final : public RunObserver {
 public:
  /// `stop`: the first such node ends the step with FailedPrecondition; else each is told to `report` once.
  NumericsCheck(const Graph& graph, const DeviceSet& devices, bool stop, std::function<void(const std::string&)> report)
      : graph_(graph), devices_(devices), stop_(stop), report_(std::move(report)) {}
  Status finished(const ObservedInstruction& what, std::span<const Tensor> outputs) override;
  int64_t nodes_found() const { return static_cast<int64_t>(seen_.size()); }

 private:
  const Graph& graph_;
  const DeviceSet& devices_;
  bool stop_;
  std::function<void(const std::string&)> report_;
  std::set<NodeId> seen_;
};

/// Several of them, in order.
class ObserverList final : public RunObserver {
 public:
  void add(RunObserver* observer) { observers_.push_back(observer); }
  bool empty() const { return observers_.empty(); }
  bool needs_values() const override {
    return std::any_of(observers_.begin(), observers_.end(), [](RunObserver* o) { return o->needs_values(); });
  }
  void starting(const ObservedInstruction& what) override {
    for (RunObserver* o : observers_) o->starting(what);
  }
  Status finished(const ObservedInstruction& what, std::span<const Tensor> outputs) override {
    for (RunObserver* o : observers_) RETURN_IF_ERROR(o->finished(what, outputs));
    return ok_status();
  }
  bool has_replaced() override {
    bool any = false;
    for (RunObserver* o : observers_) any |= o->has_replaced();
    return any;
  }

 private:
  std::vector<RunObserver*> observers_;
};

/// "2 NaN and 1 infinite of 6 elements, first at flat index 3", or empty if every element is finite.
std::string non_finite_text(const Tensor& tensor);

}  // namespace emplace
