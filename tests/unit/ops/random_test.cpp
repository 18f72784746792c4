#include <catch2/catch.hpp>

#include "core/ops/random/philox.h"
#include "tests/unit/ops/op_case.h"

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("Philox4x32-10 gives the known answers of its authors") {
  using Block = PhiloxStream::Block;
  CHECK(PhiloxStream(0, 0, 0).block(0) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(PhiloxStream(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}).block(0) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(PhiloxStream(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e).block(0) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("block i is that of the counter plus i, carried into the upper half") {
  PhiloxStream stream(7, ~uint64_t{0}, 3);
  CHECK(stream.block(2) == PhiloxStream(7, 1, 4).block(0));
  stream.skip(2);
  CHECK(stream.block(0) == PhiloxStream(7, 1, 4).block(0));
}

TEST_CASE("what a distribution gives does not depend on how the work is cut") {
  const PhiloxStream stream(11, 0, 13);
  Sequential sequential;
  for (Distribution d : {Distribution::kUniform, Distribution::kNormal, Distribution::kTruncatedNormal}) {
    std::vector<float> all(103), start(50);
    fill_random(sequential, stream, d, DType::kFloat, all.data(), 103);
    fill_random(sequential, stream, d, DType::kFloat, start.data(), 50);
    CHECK(std::equal(start.begin(), start.end(), all.begin()));
  }
}

TEST_CASE("RandomUniform needs a shape without negative sizes") {
  OpCase random("RandomUniform");
  random.in(ints({-1}))
      .out(DType::kFloat)
      .attr("seed", AttrValue::of(int64_t{1}))
      .attr("seed2", AttrValue::of(int64_t{0}));
  CHECK_FALSE(random.run().ok());
}
