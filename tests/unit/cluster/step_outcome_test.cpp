#include "core/cluster/step_outcome.h"

#include <catch2/catch.hpp>

#include "core/base/exit_code.h"

namespace emplace {

TEST_CASE("the loss of a task is told with the step, and with what was waited for") {
  const Status gone = unavailable("peer lost: b").blamed(kBlamePeer);
  StepOutcome counted(2, 7), others_count(2), restarted(2, 7), failed(2, 7);
  for (StepOutcome* outcome : {&counted, &others_count}) {
    outcome->lost(gone);
    outcome->failed("a", internal_error("stopped"));  // the first one counts
    outcome->stood_at("x");
  }
  CHECK(counted.status().message() == "peer lost: b at step 7, node x");
  CHECK(counted.status().blame() == kBlamePeer);
  CHECK(others_count.status().message() == "peer lost: b");
  CHECK(others_count.status().node() == "x");
  restarted.failed({}, Status(Code::kAborted, "b restarted").blamed(kBlamePeer));
  failed.failed("a", internal_error("no at step 3"));
  for (StepOutcome* outcome : {&restarted, &failed}) outcome->stood_at("x");
  CHECK(restarted.status().message() == "b restarted");
  CHECK(failed.status().message() == "From a:\nno at step 3");
  CHECK(failed.status().node().empty());
}

}  // namespace emplace
