#include "core/base/exit_code.h"

#include <catch2/catch.hpp>

using namespace emplace;

TEST_CASE("the exit code follows from who is to blame") {
  CHECK(exit_code(ok_status()) == 0);
  CHECK(exit_code(invalid_argument("").blamed(Blame::kUsage)) == 2);
  CHECK(exit_code(not_found("").blamed(Blame::kFile)) == 3);
  CHECK(exit_code(unimplemented("").blamed(Blame::kFile)) == 3);
  CHECK(exit_code(invalid_argument("").blamed(Blame::kData)) == 3);
  CHECK(exit_code(invalid_argument("").blamed(Blame::kPlacement)) == 4);
  CHECK(exit_code(unavailable("").blamed(Blame::kDevice)) == 5);
  CHECK(exit_code(failed_precondition("").blamed(Blame::kMismatch)) == 7);
  CHECK(exit_code(unavailable("").blamed(Blame::kWrite)) == 1);
}

TEST_CASE("the exit code follows from the status where nobody is blamed") {
  CHECK(exit_code(invalid_argument("")) == 1);
  CHECK(exit_code(unimplemented("")) == 3);
  CHECK(exit_code(unavailable("")) == 5);
  CHECK(exit_code(resource_exhausted("")) == 6);
  CHECK(exit_code({Code::kDeadlineExceeded, ""}) == 8);
}

TEST_CASE("out of memory is 6 and out of time 8, whoever is to blame") {
  CHECK(exit_code(resource_exhausted("").blamed(Blame::kFile)) == 6);
  CHECK(exit_code(resource_exhausted("").blamed(Blame::kUsage)) == 6);
  CHECK(exit_code(Status(Code::kDeadlineExceeded, "").blamed(Blame::kFile)) == 8);
}

TEST_CASE("who blames first is right, and context keeps blame and node") {
  const Status status = not_found("x").at_node("inner").blamed(Blame::kUsage).blamed(Blame::kFile).at_node("outer");
  CHECK(status.with_context("--feed").blame() == Blame::kUsage);
  CHECK(status.with_context("--feed").node() == "inner");
  CHECK(status.with_context("--feed").message() == "--feed: x");
  CHECK(ok_status().blamed(Blame::kUsage).ok());
  CHECK(sizeof(Status) == sizeof(void*));
}
