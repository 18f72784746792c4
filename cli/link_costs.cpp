#include "cli/link_costs.h"

#include <algorithm>

#include "cli/elapsed.h"
#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/base/units.h"
#include "core/report/bench/statistics.h"
#include "core/run/trace.h"

namespace emplace {
namespace {

constexpr int64_t kSmallest = 4096, kLargest = 64 * kMiB, kFactor = 4;
constexpr int kLeastSteps = 9;
constexpr double kSeconds = 0.1;

struct Way {
  DeviceId from, to;
};

/// A graph whose steps copy tensors of these sizes each way.
struct LinkGraph {
  std::string text = "{\"node\": [";
  std::vector<std::string> targets;

  LinkGraph(const DeviceSet& devices, const std::vector<Way>& ways, const std::vector<int64_t>& sizes) {
    for (const Way& way : ways) {
      for (const int64_t bytes : sizes) {
        const size_t i = targets.size();
        append(text, i > 0 ? ",\n" : "", "{\"name\": \"from", i, "\", \"op\": \"Variable\", \"resource\": true, ",
               "\"initial_value\": {\"dtype\": \"float32\", \"shape\": [", bytes / 4, "], \"fill\": 1}, \"device\": \"",
               devices.at(way.from).name, "\"},\n{\"name\": \"to", i, "\", \"op\": \"Identity\", \"input\": [\"from", i,
               "\"], \"device\": \"", devices.at(way.to).name, "\"}");
        targets.push_back(cat("to", i));
      }
    }
    text += "]}";
  }
};

/// Such a graph, ready to run.
class LinkRun {
 public:
  LinkRun(const StageContext& of, const LinkGraph& graph, RunObserver* observer)
      : context_(options(of, graph), "links", quiet_, of.stop) {
    quiet_.set_level(LogLevel::kOff);
    context_.found.source = Source::from_text("links", graph.text);
    context_.observer = observer;
  }

  Status prepare() {
    ASSIGN_OR_RETURN(const Loaded loaded, load_graph(context_));
    ASSIGN_OR_RETURN(const Runnable runnable, validate_run(context_, loaded));
    ASSIGN_OR_RETURN(const Placed placed, place_to_run(context_, runnable));
    ASSIGN_OR_RETURN(const Partitioned partitioned, partition_graph(context_, placed));
    RETURN_IF_ERROR(partitioned.verdict);
    ASSIGN_OR_RETURN(planned_, plan_run(context_, partitioned, runnable.request));
    RETURN_IF_ERROR(start_state(context_, *planned_, runnable.request));
    return planned_->session->step(outputs_);
  }

  /// Times of steps.
  Result<std::vector<double>> run(TraceRecorder* recorder) {
    std::vector<double> us;
    const auto start = Clock::now();
    for (int64_t i = 0; i < kLeastSteps || us_since(start) < kSeconds * 1e6; ++i) {
      if (recorder) recorder->begin_step(i);
      const auto step = Clock::now();
      RETURN_IF_ERROR(planned_->session->step(outputs_));
      us.push_back(us_since(step));
      RETURN_IF_ERROR(stop_status());
    }
    return us;
  }

  const Graph& graph() const { return planned_->file->graph; }

 private:
  static PipelineOptions options(const StageContext& of, const LinkGraph& graph) {
    PipelineOptions o;
    o.devices = of.options.devices;
    o.host_memory_limit = of.options.host_memory_limit;
    o.run.timeout_s = of.options.run.timeout_s;
    o.run.inter_op_threads = of.options.run.inter_op_threads;
    o.run.intra_op_threads = of.options.run.intra_op_threads;
    o.run.target = graph.targets;
    return o;
  }

  Log quiet_;
  StageContext context_;
  std::optional<Planned> planned_;
  std::vector<Tensor> outputs_;
};

Status measure_way(const StageContext& of, const DeviceSet& devices, const Way& way, const std::vector<int64_t>& sizes,
                   std::vector<CopyCost>& links) {
  TraceRecorder recorder;
  LinkRun run(of, LinkGraph(devices, {way}, sizes), &recorder);
  RETURN_IF_ERROR(run.prepare());
  RETURN_IF_ERROR(run.run(&recorder).status());
  for (const CopyCost& copy : step_costs(run.graph(), recorder).copies) {
    if (copy.from == way.from && copy.to == way.to) links.push_back(copy);
  }
  return ok_status();
}

/// What each takes while the other is under way, too: of large ones, the step that has both.
Status measure_both_ways(const StageContext& of, const DeviceSet& devices, const Way& way, int64_t bytes,
                         std::vector<CopyCost>& links) {
  const Way back{way.to, way.from};
  LinkRun run(of, LinkGraph(devices, {way, back}, {bytes}), nullptr);
  RETURN_IF_ERROR(run.prepare());
  ASSIGN_OR_RETURN(const std::vector<double> us, run.run(nullptr));
  const double median = median_of(us), spread = median > 0 ? median_deviation(us) / median : 0;
  for (const Way& one : {way, back})
    links.push_back({kNoNode, one.from, one.to, median, spread, bytes, 1, static_cast<int64_t>(us.size())});
  return ok_status();
}

/// Of sizes that take too much memory, the largest are left out.
template <class Measure>
Status with_room(std::vector<int64_t> sizes, const Measure& measure) {
  while (!sizes.empty()) {
    Status status = measure(sizes);
    if (status.code() != Code::kResourceExhausted) return status;
    sizes.pop_back();
  }
  return ok_status();
}

}  // namespace

Result<std::vector<CopyCost>> measure_links(const StageContext& of) {
  const DeviceSet& devices = *of.found.devices;
  std::vector<DeviceId> gpus;
  DeviceId host = kNoDevice;
  for (DeviceId d = 0; d < devices.size(); ++d) {
    if (!devices.is_local(d)) continue;
    if (devices.at(d).type == "GPU") gpus.push_back(d);
    if (devices.at(d).type == "CPU" && host == kNoDevice) host = d;
  }
  std::vector<CopyCost> links;
  if (gpus.empty() || host == kNoDevice) return links;
  std::vector<int64_t> sizes;
  for (int64_t bytes = kSmallest; bytes < kLargest; bytes *= kFactor) sizes.push_back(bytes);
  sizes.push_back(kLargest);
  std::vector<Way> ways{{host, gpus[0]}, {gpus[0], host}};
  if (gpus.size() > 1) ways.push_back({gpus[0], gpus[1]});
  for (const Way& way : ways) {
    RETURN_IF_ERROR(
        with_room(sizes, [&](const std::vector<int64_t>& fit) { return measure_way(of, devices, way, fit, links); }));
  }
  if (devices.at(gpus[0]).kind != DeviceKind::kCuda) return links;  // of others, copies follow each other
  for (const int64_t bytes : {4 * kMiB, 16 * kMiB, 64 * kMiB}) {
    RETURN_IF_ERROR(with_room({bytes}, [&](const std::vector<int64_t>& fit) {
      return measure_both_ways(of, devices, ways[0], fit[0], links);
    }));
  }
  return links;
}

}  // namespace emplace
