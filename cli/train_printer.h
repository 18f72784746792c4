/// What `train` prints on standard output: the closing line, one JSON document, or a record per step and epoch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/json_writer.h"
#include "core/report/format.h"
#include "core/training.h"

namespace emplace {

/// What the stages made, as far as they came.
struct Trained {
  std::optional<Trainable> trainable;
  std::optional<Planned> planned;
  TrainResult result;
};

class TrainPrinter final : public TrainListener {
 public:
  /// `format`: kText, kJson or kJsonl. The context and what was made must outlive it.
  TrainPrinter(Format format, const StageContext& context, const Trained& made)
      : format_(format), c_(context), made_(made) {}

  void begin();
  Status step(const StepRecord& record) override;
  Status epoch(const EpochRecord& record) override;
  void end(const Status& status, int code);

 private:
  std::vector<std::string> metric_names() const;
  void print_text() const;
  void write_document(JsonWriter& json, const Status& status, int code) const;

  const Format format_;
  const StageContext& c_;
  const Trained& made_;
};

}  // namespace emplace
