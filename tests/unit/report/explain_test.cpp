#include "core/report/explain.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/report/place_report.h"
#include "core/report/placement_log.h"
#include "tests/unit/place/place_fixture.h"

using namespace emplace;

namespace {

constexpr const char* kVariable = R"(
    {"name": "v", "op": "VariableV2", "device": "/gpu:0", "attr": {"dtype": "float32", "shape": [4]}},
    {"name": "c", "op": "Const", "attr": {"value": [1.0, 2.0, 3.0, 4.0]}},
    {"name": "assign", "op": "Assign", "input": ["v", "c"]},
    {"name": "out", "op": "Neg", "input": ["assign"], "device": "/cpu:0"},
    {"name": "hello", "op": "Const", "attr": {"value": "text"}})";

std::string explained(PlacedGraph& g, const ExplainRequest& request) {
  g.place();
  const CopyPlan copies = g.copies();
  const Result<std::string> text = explain(*g.file, g.devices, g.options, g.placement, copies, request);
  return text.ok() ? *text : text.status().message();
}

}  // namespace

TEST_CASE("explain: rule, devices, group, copies and what would move a node") {
  PlacedGraph g(kVariable);
  CHECK(explained(g, {.nodes = {"assign"}}) ==
        "assign (Assign) is on GPU:0\n"
        "  why: reference_edge: a reference edge ties it to 'v', which is on GPU:0\n"
        "  at: test:4:14\n"
        "  devices:\n"
        "    CPU:0: group_request\n"
        "    GPU:0: chosen\n"
        "  group: 2 nodes must be on one device\n"
        "    v (VariableV2): placed first: its device is the group's; asks for /gpu:0\n"
        "    assign (Assign): a reference edge ties 'assign' to 'v'\n"
        "  copies, each step:\n"
        "    assign:0  GPU:0 -> CPU:0  16 B\n"
        "  to have it on CPU:0: request /job:localhost/replica:0/task:0/device:CPU:0 on 'v', which pulls it; moves 2 "
        "other "
        "nodes: v, c\n");
}

TEST_CASE("explain --on: a missing kernel or device cannot be requested away") {
  PlacedGraph g(kVariable);
  const std::string text = explained(g, {.nodes = {"hello"}, .on_device = "GPU:0"});
  CHECK(text.find("  not on /device:GPU:0: Const(string) has no GPU kernel; GPU kernels: float32") !=
        std::string::npos);
  CHECK(explained(g, {.nodes = {"hello"}, .on_device = "gpu:5"}).find("not on /device:GPU:5: there is no device") !=
        std::string::npos);
  CHECK(explained(g, {.nodes = {"hello"}, .on_device = "x y"}).find("is not a device name") != std::string::npos);
  CHECK(explained(g, {.nodes = {"nobody"}}) == "there is no node 'nobody'");
}

TEST_CASE("explain as JSON, and the summary by reason") {
  PlacedGraph g(kVariable);
  const auto document = nlohmann::json::parse(explained(g, {.nodes = {"assign:0"}, .json = true}));
  CHECK(document["nodes"][0]["reason"]["code"] == "reference_edge");
  CHECK(document["nodes"][0]["changes"][0]["works"] == true);
  CHECK(document["nodes"][0]["group"].size() == 2);
  const std::string summary = explained(g, {});
  CHECK(summary.starts_with(
      "placed 5 nodes: GPU:0 3, CPU:0 2 | 1 copy/step 16 B\n  requested: 2 nodes (CPU:0 1, GPU:0 1)"));
  CHECK(nlohmann::json::parse(explained(g, {.json = true}))["reasons"].size() == 4);
}

TEST_CASE("place: the document has the contract's members") {
  PlacedGraph g(kVariable);
  g.place();
  const CopyPlan copies = g.copies();
  PlaceReport report;
  report.path = "g.json";
  report.source = g.file->source.get();
  report.file = g.file.get();
  report.devices = &g.devices;
  report.options = &g.options;
  report.placement = &g.placement;
  report.copies = &copies;
  const auto document = nlohmann::json::parse(place_json(report));
  CHECK(document["schema_version"] == 2);
  CHECK(document["placement"][0]["name"] == "v");
  CHECK(document["candidate_sets"][document["placement"][0]["candidates"].get<size_t>()] ==
        nlohmann::json{{"candidate", {1}}, {"not_requested", {0}}});
  CHECK(document["copies"][0]["tensor"] == "assign:0");
  CHECK(document["copies"][0]["bytes"] == 16);
  CHECK(document["summary"]["copies"] == 1);
  CHECK(document["error"].is_null());
  CHECK(document["graph"]["file"] == "g.json");
  CHECK(document["graph"]["sha256"].get<std::string>().size() == 64);
  CHECK(place_csv(report).starts_with("name,op,requested,device,reason\nv,VariableV2,/gpu:0,/job:localhost/"));
  CHECK(place_dot(report).find("penwidth=3") != std::string::npos);
  CHECK(place_document(report, Format::kCsv) == place_csv(report));
  CHECK(placement_lines(g.file->graph, g.devices, g.placement)
            .starts_with("v: (VariableV2): /job:localhost/replica:0/task:0/device:GPU:0\n"));
  CHECK(device_mapping(g.devices) == "Device mapping: no known devices.\n");
}
