#include "core/report/trace_report.h"

#include <map>
#include <utility>

#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/base/schema.h"
#include "core/device/device_text.h"

namespace emplace {
namespace {

class TraceWriter {
 public:
  TraceWriter(const Graph& graph, const DeviceSet& devices, const TraceRecorder& trace, const Origins* origins)
      : graph_(graph), devices_(devices), trace_(trace), origins_(origins) {}

  std::string write() {
    out_ = cat("{\"schema_version\": ", schema_version(Document::kTrace),
               ", \"displayTimeUnit\": \"ns\", \"traceEvents\": [");
    for (const Span& span : trace_.spans()) lanes_.try_emplace(lane_of(span), 0);
    int lane = 0;
    for (auto& [key, id] : lanes_) write_lane(key, id = lane++);
    for (const Span& span : trace_.spans()) write_span(span);
    out_ += "\n]";
    if (trace_.left_out() > 0) append(out_, ", \"otherData\": {\"spans_left_out\": ", trace_.left_out(), "}");
    return out_ + "}\n";
  }

 private:
  /// Copies' lanes come after the devices': kNoDevice is greater than all.
  using Lane = std::pair<DeviceId, std::pair<DeviceId, DeviceId>>;

  static Lane lane_of(const Span& span) {
    if (!span.what.is_copy()) return {span.what.device, {}};
    return {kNoDevice, {span.what.from, span.what.device}};
  }

  template <class F>
  void event(const F& members) {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
    JsonWriter json(out_);
    json.begin_object();
    members(json);
    json.end_object();
  }

  void write_lane(const Lane& lane, int id) {
    auto name = [&](DeviceId d) { return short_device_name(devices_, d); };
    bool copies = lane.first == kNoDevice;
    std::string text =
        copies ? cat("copies ", name(lane.second.first), " -> ", name(lane.second.second)) : name(lane.first);
    event([&](JsonWriter& json) {
      json.member("ph", "M").member("name", "thread_name").member("pid", 0).member("tid", id);
      json.key("args").begin_object().member("name", text).end_object();
    });
  }

  void write_span(const Span& span) {
    event([&](JsonWriter& json) {
      json.member("ph", "X").member("pid", 0).member("tid", lanes_.at(lane_of(span)));
      json.member("name", graph_.name(span.what.node))
          .member("cat", span.what.is_copy() ? "copy" : graph_.op(span.what.node));
      json.member("ts", static_cast<double>(span.start_ns) / 1e3)
          .member("dur", static_cast<double>(span.end_ns - span.start_ns) / 1e3);
      json.key("args").begin_object().key("step");
      span.step == TraceRecorder::kInitStep ? json.value("init") : json.value(span.step);
      json.member("bytes", span.bytes);
      if (origins_ && origins_->of(span.what.node) != Origins::kFile)
        json.member("origin", origins_->text(span.what.node));
      json.end_object();
    });
  }

  const Graph& graph_;
  const DeviceSet& devices_;
  const TraceRecorder& trace_;
  const Origins* const origins_;
  std::map<Lane, int> lanes_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string trace_json(const Graph& graph, const DeviceSet& devices, const TraceRecorder& trace,
                       const Origins* origins) {
  return TraceWriter(graph, devices, trace, origins).write();
}

}  // namespace emplace
