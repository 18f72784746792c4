/// What a training run shows beside its results: a progress bar or plain lines, a CSV log, a picture.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/base/output_file.h"
#include "core/train/plot.h"
#include "core/train/train_loop.h"

namespace emplace {

/// "0.9516", "2.31e-05": five significant digits.
std::string short_number(double value);

/// Several listeners, in order.
class ListenerList final : public TrainListener {
 public:
  void add(TrainListener* listener) { listeners_.push_back(listener); }
  void step_begins(int64_t step) override;
  Status step(const StepRecord& record) override;
  Status epoch(const EpochRecord& record) override;
  void saved(const std::string& path) override;
  void warning(const std::string& text) override;

 private:
  std::vector<TrainListener*> listeners_;
};

/// A line per epoch, and one every so many steps; on a terminal a bar per epoch, redrawn in place. Below each, what the
/// tasks of a cluster did.
class ProgressReport final : public TrainListener {
 public:
  struct Options {
    std::vector<std::string> metrics;  // names
    int64_t epochs = 0, steps = 0;     // asked for; 0: no bound
    int64_t log_every = 0;             // steps; 0: a line per epoch
    int columns = 0;                   // of the terminal; 0: there is none
    std::string test_metrics;          // " (test)" or nothing
    std::function<std::string(bool for_line)> tasks =
        nullptr;  // what each of several tasks did since it was asked last; may be null
  };
  using Talk = std::function<void(const std::string&)>;
  /// `line` gets whole lines, `warn` what is no progress; the bar goes to standard error.
  ProgressReport(Options options, Talk line, Talk warn)
      : options_(std::move(options)), line_(std::move(line)), warn_(std::move(warn)) {}

  Status step(const StepRecord& record) override;
  Status epoch(const EpochRecord& record) override;
  void warning(const std::string& text) override;
  /// Takes an unfinished bar off the screen.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string numbers(double loss, const std::vector<double>& metrics) const;
  std::string place(int64_t epoch, int64_t step) const;
  void draw(const StepRecord& record);
  void tell(const std::string& line);

  Options options_;
  Talk line_, warn_;
  Clock::time_point epoch_start_ = Clock::now(), drawn_at_{};
  int64_t epoch_ = 0, epoch_samples_ = 0, first_in_epoch_ = 1;
  bool bar_shown_ = false;
};

/// "step,epoch,loss,accuracy,test_accuracy": a row per step; test columns are filled where an epoch ends. Until close()
/// the rows stand in FILE.part, each whole and at once.
class CsvLog final : public TrainListener {
 public:
  Status open(const std::string& path, const std::vector<std::string>& metrics, bool has_test);
  Status step(const StepRecord& record) override;
  Status epoch(const EpochRecord& record) override;
  /// Writes what is left, and gives the file its name.
  Status close();

 private:
  Status flush_row();

  OutputFile file_;
  std::string row_;  // not written yet: its epoch may end
  std::vector<double> test_;
  size_t num_test_ = 0;
};

/// Keeps the curves for a picture.
class CurveRecorder final : public TrainListener {
 public:
  explicit CurveRecorder(std::vector<std::string> metrics, bool has_test);
  Status step(const StepRecord& record) override;
  Status epoch(const EpochRecord& record) override;
  /// The evaluation of a run that ended within an epoch.
  void end(const TrainResult& result);
  const std::vector<Curve>& curves() const { return curves_; }

 private:
  std::vector<Curve> curves_;  // the loss, then the metrics
  bool has_test_;
};

}  // namespace emplace
