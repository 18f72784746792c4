#include "cli/task_progress.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/device/device_name.h"

namespace emplace {
namespace {

constexpr size_t kMostShown = 12;

/// "worker/1", "worker/1 GPU:0"
std::string short_name(const std::string& name, bool with_device) {
  const auto parsed = DeviceName::parse(name);
  if (!parsed || !parsed->job) return name;
  std::string text = cat(*parsed->job, "/", parsed->task.value_or(0));
  if (with_device && parsed->type && *parsed->type != "CPU")
    append(text, " ", *parsed->type, ":", parsed->id.value_or(0));
  return text;
}

}  // namespace

void TaskProgress::train_on(const std::vector<std::string>& replicas) {
  towers_.clear();
  for (const std::string& replica : replicas) towers_.push_back(short_name(replica, true));
}

Status TaskProgress::step(const StepRecord& record) {
  if (record.tower >= 0) {
    const auto tower = static_cast<size_t>(record.tower);
    ++steps_[tower < towers_.size() ? towers_[tower] : cat(tower)];
    return ok_status();
  }
  for (Busy* busy : {&for_lines_, &for_bar_}) {
    int64_t longest = 0;
    for (const message::TrafficMessage& task : cluster_.traffic()) {
      busy->busy_ns[short_name(task.task, false)] += std::max<int64_t>(task.time_ns - task.wait_ns, 0);
      longest = std::max(longest, task.time_ns);
    }
    busy->time_ns += longest;
  }
  return ok_status();
}

std::string TaskProgress::text(bool for_line) {
  Busy& busy = for_line ? for_lines_ : for_bar_;
  if (steps_.empty() && busy.time_ns == 0) return busy.text;
  std::string text = steps_.empty() ? "busy:" : "steps:";
  size_t shown = 0;
  const auto add = [&](const std::string& name, int64_t value, const char* unit) {
    if (++shown <= kMostShown) append(text, shown > 1 ? ", " : " ", name, " ", value, unit);
  };
  for (const auto& [tower, steps] : steps_) add(tower, steps, "");
  for (const auto& [task, ns] : busy.busy_ns)
    add(task, (100 * ns + busy.time_ns / 2) / std::max<int64_t>(busy.time_ns, 1), " %");
  if (shown > kMostShown) append(text, ", and ", shown - kMostShown, " more");
  busy = {{}, 0, text};
  return text;
}

}  // namespace emplace
