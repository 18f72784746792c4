/// A session that does nothing, for tests of what runs sessions: they override what they look at.
#pragma once

#include <utility>
#include <vector>

#include "core/run/session.h"

namespace emplace {

class IdleSession : public Session {
 public:
  Status run_nodes(const std::vector<NodeId>&) override { return ok_status(); }
  Status step(std::vector<Tensor>&) override { return ok_status(); }
  int add_step(StepRequest, int) override { return 0; }
  Status plan_step(int, const std::vector<Tensor>&) override { return ok_status(); }
  Status run_observed(int, const std::vector<Tensor>&, RunObserver&) override { return ok_status(); }
  Result<Tensor> variable(NodeId) override { return Tensor(); }
  Status set_variable(NodeId, const Tensor&) override { return ok_status(); }
  Status share_variable(NodeId, const Tensor&) override { return ok_status(); }
  Result<std::optional<TableContents>> table(NodeId) override { return std::optional<TableContents>(); }
  Status set_table(NodeId, const TableContents&) override { return ok_status(); }
  std::vector<std::pair<NodeId, uint64_t>> random_counters() const override { return {}; }
  void set_random_counter(NodeId, uint64_t) override {}
  const DeviceSet& devices() const override { return devices_; }
  std::vector<DeviceMemory> memory() const override { return {}; }
  double copy_seconds() const override { return 0; }
  int64_t copies_per_step() const override { return 0; }
  int64_t copy_bytes_per_step() const override { return 0; }

 private:
  const DeviceSet devices_;
};

}  // namespace emplace
