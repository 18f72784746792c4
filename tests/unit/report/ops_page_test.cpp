#include "core/report/ops_page.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/op/op_def.h"
#include "core/report/kernel_rows.h"

using namespace emplace;
using nlohmann::json;

namespace {
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("the table of ops has a line for every op that runs") {
  std::string table = ops_table_text(0);
  for (std::string_view name : OpLibrary::names()) CHECK(contains(table, std::string("\n") + std::string(name) + " "));
  json document = json::parse(ops_table_json());
  CHECK(document["schema_version"] == 1);
  json list = document["ops"];
  REQUIRE(list.size() == OpLibrary::names().size());
  for (const json& op : list) {
    if (op["name"] != "MatMul") continue;
    CHECK(op["cpu"].size() > 3);
    CHECK_FALSE(op["doc"].get<std::string>().empty());
    // TensorFlow has no integer MatMul on GPUs.
    CHECK(std::find(op["gpu"].begin(), op["gpu"].end(), "float32") != op["gpu"].end());
    CHECK(std::find(op["gpu"].begin(), op["gpu"].end(), "int32") == op["gpu"].end());
  }
}

TEST_CASE("an op's page shows arguments, attrs and kernels") {
  std::string page = ops_page_text("MatMul").take();
  CHECK(page.starts_with("MatMul\n"));
  CHECK(contains(page, "\ninputs\n  a  T\n  b  T\n"));
  CHECK(contains(page, "\noutputs\n  product  T\n"));
  CHECK(contains(page, "  transpose_a  bool  default false\n"));
  CHECK(contains(page, "  GPU      T: float16 bfloat16 float32 float64 complex64 complex128\n"));
}

TEST_CASE("an op that emplace cannot run has a page too") {
  std::string page = ops_page_text("Copy").take();
  CHECK(contains(page, "emplace can place it, not run it\n"));
  CHECK(contains(page, "  CPU "));
  CHECK(contains(ops_page_text("AllToAll").take(), "kernels: none in TensorFlow's registry\n"));
  CHECK(contains(ops_page_text("BatchFFT").take(), "Gone from GraphDef version 15 on: Use FFT\n"));
}

TEST_CASE("an unknown op is answered with the nearest one") {
  CHECK(ops_page_text("MatMull").status().message() == "unknown op 'MatMull'; did you mean 'MatMul'?");
  CHECK(ops_page_json("Qqqqqqqqqqqqqq").status().message() ==
        "unknown op 'Qqqqqqqqqqqqqq'; 'emplace ops' lists those that emplace runs");
}

TEST_CASE("every op's page is there in both forms, and the JSON can be read") {
  OpTable table;
  for (std::string_view name : table.names()) {
    INFO(name);
    REQUIRE(ops_page_text(name).ok());
    json page = json::parse(ops_page_json(name).take());
    REQUIRE(page["attrs"].size() == table.find(name)->attrs.size());
    REQUIRE(page["kernels"].empty() == table.kernels(name).empty());
  }
}

TEST_CASE("kernels that differ in one constraint become one row") {
  OpTable table;
  auto rows = gather_kernels(table.kernels("Add"));
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].device_type == "DEFAULT");
  CHECK(rows[0].host_memory_args == std::vector<std::string>{"x", "y", "z"});
  auto gather = gather_kernels(table.kernels("GatherNd"));
  CHECK(gather.size() == 2);
  CHECK(gather[1].constraints[1].values == std::vector<std::string>{"int16", "int32", "int64"});
}
