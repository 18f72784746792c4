#include <catch2/catch.hpp>

#include "core/pipeline_options.h"

using namespace emplace;

TEST_CASE("the graph file's config fills what nobody has set") {
  FileConfig config;
  config.allow_soft_placement = true;
  config.log_device_placement = true;
  config.per_process_gpu_memory_fraction = 0.25;
  config.intra_op_parallelism_threads = 3;
  config.virtual_devices = {{{1024, 2048}, {}, {}}};
  PipelineOptions options;
  CHECK(apply_file_config(config, options).size() == 5);
  CHECK(options.placing.allow_soft_placement);
  CHECK(options.placing.log_device_placement == "stderr");
  CHECK(options.devices.memory_fraction == 0.25);
  CHECK(options.run.intra_op_threads == 3);
  REQUIRE(options.devices.virtual_devices.size() == 1);
  CHECK(options.devices.virtual_devices[0].memory_limit_mb == std::vector<double>{1024, 2048});
}

TEST_CASE("a flag beats the graph file's config, also when it says no") {
  FileConfig config;
  config.allow_soft_placement = true;
  config.allow_growth = false;
  PipelineOptions options;
  options.given = {"allow-soft-placement"};
  CHECK(apply_file_config(config, options) == std::vector<std::string>{"allow-growth"});
  CHECK_FALSE(options.placing.allow_soft_placement);
  CHECK_FALSE(options.devices.allow_growth);
}
