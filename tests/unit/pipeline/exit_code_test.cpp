#include <catch2/catch.hpp>

#include "core/pipeline.h"

using namespace emplace;

TEST_CASE("the exit code follows the stage, and the status where a code of its own exists") {
  CHECK(exit_code(Stage::kExecute, ok_status()) == 0);
  CHECK(exit_code(Stage::kLoad, not_found("")) == 3);
  CHECK(exit_code(Stage::kValidate, invalid_argument("")) == 3);
  CHECK(exit_code(Stage::kValidate, unimplemented("")) == 3);
  CHECK(exit_code(Stage::kPlace, invalid_argument("")) == 4);
  CHECK(exit_code(Stage::kPlace, unavailable("")) == 5);
  CHECK(exit_code(Stage::kPartition, failed_precondition("")) == 4);
  CHECK(exit_code(Stage::kPlan, resource_exhausted("")) == 6);
  CHECK(exit_code(Stage::kPlan, unimplemented("")) == 3);
  CHECK(exit_code(Stage::kExecute, invalid_argument("")) == 1);
  CHECK(exit_code(Stage::kExecute, resource_exhausted("")) == 6);
  CHECK(exit_code(Stage::kExecute, {Code::kDeadlineExceeded, ""}) == 8);
}
