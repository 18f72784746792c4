#include "core/train/train_reports.h"

#include <unistd.h>
#include <cmath>

#include <algorithm>
#include <cstdio>

#include "core/base/cat.h"
#include "core/base/descriptor.h"
#include "core/base/printable.h"

namespace emplace {
namespace {

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string duration_text(double seconds) {
  auto s = static_cast<int64_t>(std::llround(seconds));
  char text[32];
  if (s >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", static_cast<long long>(s / 3600),
                  static_cast<long long>(s / 60 % 60), static_cast<long long>(s % 60));
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", static_cast<long long>(s / 60), static_cast<long long>(s % 60));
  return text;
}

/// So that a float32 reads back the same.
std::string nine_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

void ListenerList::step_begins(int64_t step) {
  for (TrainListener* l : listeners_) l->step_begins(step);
}

Status ListenerList::step(const StepRecord& record) {
  for (TrainListener* l : listeners_) RETURN_IF_ERROR(l->step(record));
  return ok_status();
}

Status ListenerList::epoch(const EpochRecord& record) {
  for (TrainListener* l : listeners_) RETURN_IF_ERROR(l->epoch(record));
  return ok_status();
}

void ListenerList::saved(const std::string& path) {
  for (TrainListener* l : listeners_) l->saved(path);
}

void ListenerList::warning(const std::string& text) {
  for (TrainListener* l : listeners_) l->warning(text);
}

std::string ProgressReport::numbers(double loss, const std::vector<double>& metrics) const {
  std::string text = cat("loss ", short_number(loss));
  for (size_t i = 0; i < metrics.size(); ++i)
    append(text, ", ", printable(options_.metrics[i]), " ", short_number(metrics[i]));
  return text;
}

std::string ProgressReport::place(int64_t epoch, int64_t step) const {
  return cat("epoch ", epoch, options_.epochs > 0 ? cat("/", options_.epochs) : "", ", step ", step,
             options_.steps > 0 ? cat("/", options_.steps) : "");
}

Status ProgressReport::step(const StepRecord& r) {
  if (r.epoch != epoch_) {
    epoch_ = r.epoch;
    epoch_samples_ = 0;
    first_in_epoch_ = r.step_in_epoch;
    epoch_start_ = Clock::now();
  }
  epoch_samples_ += r.samples;
  if (options_.log_every > 0 && r.step % options_.log_every == 0) {
    clear();
    tell(cat(place(r.epoch, r.step), ": ", numbers(r.loss, r.metrics), r.metrics.empty() ? "" : " (batch)"));
  }
  constexpr double kRedraw_s = 0.1;
  if (options_.columns > 0 && seconds_between(drawn_at_, Clock::now()) >= kRedraw_s) draw(r);
  return ok_status();
}

void ProgressReport::tell(const std::string& line) {
  line_(line);
  if (const std::string did = options_.tasks ? options_.tasks(true) : ""; !did.empty()) line_("  " + did);
}

void ProgressReport::draw(const StepRecord& r) {
  drawn_at_ = Clock::now();
  double elapsed = std::max(seconds_between(epoch_start_, drawn_at_), 1e-9);
  std::string text = cat(place(r.epoch, r.step), " ");
  std::string facts = cat(" ", numbers(r.loss, r.metrics), ", ",
                          short_number(static_cast<double>(epoch_samples_) / elapsed), " samples/s");
  if (r.steps_per_epoch > 0) {
    auto done = static_cast<double>(r.step_in_epoch - first_in_epoch_ + 1);
    append(facts, ", ", duration_text(elapsed / done * static_cast<double>(r.steps_per_epoch - r.step_in_epoch)),
           " left");
    int room = std::min(30, options_.columns - static_cast<int>(text.size() + facts.size()) - 3);
    if (room >= 5) {
      auto filled = static_cast<size_t>(r.step_in_epoch * room / r.steps_per_epoch);
      append(text, "[", std::string(filled, '#'), std::string(static_cast<size_t>(room) - filled, '.'), "]");
    }
  }
  text += printable(facts);
  const auto fitted = [&](const std::string& line) {
    return line.size() < static_cast<size_t>(options_.columns)
               ? line
               : line.substr(0, static_cast<size_t>(options_.columns) - 1);
  };
  std::string drawn = cat("\r", fitted(text), "\x1b[K");
  if (options_.tasks) append(drawn, "\n", fitted("  " + options_.tasks(false)), "\x1b[K\x1b[A\r");
  static_cast<void>(write_console(STDERR_FILENO, drawn));
  bar_shown_ = true;
}

Status ProgressReport::epoch(const EpochRecord& r) {
  clear();
  bool due = options_.log_every == 0 || !r.metrics.empty() || options_.columns > 0;
  if (!due) return ok_status();
  tell(cat(place(r.epoch, r.step), ": ", numbers(r.mean_loss, r.metrics),
           r.metrics.empty() ? "" : options_.test_metrics, ", ", static_cast<int64_t>(r.samples_per_s), " samples/s"));
  return ok_status();
}

void ProgressReport::warning(const std::string& text) {
  clear();
  warn_(text);
}

void ProgressReport::clear() {
  if (!bar_shown_) return;
  static_cast<void>(write_console(STDERR_FILENO, options_.tasks ? "\r\x1b[J" : "\r\x1b[K"));
  bar_shown_ = false;
}

Status CsvLog::open(const std::string& path, const std::vector<std::string>& metrics, bool has_test) {
  ASSIGN_OR_RETURN(file_, OutputFile::open(path, OutputFile::Growth::kSeen));
  num_test_ = has_test ? metrics.size() : 0;
  std::string header = "step,epoch,loss";
  for (const std::string& m : metrics) append(header, ",", csv_cell(m));
  for (size_t i = 0; i < num_test_; ++i) append(header, ",", csv_cell("test_" + metrics[i]));
  return file_.write(header + "\n");
}

Status CsvLog::flush_row() {
  if (row_.empty()) return ok_status();
  for (size_t i = 0; i < num_test_; ++i) {
    row_ += ',';
    if (i < test_.size()) row_ += nine_digits(test_[i]);
  }
  row_ += '\n';
  Status written = file_.write(row_);
  row_.clear();
  test_.clear();
  return written;
}

Status CsvLog::step(const StepRecord& r) {
  RETURN_IF_ERROR(flush_row());
  row_ = cat(r.step, ",", r.epoch, ",", nine_digits(r.loss));
  for (double m : r.metrics) append(row_, ",", nine_digits(m));
  return ok_status();
}

Status CsvLog::epoch(const EpochRecord& r) {
  test_ = r.metrics;
  return flush_row();
}

Status CsvLog::close() {
  if (!file_.is_open()) return ok_status();
  RETURN_IF_ERROR(flush_row());
  return file_.commit();
}

CurveRecorder::CurveRecorder(std::vector<std::string> metrics, bool has_test) : has_test_(has_test) {
  curves_.push_back({"loss", {}});
  for (std::string& m : metrics) curves_.push_back({has_test ? cat(m, " (test)") : std::move(m), {}});
}

Status CurveRecorder::step(const StepRecord& r) {
  curves_[0].points.emplace_back(static_cast<double>(r.step), r.loss);
  for (size_t i = 0; !has_test_ && i < r.metrics.size(); ++i)
    curves_[i + 1].points.emplace_back(static_cast<double>(r.step), r.metrics[i]);
  return ok_status();
}

void CurveRecorder::end(const TrainResult& r) {
  EpochRecord last;
  last.step = r.steps;
  last.metrics = r.metrics;
  bool evaluated = has_test_ && curves_.size() > 1 && r.metrics.size() + 1 == curves_.size();
  bool known = !curves_.back().points.empty() && curves_.back().points.back().first == static_cast<double>(r.steps);
  if (evaluated && !known) static_cast<void>(epoch(last));
}

Status CurveRecorder::epoch(const EpochRecord& r) {
  for (size_t i = 0; has_test_ && i < r.metrics.size(); ++i)
    curves_[i + 1].points.emplace_back(static_cast<double>(r.step), r.metrics[i]);
  return ok_status();
}

}  // namespace emplace
