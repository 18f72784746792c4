/// --step-report: where the time of steps went, task by task: computing, copies, what was sent to other tasks, waiting
/// for what comes from them, and the rest. Its parts add up to the step.
#pragma once

#include <string>
#include <vector>

#include "core/base/json_writer.h"
#include "core/device/device.h"
#include "core/report/trace_slice.h"

namespace emplace {

/// A mean over steps, in microseconds.
struct TaskTimes {
  std::string task;
  double compute_us = 0, copy_us = 0, send_us = 0, wait_us = 0, other_us = 0;
  std::string waits_for;  // the task that it waited for longest; empty: for none
};
struct StepReport {
  int64_t steps = 0;
  double step_us = 0;  // from the first slice of a step to its last
  std::vector<TaskTimes> tasks;
  std::string slowest;  // the task that waited least
};

/// Of the steps that the slices are of, without what ran before the first. Where several threads of a task compute at a
/// time, that time counts once.
StepReport step_report(const DeviceSet& devices, const std::vector<TraceSlice>& slices);

std::string step_report_text(const StepReport& report);
void write_step_report(JsonWriter& json, const StepReport& report);

}  // namespace emplace
