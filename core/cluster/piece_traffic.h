/// PieceTraffic: pieces between one task's part of a session and others: those that come, and those that were lost on
/// their way there.
#pragma once

#include <memory>

#include "core/cluster/loss_reports.h"
#include "core/cluster/piece_intake.h"

namespace emplace {

/// Thread-safe.
struct PieceTraffic {
  explicit PieceTraffic(size_t tasks) : intake(tasks) {}

  PieceIntake intake;
  const std::shared_ptr<LossReports> losses = std::make_shared<LossReports>();  // requests under way keep it

  /// Answers it now, if it waits here.
  void let_go(IncomingRequest* request) {
    intake.let_go(request);
    losses->let_go(request);
  }
  /// No step begins any longer, and nobody waits.
  void close() {
    intake.close();
    losses->close();
  }
};

}  // namespace emplace
