// Graph files of any bytes through load, validate and place: a typed and placed graph, or problems that can be printed.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/device/make_device_set.h"
#include "core/partition/copies.h"
#include "core/place/placement.h"
#include "tests/fuzz/exact_source.h"

using namespace emplace;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

const DeviceSet& two_devices() {
  static const DeviceSet devices = [] {
    DeviceOptions options;
    options.devices = "CPU,2xGPU:1GiB";
    std::vector<std::string> warnings;
    return make_device_set(
               options, [](const char*) -> const char* { return nullptr; }, warnings)
        .take();
  }();
  return devices;
}

void check_types(const Graph& g) {
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    require(g.type(id).input_types.size() == g.inputs(id).size());
    for (uint32_t slot = 0; slot < g.num_outputs(id); ++slot) g.output_shape({id, slot});
  }
}

void check_place(const GraphFile& file, bool soft) {
  PlaceOptions options;
  options.allow_soft_placement = options.log_device_placement = soft;
  std::vector<std::string> details;
  Result<Placement> placement = place(file, two_devices(), options, details);
  if (!placement.ok()) return require(!details.empty());
  require(placement->order.size() == file.graph.num_nodes());
  for (const Decision& d : placement->decisions) require(d.device < two_devices().size() && d.reason != Reason::kNone);
  plan_copies(file, two_devices(), *placement);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto source = std::make_shared<ExactSource>(data, size);
  LoadOptions options;
  options.max_fill_bytes = 1 << 20;
  Problems problems, contradictions;
  auto file = load(source, options, problems);
  if (problems.empty()) validate(*file, problems, &contradictions);
  if (!problems.empty()) {
    require(!problems.to_string(*source).empty());
    return 0;
  }
  check_types(file->graph);
  check_place(*file, false);
  check_place(*file, true);
  return 0;
}
