/// What `train` prints on standard output: the closing line, one JSON document, or a record per step and epoch.
#pragma once

#include <string>
#include <vector>

#include "core/pipeline.h"
#include "core/report/format.h"
#include "core/train/train_loop.h"

namespace emplace {

class TrainPrinter final : public TrainListener {
 public:
  /// `format`: kText, kJson or kJsonl. The pipeline must outlive it.
  TrainPrinter(Format format, const Pipeline& pipeline) : format_(format), p_(pipeline) {}

  void begin();
  Status step(const StepRecord& record) override;
  Status epoch(const EpochRecord& record) override;
  void end(const Status& status, int code, const std::vector<std::string>& metrics, const std::vector<Fetch>& fetches,
           const TrainResult& result);

 private:
  void print_text(const std::vector<std::string>& metrics, const TrainResult& result);

  const Format format_;
  const Pipeline& p_;
};

}  // namespace emplace
