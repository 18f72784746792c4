// The memory plan knows what kernels of a GPU take for their work: every op sample, and ops on variables, as graphs on
// the stand-in. (That each kernel says what it takes is checked wherever kernel_case.h runs one.)
#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "core/graph/graph_file.h"
#include "core/place/placement.h"
#include "cuda/backend.h"
#include "tests/unit/formats/loading.h"
#include "tests/unit/ops/sample_graph.h"
#include "tests/unit/run/run_case.h"

namespace emplace::cuda::testing {
namespace {

using emplace::testing::RunCase;
using emplace::testing::sample_graph;

/// How many elements come out only the device knows: the pool has the outputs, too, and no plan says how large they
/// are.
bool sized_by_elements(std::string_view op) {
  return op == "DynamicPartition" || op == "ListDiff" || op == "Unique" || op == "Where" || op.starts_with("Segment");
}

struct Use {
  bool ran = false;
  int64_t planned = 0, taken = 0;  // of GPU:0's pool
};

/// A graph file with everything on GPU:0 that can be there: what the plan says of the pool before the first step, and
/// what the steps took of it.
Use use_of(const std::string& text, const std::vector<std::pair<std::string, Tensor>>& feeds, bool fetches_node_y) {
  Loaded loaded(text);
  Problems problems;
  if (loaded.errors() != "") return {};
  GraphFile& file = *loaded.operator->();
  validate(file, problems);
  if (!problems.empty()) return {};

  CudaBackend backend;
  RunCase machine(1);
  machine.devices.gpus = &backend;
  machine.devices.physical_gpus = backend.enumerate().take();
  Device& gpu = machine.devices.devices[1];
  gpu.kind = DeviceKind::kCuda;
  gpu.physical_gpu = 0;

  SessionOptions options;
  for (const auto& [name, value] : feeds) options.feeds.emplace_back(Endpoint{file.graph.find(name), 0}, value);
  const NodeId y = file.graph.find("y");
  if (fetches_node_y) {
    for (uint32_t i = 0; i < file.graph.type(y).output_types.size(); ++i) options.fetches.push_back({y, i});
  } else {
    options.targets.push_back(y);
  }
  if (options.fetches.empty() && fetches_node_y) options.targets.push_back(y);
  options.gpu.exec = GpuExec::kEager;
  std::vector<std::string> offenders;
  PlaceOptions place_options;
  place_options.allow_soft_placement = true;
  auto placement = place(file, machine.devices, place_options, offenders);
  if (!placement.ok()) return {};
  auto session = Session::create(file, machine.devices, *placement, options);
  if (!session.ok()) return {};

  std::vector<NodeId> init;
  for (const FileVariable& v : file.variables) init.push_back(v.assign);
  Use use;
  use.planned = (*session)->memory()[1].pool;
  std::vector<Tensor> outputs;
  if (!(*session)->run_nodes(init).ok()) return {};
  for (int i = 0; i < 2; ++i) {
    if (!(*session)->step(outputs).ok()) return {};
  }
  use.ran = true;
  use.taken = (*session)->memory()[1].pool;
  return use;
}

TEST_CASE("kernels of static shapes take no scratch that the plan does not know") {
  int ran = 0, with_scratch = 0;
  for (std::string_view name : OpLibrary::names()) {
    const OpDef& op = *OpLibrary::find(name);
    for (const std::string& text : op.samples()) {
      const auto sample = sample_graph(op, text);
      const Use use = use_of(sample.text, sample.inputs, true);
      if (!use.ran) continue;
      ++ran;
      with_scratch += use.taken > 0;
      INFO(name << ": " << text << ": " << use.taken << " bytes taken, " << use.planned << " planned");
      if (!sized_by_elements(name)) CHECK(use.taken <= use.planned);
    }
  }
  CHECK(ran >= 250);
  CHECK(with_scratch >= 10);
}

/// `op` on rows of a variable of 50000 x 3 and, where it has one, of its slot; indices of 3000 rows.
std::string rows_update(const std::string& op, bool by_handle) {
  const std::string rows = R"({"dtype": "float32", "shape": [3000, 3], "fill": 0.5})";
  const std::string indices = R"({"dtype": "int32", "shape": [3000], "fill": 7})";
  const std::string epsilon = op.ends_with("V2") ? ", 0.25" : "";
  const std::string inputs = op.find("Apply") == std::string::npos
                                 ? cat(R"("v", )", indices, ", ", rows)
                                 : cat(R"("v", "slot", 0.125)", epsilon, ", ", rows, ", ", indices);
  const std::string resource = by_handle ? "true" : "false";
  std::string text = R"({"node": [)";
  for (std::string_view name : {"v", "slot"}) {
    append(
        text, R"({"name": ")", name,
        R"(", "op": "Variable", "initial_value": {"dtype": "float32", "shape": [50000, 3], "fill": 1}, "resource": )",
        resource, "},");
  }
  return cat(text, R"({"name": "y", "op": ")", op, R"(", "input": [)", inputs, "]}]}");
}

TEST_CASE("updates of rows of a variable take what the plan says, and that in proportion to the rows") {
  for (std::string op : {"ScatterAdd", "ScatterSub", "ScatterUpdate", "SparseApplyAdagrad", "SparseApplyAdagradV2"}) {
    for (bool by_handle : {false, true}) {
      const Use use = use_of(rows_update(by_handle ? "Resource" + op : op, by_handle), {}, false);
      INFO(op << (by_handle ? " by handle: " : ": ") << use.taken << " bytes taken, " << use.planned << " planned");
      CHECK(use.ran);
      CHECK(use.taken > 0);
      CHECK(use.taken <= use.planned);
      CHECK(use.planned < 128 * 1024);
    }
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
