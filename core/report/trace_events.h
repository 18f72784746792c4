/// TraceEvents: the events of a trace as a document in Chrome's trace format, one a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/base/schema.h"

namespace emplace {

class TraceEvents {
 public:
  TraceEvents()
      : out_(cat("{\"schema_version\": ", schema_version(Document::kTrace),
                 ", \"displayTimeUnit\": \"ns\", \"traceEvents\": [")) {}

  /// `members(JsonWriter&)` writes the members of the event's object.
  template <class F>
  void add(const F& members) {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
    JsonWriter json(out_);
    json.begin_object();
    members(json);
    json.end_object();
  }

  /// `what`: process_name, or thread_name for a line of a process.
  void add_name(std::string_view what, int64_t process, int64_t line, const std::string& name) {
    add([&](JsonWriter& json) {
      json.member("ph", "M").member("name", what).member("pid", process).member("tid", line);
      json.key("args").begin_object().member("name", name).end_object();
    });
  }

  /// The whole document. `other_data`: JSON members that are about the trace as a whole; may be empty.
  std::string finish(std::string_view other_data) {
    out_ += "\n]";
    if (!other_data.empty()) append(out_, ", \"otherData\": {", other_data, "}");
    return std::move(out_) + "}\n";
  }

 private:
  std::string out_;
  bool first_ = true;
};

}  // namespace emplace
