// What TensorFlow's shape inference knew, and what its import refused, for the graphs in tests/data/ops.
#include <catch2/catch.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/cat.h"
#include "tests/unit/formats/loading.h"
#include "tests/unit/source_dir.h"

using namespace emplace;
using nlohmann::json;

namespace {

std::string unpacked_cases() {
  std::string command = cat("python3 -c 'import lzma, sys; sys.stdout.buffer.write(lzma.open(sys.argv[1]).read())' '",
                            source_dir(), "/tests/data/ops/cases.jsonl.xz'");
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  char buffer[1 << 16];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  REQUIRE(pclose(pipe) == 0);
  return out;
}

// emplace has a rule for every op of the graph: others have unknown shapes by design.
bool all_run(const GraphFile& file) {
  for (NodeId id = 0; id < file.graph.num_nodes(); ++id) {
    if (!OpLibrary::find(file.graph.op(id))) return false;
  }
  return true;
}

json shape_json(const Shape& shape) {
  if (!shape.rank_known()) return nullptr;
  return std::vector<int64_t>(shape.dims().begin(), shape.dims().end());
}

json fetched_shapes(const GraphFile& file) {
  json out = json::array();
  for (const NamedRef& fetch : file.fetch) {
    size_t colon = fetch.name.find(':');
    uint32_t slot = colon == std::string::npos ? 0 : static_cast<uint32_t>(std::stoul(fetch.name.substr(colon + 1)));
    out.push_back(shape_json(file.graph.output_shape({file.graph.find(fetch.name.substr(0, colon)), slot})));
  }
  return out;
}

struct Tally {
  int shapes = 0, refused = 0, same_text = 0;
};

void check_case(const json& recorded, Tally& tally) {
  Loaded loaded(recorded["graph"].dump());
  Problems problems = loaded.problems();
  if (problems.empty() && !all_run(*loaded.operator->())) return;
  if (problems.empty()) validate(*loaded.operator->(), problems);
  INFO(recorded["name"].get<std::string>());
  bool refused_by_tensorflow = recorded.contains("error") && recorded["error"]["when"] == "load";
  if (refused_by_tensorflow) {
    const json& error = recorded["error"];
    INFO(error["message"].get<std::string>());
    CHECK_FALSE(problems.empty());
    if (problems.empty()) return;
    ++tally.refused;
    tally.same_text += problems.list()[0].message == error["message"];
    CHECK(std::string(code_name(problems.list()[0].code)) == error["code"]);
    return;
  }
  // What fails in TensorFlow's run may be found now.
  if (recorded.contains("error") && !problems.empty()) return;
  CHECK(problems.count() == 0);
  if (!problems.empty() || !recorded.contains("static_shapes")) return;
  // TensorFlow takes the answer to shapes that do not broadcast for a scalar; a step may tell otherwise.
  static const std::set<std::string> kLeftOpen = {"Equal/float32/incompatible", "NotEqual/float32/incompatible"};
  if (kLeftOpen.contains(recorded["name"])) return;
  ++tally.shapes;
  CHECK(fetched_shapes(*loaded.operator->()) == recorded["static_shapes"]);
}

}  // namespace

TEST_CASE("TensorFlow's recorded shapes are inferred, and what its import refuses is refused") {
  std::string cases = unpacked_cases();
  Tally tally;
  for (size_t at = 0; at < cases.size();) {
    size_t end = cases.find('\n', at);
    check_case(json::parse(cases.substr(at, end - at)), tally);
    at = end + 1;
  }
  CHECK(tally.shapes > 4700);
  CHECK(tally.refused > 220);
  CHECK(tally.same_text > 200);  // the rest names more inputs, or says more
}
