// TensorFlow's GPUs made of visible cards: its checks, texts and order (the cases of gpu_device_test.cc), and ours.
#include "core/device/logical_gpus.h"

#include <catch2/catch.hpp>

#include "core/device/physical_gpu.h"

namespace emplace {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
using Virtual = DeviceOptions::VirtualDevices;

DeviceOptions options(const char* list, double fraction, int count, std::vector<Virtual> virtuals = {}) {
  DeviceOptions o;
  o.visible_device_list = list;
  o.memory_fraction = fraction;
  o.device_count["GPU"] = count;
  o.virtual_devices = std::move(virtuals);
  return o;
}

Result<std::vector<LogicalGpu>> make_gpus(const DeviceOptions& o, int cards = 1, int64_t memory = 1024 * kMiB) {
  std::vector<PhysicalGpu> gpus;
  for (int i = 0; i < cards; ++i) {
    gpus.push_back(simulated_gpu(i, memory));
    gpus.back().platform_id = i;
  }
  std::vector<const PhysicalGpu*> visible;
  for (const PhysicalGpu& gpu : gpus) visible.push_back(&gpu);
  return make_logical_gpus(o, visible);
}

std::string failure(const DeviceOptions& o, Code code, int cards = 1) {
  auto result = make_gpus(o, cards);
  CHECK(result.status().code() == code);
  return result.status().message();
}

std::vector<int64_t> limits_mib(const DeviceOptions& o, int cards = 1) {
  auto result = make_gpus(o, cards);
  INFO(result.status().message());
  REQUIRE(result.ok());
  std::vector<int64_t> out;
  for (const LogicalGpu& gpu : *result) out.push_back(gpu.memory_limit / kMiB);
  return out;
}

DeviceOptions flag(const char* logical) {
  DeviceOptions o;
  o.logical_gpus = logical;
  return o;
}

using Limits = std::vector<int64_t>;

TEST_CASE("bad visible lists fail before anything else") {
  CHECK(failure(options("0,abc", 0, 1), Code::kInvalidArgument).starts_with("Could not parse entry"));
  CHECK(failure(options("100", 0, 1), Code::kInvalidArgument)
            .starts_with("'visible_device_list' listed an invalid Device id"));
  CHECK(failure(options("0,0", 0, 1), Code::kInvalidArgument)
            .starts_with("visible_device_list contained a duplicate entry"));
}

TEST_CASE("virtual devices are checked in TensorFlow's order") {
  CHECK(failure(options("0", 0.1, 1, {{}}), Code::kInvalidArgument) ==
        "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.");
  CHECK(failure(options("0", 0, 0, {{}}), Code::kUnknown) ==
        "Not enough GPUs to create virtual devices. num_gpus_to_use: 0 #virtual_devices: 1");
  CHECK(failure(options("0", 0, 8, {{}, {}}), Code::kUnknown) ==
        "Not enough GPUs to create virtual devices. num_gpus_to_use: 1 #virtual_devices: 2");
  CHECK(failure(options("0,1", 0, 8, {{}}), Code::kInvalidArgument, 2) ==
        "The number of GPUs in visible_device_list doesn't match the number of elements in the virtual_devices list."
        " #GPUs in visible_device_list: 2 virtual_devices.size(): 1");
  CHECK(failure(options("", 0, 8, {{}}), Code::kUnknown, 2) ==
        "The number of valid GPUs doesn't match the number of elements in the virtual_devices list. #valid GPUs: 2 "
        "virtual_devices.size(): 1");
}

TEST_CASE("no virtual devices, or one without a limit, is the whole GPU") {
  for (const DeviceOptions& o : {options("0", 0, 1), options("0", 0, 1, {{}})}) {
    auto gpus = make_gpus(o);
    REQUIRE(gpus.ok());
    REQUIRE(gpus->size() == 1);
    CHECK((*gpus)[0].memory_limit == 1024 * kMiB);
    CHECK((*gpus)[0].priority == 0);
  }
}

TEST_CASE("limits and priorities reach the logical GPUs") {
  CHECK(limits_mib(options("0", 0, 1, {{{123}, {}, {}}})) == Limits{123});
  CHECK(limits_mib(options("0", 0, 1, {{{123}, {0}, {}}})) == Limits{123});
  auto two = make_gpus(options("0", 0, 1, {{{123, 456}, {0, -1}, {}}}));
  REQUIRE(two.ok());
  REQUIRE(two->size() == 2);
  CHECK((*two)[0].memory_limit == 123 * kMiB);
  CHECK((*two)[1].memory_limit == 456 * kMiB);
  CHECK((*two)[0].priority == 0);
  CHECK((*two)[1].priority == -1);
  CHECK(make_gpus(options("0", 0, 1, {{{123, 456}, {-1, 0}, {}}})).ok());
}

TEST_CASE("priorities are given for all limits, within CUDA's range") {
  CHECK(failure(options("0", 0, 1, {{{123, 456}, {-9999, 0}, {}}}), Code::kInvalidArgument) ==
        "Priority -9999 is outside the range of supported priorities [-5,0] for virtual device 0 on GPU# 0");
  CHECK(failure(options("0", 0, 1, {{{123, 456}, {0, 1}, {}}}), Code::kInvalidArgument) ==
        "Priority 1 is outside the range of supported priorities [-5,0] for virtual device 0 on GPU# 0");
  CHECK(
      failure(options("0", 0, 1, {{{123, 456}, {0}, {}}}), Code::kInvalidArgument) ==
      "Number of virtual device priorities specified doesn't match with number of memory_limit_mb specified for GPU# 0"
      " memory_limit_mb size: 2 and priority size: 1");
  CHECK(failure(options("", 0, 8, {{{1}, {}, {}}, {{1}, {0}, {}}}), Code::kInvalidArgument, 2) ==
        "Priority must be set for all virtual devices or none. But the priority is specified for 1 while previous "
        "devices didn't have any set.");
}

TEST_CASE("device ordinals reorder the logical GPUs") {
  CHECK(limits_mib(options("0", 0, 1, {{{1, 2}, {}, {2, 1}}})) == Limits{2, 1});
  CHECK(limits_mib(options("0,1", 0, 2, {{{1, 2}, {}, {1, 2}}, {{3, 4}, {}, {1, 2}}}), 2) == Limits{1, 3, 2, 4});
  CHECK(failure(options("0,1", 0, 2, {{{1}, {}, {}}, {{1}, {}, {0}}}), Code::kInvalidArgument, 2) ==
        "Device ordinals must be set for all virtual devices or none. But the device_ordinal is specified for 1 while "
        "previous devices didn't have any set.");
  CHECK(failure(options("0", 0, 1, {{{1, 2}, {}, {1}}}), Code::kInvalidArgument) ==
        "Number of virtual device ordinals specified doesn't match with number of memory_limit_mb specified for GPU# 0"
        " memory_limit_mb size: 2 and device_ordinal size: 1");
}

TEST_CASE("GPU ids follow the visible list") {
  auto gpus = make_gpus(options("1,0", 0, 8, {{{100, 200}, {}, {}}, {}}), 2);
  REQUIRE(gpus.ok());
  REQUIRE(gpus->size() == 3);
  CHECK((*gpus)[0].platform_id == 1);
  CHECK((*gpus)[1].platform_id == 1);
  CHECK((*gpus)[2].platform_id == 0);
  CHECK((*gpus)[2].memory_limit == 1024 * kMiB);
}

TEST_CASE("a count of GPUs is an upper bound, 0 reads no list") {
  DeviceOptions o;
  o.device_count["GPU"] = 1;
  CHECK(limits_mib(o, 3).size() == 1);
  o.device_count["GPU"] = 7;
  CHECK(limits_mib(o, 3).size() == 3);
  o.device_count["GPU"] = 0;
  o.visible_device_list = "nonsense";
  CHECK(limits_mib(o, 3).empty());
}

TEST_CASE("a share or a limit caps each GPU") {
  CHECK(limits_mib(options("", 0.5, 8), 2) == Limits{512, 512});
  DeviceOptions o;
  o.memory_limit = 100 * kMiB;
  CHECK(limits_mib(o) == Limits{100});
  o.memory_fraction = 0.05;
  CHECK(limits_mib(o) == Limits{51});
  o.memory_limit = 2048 * kMiB;
  CHECK(failure(o, Code::kInvalidArgument) == "memory limit 2.0 GiB is more than GPU 0 has (1.0 GiB)");
}

TEST_CASE("the flag names GPUs in use and leaves the others whole") {
  CHECK(limits_mib(flag("0:100,200;1:300"), 2) == Limits{100, 200, 300});
  CHECK(limits_mib(flag("1:300"), 2) == Limits{1024, 300});
  DeviceOptions o = flag("0:100,200");
  o.device_count["GPU"] = 1;
  CHECK(limits_mib(o, 3) == Limits{100, 200});
  CHECK(failure(flag("2:100"), Code::kUnknown, 2) ==
        "Not enough GPUs to create virtual devices. num_gpus_to_use: 2 #virtual_devices: 3");
}

TEST_CASE("the limits of a card's logical GPUs must fit it") {
  CHECK(limits_mib(flag("0:512,512")) == Limits{512, 512});
  CHECK(failure(flag("0:1024,1024"), Code::kInvalidArgument) ==
        "logical GPUs on GPU 0 ask for 2048 MiB together, it has 1024 MiB; lower their limits");
  CHECK(make_gpus(flag("0:4096,4096"), 1, 0).ok());  // the card's memory is not known
}

TEST_CASE("limits are whole MiB above zero") {
  CHECK(limits_mib(flag("0:100.9")) == Limits{100});
  for (const char* text : {"0:0", "0:-5", "0:0.5", "0:nan"}) {
    CHECK(failure(flag(text), Code::kInvalidArgument).ends_with("of a logical GPU on GPU 0 must be at least 1 MiB"));
  }
  CHECK(failure(flag("0:1e300"), Code::kInvalidArgument).ends_with("is too large"));
  DeviceOptions both = flag("0:100");
  both.memory_limit = kMiB;
  CHECK_FALSE(make_gpus(both).ok());
}

TEST_CASE("a malformed split is explained") {
  for (const char* text : {"", "0", "x:1", "-1:5", ":5", "0:1;", "0:1;;1:2", "5000:1"}) {
    auto result = parse_logical_gpus(text);
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().message().find("INDEX:MIB") != std::string::npos);
  }
  CHECK(parse_logical_gpus("0:1GiB").status().message() == "'1GiB' in logical GPUs '0:1GiB' is not a number of MiB");
  CHECK_FALSE(parse_logical_gpus("0:").ok());
  CHECK(parse_logical_gpus("0:1;0:2").status().message() ==
        "logical GPUs '0:1;0:2' name GPU 0 twice; list all its limits after one 0:");
}

}  // namespace
}  // namespace emplace
