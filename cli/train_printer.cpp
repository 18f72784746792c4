#include "cli/train_printer.h"

#include "cli/command.h"
#include "cli/outputs.h"
#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/base/sha256.h"
#include "core/base/units.h"
#include "core/report/run_report.h"
#include "core/report/step_report.h"
#include "core/run_watch.h"
#include "core/train/train_reports.h"

namespace emplace {
namespace {

template <class F>
void record(const F& members) {
  std::string line;
  JsonWriter json(line);
  json.begin_object();
  members(json);
  json.end_object();
  print(line + "\n");
}

/// As short as the type of the loss allows.
void write_number(JsonWriter& json, double v) {
  auto narrow = static_cast<float>(v);
  static_cast<double>(narrow) == v || v != v ? json.value(narrow) : json.value(v);
}

void write_metrics(JsonWriter& json, const std::vector<std::string>& names, const std::vector<double>& values) {
  json.key("metrics").begin_object();
  for (size_t i = 0; i < values.size(); ++i) {
    json.key(names[i]);
    write_number(json, values[i]);
  }
  json.end_object();
}

void write_staleness(JsonWriter& json, const TrainResult& result) {
  json.key("staleness").begin_object();
  for (const auto& [updates, steps] : result.staleness) json.member(std::to_string(updates), steps);
  json.end_object().key("tower_steps").begin_array();
  for (int64_t steps : result.tower_steps) json.value(steps);
  json.end_array();
}

}  // namespace

std::vector<std::string> TrainPrinter::metric_names() const {
  return made_.trainable ? made_.trainable->metric_names() : std::vector<std::string>();
}

void TrainPrinter::begin() {
  if (format_ != Format::kJsonl) return;
  record([&](JsonWriter& json) {
    write_schema(json.member("event", "begin"), Document::kTrainingRecords).member("file", c_.path);
  });
}

Status TrainPrinter::step(const StepRecord& r) {
  if (format_ != Format::kJsonl) return ok_status();
  record([&](JsonWriter& json) {
    json.member("event", "step").member("epoch", r.epoch).member("step", r.step).key("loss");
    write_number(json, r.loss);
  });
  return ok_status();
}

Status TrainPrinter::epoch(const EpochRecord& r) {
  if (format_ != Format::kJsonl) return ok_status();
  record([&](JsonWriter& json) {
    json.member("event", "epoch").member("epoch", r.epoch).member("step", r.step);
    write_metrics(json, metric_names(), r.metrics);
  });
  return ok_status();
}

void TrainPrinter::end(const Status& status, int code) {
  if (format_ != Format::kText) return record([&](JsonWriter& json) { write_document(json, status, code); });
  if (made_.result.steps > 0) print_text();
  if (made_.trainable) print_outputs(made_.trainable->fetches, made_.result.outputs);
}

void TrainPrinter::write_document(JsonWriter& json, const Status& status, int code) const {
  const TrainResult& result = made_.result;
  if (format_ == Format::kJsonl) {
    json.member("event", "end").member("file", c_.path).member("status", code_name(status.code()));
  } else {
    write_schema(json, Document::kTraining);
  }
  json.key("graph").begin_object().member("file", c_.path).key("sha256");
  c_.found.source ? json.value(sha256_hex(c_.found.source->text())) : json.null();
  json.end_object().member("epochs", result.epochs).member("steps", result.steps).key("loss");
  result.steps > 0 ? write_number(json, result.loss) : static_cast<void>(json.null());
  write_metrics(json, metric_names(), result.metrics);
  if (made_.trainable && !made_.trainable->fetches.empty())
    write_outputs(json, made_.trainable->fetches, result.outputs, {});
  json.key("checkpoint");
  result.checkpoint.empty() ? json.null() : json.value(result.checkpoint);
  json.key("timing").begin_object().member("total_s", result.total_s).member("compute_s", result.compute_s);
  json.member("copy_s", result.copy_s).member("waiting_s", result.waiting_s).end_object();
  if (!result.staleness.empty()) write_staleness(json, result);
  made_.planned ? write_summary(json, *made_.planned) : static_cast<void>(json.key("summary").null());
  if (made_.planned) {
    if (const auto report = made_.planned->watch->step_report()) write_step_report(json.key("step_report"), *report);
  }
  json.member("exit", code).key("error");
  write_error(json, status);
}

void TrainPrinter::print_text() const {
  const TrainResult& r = made_.result;
  const std::vector<std::string> metrics = metric_names();
  std::string line = cat("trained ", counted(r.epochs, "epoch"), ", ", counted(r.steps, "step"), " in ",
                         time_text(r.total_s), ": loss ", short_number(r.loss));
  for (size_t i = 0; i < r.metrics.size(); ++i)
    append(line, ", ", printable(metrics[i]), " ", short_number(r.metrics[i]));
  if (!r.metrics.empty()) line += r.has_test ? " (test)" : " (last batch)";
  print_lines(cat(line, " | compute ", time_text(r.compute_s), ", copies ", time_text(r.copy_s), ", waiting for data ",
                  time_text(r.waiting_s), "\n"));
}

}  // namespace emplace
