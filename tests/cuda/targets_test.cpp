// Which cards a plug-in runs on, by what it was compiled for.
#include <catch2/catch.hpp>

#include "cuda/targets.h"

namespace emplace::cuda::testing {

TEST_CASE("machine code runs on its generation, virtual code on all that is newer", "[host]") {
  CHECK(targets_fit("90-real", 9, 0));
  CHECK_FALSE(targets_fit("90-real", 8, 9));
  CHECK_FALSE(targets_fit("90-real", 10, 0));
  CHECK(targets_fit("80-real", 8, 9));
  CHECK_FALSE(targets_fit("89-real", 8, 0));
  CHECK(targets_fit("75-virtual,90-real", 8, 6));
  CHECK(targets_fit("75-virtual,90-real", 12, 0));
  CHECK_FALSE(targets_fit("75-virtual,90-real", 7, 0));
  CHECK(targets_fit("120", 12, 1));
  CHECK_FALSE(targets_fit("90a-real", 9, 1));
  CHECK_FALSE(targets_fit("", 9, 0));
  CHECK(targets_text("75-virtual,80-real,90a-real,120") == "7.5 and newer, 8.0, 9.0, 12.0 and newer");
}

}  // namespace emplace::cuda::testing
