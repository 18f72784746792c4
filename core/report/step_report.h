/// --step-report: where the time of steps went, task by task: computing, copies, what was sent to other tasks, what
/// came from them, waiting until it was sent, and the rest. These add up to the step. Beside them, how long gradients
/// took to meet, and how much of that computing hid.
#pragma once

#include <string>
#include <vector>

#include "core/base/json_writer.h"
#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/report/trace_slice.h"

namespace emplace {

/// A mean over steps, in microseconds.
struct TaskTimes {
  std::string task;
  double compute_us = 0, copy_us = 0, send_us = 0, receive_us = 0, wait_us = 0, other_us = 0;
  std::string waits_for;  // the task that it waited for longest; empty: for none
  /// Of buckets of gradients (core/partition/bucket_order.h), each from its first gradient's being sent until the last
  /// mean was there; and the part of it that the task computed in.
  double all_reduce_us = 0, all_reduce_hidden_us = 0;
};
struct StepReport {
  int64_t steps = 0;
  double step_us = 0;  // from the first slice of a step to its last
  std::vector<TaskTimes> tasks;
  std::string slowest;  // the task that waited least
};

/// Of the steps that the slices are of, without what ran before the first. Where several threads of a task compute at a
/// time, that time counts once.
StepReport step_report(const Graph& graph, const DeviceSet& devices, const std::vector<TraceSlice>& slices);

std::string step_report_text(const StepReport& report);
/// The members of a document that has more.
void write_step_report(JsonWriter& json, const StepReport& report);
std::string step_report_json(const StepReport& report);

}  // namespace emplace
