// The deadline, and likewise a signal, ends the stages where they are.
#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/device/make_device_set.h"
#include "core/formats/open_graph.h"
#include "core/partition/partition.h"
#include "core/place/placement.h"
#include "core/plan/settle.h"
#include "core/run/session.h"

using namespace emplace;

namespace {

struct Late {
  Late() { set_deadline(1e-9); }
  ~Late() { set_deadline(0); }
};

constexpr int kNodes = 10000;

std::shared_ptr<const Source> chain() {
  std::string text = R"({"node": [{"name": "x0", "op": "Const", "attr": {"value": 1.5}})";
  for (int i = 1; i < kNodes; ++i)
    append(text, ",\n{\"name\": \"x", i, "\", \"op\": \"Neg\", \"input\": [\"x", i - 1, "\"]}");
  return Source::from_text("chain.json", text + "]}");
}

bool is_late(const Problems& problems) {
  return !problems.empty() && problems.list().front().code == Code::kDeadlineExceeded;
}

}  // namespace

TEST_CASE("loading, validating, placing, partitioning and planning end with the time allowed") {
  Problems problems;
  {
    const Late late;
    const auto cut_off = load(chain(), {}, problems);
    CHECK(is_late(problems));
    CHECK(cut_off->graph.num_nodes() < kNodes);
  }
  problems = {};
  const auto file = load(chain(), {}, problems);
  REQUIRE(problems.empty());
  {
    const Late late;
    validate(*file, problems);
    CHECK(is_late(problems));
  }
  problems = {};
  validate(*file, problems);
  REQUIRE(problems.empty());

  std::vector<std::string> warnings, details;
  auto devices = make_device_set(
      {}, [](const char*) -> const char* { return nullptr; }, warnings);
  REQUIRE(devices.ok());
  {
    const Late late;
    CHECK(place(*file, *devices, {}, details).status().code() == Code::kDeadlineExceeded);
  }
  auto placement = place(*file, *devices, {}, details);
  REQUIRE(placement.ok());
  const StepRequest step{{{kNodes - 1, 0}}, {}, {}};
  {
    const Late late;
    CHECK(partition(*file, *devices, *placement, step).status().code() == Code::kDeadlineExceeded);
  }
  auto program = partition(*file, *devices, *placement, step);
  REQUIRE(program.ok());
  const Late late;
  CHECK(settle(*file, *devices, *program, {}).status().code() == Code::kDeadlineExceeded);
  SessionOptions options;
  options.fetches = {{kNodes - 1, 0}};
  CHECK(Session::create(*file, *devices, *placement, options).status().code() == Code::kDeadlineExceeded);
}
