#include <catch2/catch.hpp>

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "core/op/op_def.h"
#include "tests/unit/source_dir.h"

namespace emplace::testing {
namespace {

/// The functions of these give nothing: what they make is a constant to every loss.
const std::set<std::string, std::less<>> kGivesNothing = {"ArgMax",   "ArgMin", "Ceil",  "Floor",      "FloorDiv",
                                                          "LoopCond", "Rint",   "Round", "TruncateDiv"};

/// Whoever differentiates these is told that there is no gradient.
const std::set<std::string, std::less<>> kLacking = {
    "RandomGamma",         "SparseDenseCwiseAdd",    "SparseSparseMaximum",
    "SparseSparseMinimum", "StatelessRandomGammaV2", "StatelessRandomGammaV3"};

// TensorFlow stops there, but there is a gradient to be had: each list has its part of it.
constexpr std::string_view kGivesMore = "TensorListConcatLists";

}  // namespace

TEST_CASE(
    "what TensorFlow has a gradient for, and emplace runs, has one here; what has none on purpose is a constant") {
  std::ifstream file(source_dir() + "/tests/data/gradients/registry.txt");
  REQUIRE(file);
  std::map<std::string, bool, std::less<>> registered;
  for (std::string op, what; file >> op >> what;) registered[op] = what == "function";
  REQUIRE(registered.size() > 500);
  int with_gradient = 0;
  for (std::string_view name : OpLibrary::names()) {
    const OpDef& op = *OpLibrary::find(name);
    auto found = registered.find(name);
    if (found == registered.end() || name == kGivesMore || kLacking.contains(name)) continue;
    INFO(name);
    const bool differentiable = found->second && !kGivesNothing.contains(name);
    CHECK((op.gradient_function() != nullptr) == differentiable);
    CHECK(op.stops_gradients() == !differentiable);
    with_gradient += differentiable;
  }
  CHECK(with_gradient > 150);
}

}  // namespace emplace::testing
