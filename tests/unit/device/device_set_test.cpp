// Sets of devices: this machine, simulated and described ones; what the environment changes; reports that read back.
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/device/described.h"
#include "core/device/growth.h"
#include "core/device/make_device_set.h"
#include "core/report/devices_report.h"

namespace emplace {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
const std::string kLocal = "/job:localhost/replica:0/task:0/device:";

const char* cuda_visible = nullptr;
const char* force_growth = nullptr;
const char* environment(const char* name) {
  if (std::strcmp(name, "CUDA_VISIBLE_DEVICES") == 0) return cuda_visible;
  return std::strcmp(name, "TF_FORCE_GPU_ALLOW_GROWTH") == 0 ? force_growth : nullptr;
}

struct Made {
  DeviceSet set;
  std::vector<std::string> warnings;
};

Made make(const DeviceOptions& options) {
  Made made;
  auto result = make_device_set(options, environment, made.warnings);
  INFO(result.status().message());
  REQUIRE(result.ok());
  made.set = result.take();
  return made;
}

std::string failure(const DeviceOptions& options) {
  std::vector<std::string> warnings;
  auto result = make_device_set(options, environment, warnings);
  REQUIRE(result.status().code() == Code::kInvalidArgument);
  return result.status().message();
}

DeviceOptions simulated(int count, int64_t memory = 0) {
  DeviceOptions o;
  o.simulate_gpus = count;
  o.simulated_memory = memory;
  return o;
}

DeviceOptions described(std::string spec) {
  DeviceOptions o;
  o.devices = std::move(spec);
  return o;
}

std::vector<std::string> names(const DeviceSet& set) {
  std::vector<std::string> out;
  for (const Device& d : set.devices) out.push_back(d.name.starts_with(kLocal) ? d.name.substr(kLocal.size()) : d.name);
  return out;
}
using Names = std::vector<std::string>;

TEST_CASE("this machine has a CPU, and GPUs or a reason why not") {
  DeviceSet set = make({}).set;
  CHECK(names(set).front() == "CPU:0");
  CHECK(set.runnable);
  CHECK(set.no_gpu_cause.empty() == (set.size() > 1));
  CHECK(set.find(kLocal + "CPU:0") == 0);
  CHECK(set.find("/job:localhost/replica:0/task:0/cpu:0") == 0);
  if (set.size() == 1) CHECK(set.find(kLocal + "GPU:0") == kNoDevice);
  CHECK(set.find("/cpu:0") == kNoDevice);
}

TEST_CASE("simulated GPUs come after the CPU, with a description, memory and links") {
  DeviceSet set = make(simulated(2)).set;
  CHECK(names(set) == Names{"CPU:0", "GPU:0", "GPU:1"});
  CHECK(set.no_gpu_cause.empty());
  CHECK(set.devices[0].physical_description.empty());
  CHECK(set.devices[2].physical_description ==
        "device: 1, name: Simulated GPU, pci bus id: 0000:02:00.0, compute capability: 0.0");
  CHECK(set.devices[1].memory_limit == 16 * kGiB);
  REQUIRE(set.devices[1].links.size() == 1);
  CHECK(set.devices[1].links[0].device_id == 1);
  CHECK(set.devices[1].links[0].type == "StreamExecutor");
  CHECK(make(simulated(1, kGiB)).set.devices[1].memory_limit == kGiB);
}

TEST_CASE("CUDA_VISIBLE_DEVICES and the visible list remap simulated GPUs one after the other") {
  cuda_visible = "2,1";
  DeviceOptions o = simulated(3);
  o.visible_device_list = "1,0";
  DeviceSet set = make(o).set;
  cuda_visible = nullptr;
  REQUIRE(names(set) == Names{"CPU:0", "GPU:0", "GPU:1"});
  CHECK(set.devices[1].physical_gpu == 1);
  CHECK(set.devices[1].physical_description.starts_with("device: 1, name: Simulated GPU, pci bus id: 0000:02:00.0"));
  CHECK(set.devices[2].physical_gpu == 2);
  CHECK(set.physical_gpus[0].platform_id == -1);
}

TEST_CASE("a masked machine says so and is not an error") {
  cuda_visible = "";
  DeviceOptions o = simulated(2);
  o.visible_device_list = "7";
  CHECK(make(o).set.no_gpu_cause == "CUDA_VISIBLE_DEVICES= hides all 2 GPUs");
  cuda_visible = "-1";
  CHECK(make(simulated(1)).set.no_gpu_cause == "CUDA_VISIBLE_DEVICES=-1 hides the only GPU");
  o = simulated(1);
  o.logical_gpus = "0:1";
  CHECK(make(o).warnings ==
        Names{"logical GPUs '0:1' have no effect, there is no GPU: CUDA_VISIBLE_DEVICES=-1 hides the only GPU"});
  cuda_visible = nullptr;
}

TEST_CASE("device counts bound GPUs and make CPUs") {
  DeviceOptions o = simulated(3);
  o.device_count = {{"GPU", 1}, {"CPU", 2}};
  CHECK(names(make(o).set) == Names{"CPU:0", "CPU:1", "GPU:0"});
  o.device_count = {{"GPU", 0}};
  CHECK(make(o).set.no_gpu_cause == "device count GPU=0");
  o.device_count = {{"CPU", 0}};
  CHECK(failure(o).starts_with("device count CPU=0"));
  o.device_count = {{"GPU", -1}};
  CHECK(failure(o).starts_with("device count GPU=-1"));
}

TEST_CASE("logical GPUs of one card share its description and are linked to each other") {
  DeviceOptions o = simulated(1);
  o.virtual_devices = {{{123, 456}, {0, -1}, {}}};
  DeviceSet set = make(o).set;
  REQUIRE(names(set) == Names{"CPU:0", "GPU:0", "GPU:1"});
  CHECK(set.devices[1].physical_description == set.devices[2].physical_description);
  CHECK(set.devices[2].memory_limit == int64_t{456} << 20);
  CHECK(set.devices[2].stream_priority == -1);
  for (size_t i : {1, 2}) {
    REQUIRE(set.devices[i].links.size() == 1);
    CHECK(set.devices[i].links[0].type == "SAME_DEVICE");
    CHECK(set.devices[i].links[0].strength == 1000);
    CHECK(set.devices[i].links[0].device_id == static_cast<int>(2 - i));
  }
}

TEST_CASE("the memory share must lie in (0, 1]") {
  for (double fraction : {-0.1, 1.2}) {
    DeviceOptions o = simulated(1);
    o.memory_fraction = fraction;
    CHECK(failure(o).ends_with("must be greater than 0 and at most 1"));
  }
  DeviceOptions o = simulated(1, kGiB);
  o.memory_fraction = 0.25;
  CHECK(make(o).set.devices[1].memory_limit == kGiB / 4);
}

TEST_CASE("TF_FORCE_GPU_ALLOW_GROWTH beats the option") {
  DeviceOptions o = simulated(1);
  force_growth = "false";
  Made made = make(o);
  CHECK_FALSE(made.set.allow_growth);
  CHECK(made.warnings ==
        Names{"Overriding allow_growth setting because the TF_FORCE_GPU_ALLOW_GROWTH environment variable is set. "
              "Original config value was 1."});
  o.allow_growth = false;
  made = make(o);
  CHECK_FALSE(made.set.allow_growth);
  CHECK(made.warnings.empty());
  for (const char* text : {"1", "True", ""}) {
    force_growth = text;
    made = make(o);
    CHECK_FALSE(made.set.allow_growth);
    CHECK(made.warnings.empty());
    CHECK(settle_growth(false, text).error ==
          std::string("The TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be parsed: \"") + text +
              "\". Valid values are \"true\" or \"false\". Using original config value of 0.");
  }
  force_growth = nullptr;
}

TEST_CASE("a machine is described in short form") {
  DeviceSet set = make(described("2xGPU:16GiB,cpu,GPU,CPU:8GiB,TPU")).set;
  CHECK(names(set) == Names{"CPU:0", "CPU:1", "GPU:0", "GPU:1", "GPU:2", "TPU:0"});
  CHECK_FALSE(set.runnable);
  CHECK(set.devices[1].memory_limit == 8 * kGiB);
  CHECK(set.devices[3].memory_limit == 16 * kGiB);
  CHECK(set.devices[4].memory_limit == 0);
  CHECK(set.devices[2].physical_description.empty());
  CHECK(set.devices[2].kind == DeviceKind::kDescribed);
  CHECK(make(described("CPU")).set.no_gpu_cause == "--devices CPU names none");
}

TEST_CASE("splits, lists and caps act on a described machine; the environment does not") {
  cuda_visible = "";
  DeviceOptions o = described("CPU,2xGPU:4GiB");
  o.logical_gpus = "0:1024,1024;1:2048";
  DeviceSet set = make(o).set;
  cuda_visible = nullptr;
  CHECK(names(set) == Names{"CPU:0", "GPU:0", "GPU:1", "GPU:2"});
  CHECK(set.devices[3].memory_limit == 2 * kGiB);
  CHECK(set.devices[3].physical_gpu == 1);
}

TEST_CASE("devices are described by name, in the order written") {
  Made made = make(described("/job:a/task:1/replica:0/gpu:0:8GiB,CPU:0,/device:TPU:3,gpu:1:512MiB,/job:b/cpu:0"));
  CHECK(names(made.set) == Names{"/job:a/replica:0/task:1/device:GPU:0", "CPU:0", "TPU:3", "GPU:1",
                                 "/job:b/replica:0/task:0/device:CPU:0"});
  CHECK(made.set.devices[0].memory_limit == 8 * kGiB);
  CHECK(made.set.devices[3].memory_limit == kGiB / 2);
  CHECK(made.warnings.empty());
  DeviceOptions o = described("CPU:0,GPU:0");
  o.memory_fraction = 0.5;
  CHECK(make(o).warnings.size() == 1);
}

TEST_CASE("a wrong description names the entry and the forms") {
  struct Case {
    const char *spec, *text;
  };
  for (auto [spec, text] :
       {Case{"CPU,,GPU", "'CPU,,GPU' has an empty entry"}, Case{"CPU,", "has an empty entry"},
        Case{"2x", "'2x' names no device type"}, Case{"0xGPU", "'0xGPU' has a count outside 1 to 65000"},
        Case{"99999999999xGPU", "has a count outside"}, Case{"65000xGPU,CPU", "asks for 65001 devices"},
        Case{"2xGPU:16", "'2xGPU:16' has a memory size without a unit"}, Case{"GPU:16QiB", "'16QiB' is not a size"},
        Case{"/job:a/gpu", "is not a device name"}, Case{"/job:a", "names no device type and number"},
        Case{"/device:GPU", "names no device type and number"},
        Case{"CPU,GPU:0", "mixes counts of a machine with device names"}, Case{"GPU:0,/gpu:0", "is described twice"},
        Case{"*", "names no device type"}, Case{"GP-U", "names no device type"}}) {
    std::string message = failure(described(spec));
    INFO(spec << ": " << message);
    CHECK(message.find(text) != std::string::npos);
  }
  DeviceOptions both = simulated(1);
  both.devices = "CPU";
  CHECK(failure(both).find("give one of them") != std::string::npos);
}

TEST_CASE("the JSON report reads back to the same devices") {
  DeviceOptions o = simulated(2, kGiB);
  o.logical_gpus = "1:100,200";
  DeviceSet set = make(o).set;
  set.devices[1].capability = {{"memory_bandwidth", 2e12}, {"peak_flops.float32", 6.7e13}};
  auto read = parse_device_attributes(devices_json(set), "devices.json");
  INFO(read.status().message());
  REQUIRE(read.ok());
  REQUIRE(read->size() == set.size());
  for (DeviceId i = 0; i < set.size(); ++i) {
    const Device &a = set.devices[i], &b = (*read)[i];
    CHECK(b.name == a.name);
    CHECK(b.type == a.type);
    CHECK(b.memory_limit == a.memory_limit);
    CHECK(b.physical_description == a.physical_description);
    CHECK(b.capability == a.capability);
    REQUIRE(b.links.size() == a.links.size());
    for (size_t k = 0; k < a.links.size(); ++k) {
      CHECK(b.links[k].device_id == a.links[k].device_id);
      CHECK(b.links[k].type == a.links[k].type);
      CHECK(b.links[k].strength == a.links[k].strength);
    }
  }
  DeviceSet again;
  again.devices = *read;
  again.runnable = false;
  CHECK(parse_device_attributes(devices_json(again), "again")->size() == set.size());
}

TEST_CASE("DeviceAttributes are read in protobuf's JSON too") {
  auto read = parse_device_attributes(
      R"([{"name": "/job:localhost/replica:0/task:0/device:GPU:0", "deviceType": "GPU", "memoryLimit": "14444920832",
      "locality": {"busId": 1, "links": {}}, "incarnation": "8874316", "physicalDeviceDesc": "device: 0, name: T4", "xlaGlobalId": 4,
      "capability": {"peak_flops": {"float32": 8e12}, "memory_bandwidth": 3e11}}])",
      "x");
  INFO(read.status().message());
  REQUIRE(read.ok());
  CHECK((*read)[0].memory_limit == 14444920832);
  CHECK((*read)[0].physical_description == "device: 0, name: T4");
  CHECK((*read)[0].capability.at("peak_flops.float32") == 8e12);
}

TEST_CASE("a damaged devices file says what is wrong where") {
  struct Case {
    const char *json, *text;
  };
  for (auto [json, text] :
       {Case{"", "d.json:1:1: not JSON: "}, Case{"[{", "d.json:1:3: not JSON: "},
        Case{"{}", "wanted a list of DeviceAttributes"}, Case{"3", "wanted a list"},
        Case{"[3]", "device 0: found 3, wanted an object"}, Case{R"([{"name": 3}])", "wanted a device name"},
        Case{R"([{"name": "/gpu:0"}])", "wanted a full device name"},
        Case{R"([{"name": "/job:a/replica:0/task:0/gpu:0", "device_type": "CPU"}])",
             "wanted \"GPU\", the type in its name"},
        Case{R"([{"name": "/job:a/replica:0/task:0/gpu:0", "memory_limit": -1}])",
             "found -1, wanted a whole number from 0"},
        Case{R"([{"name": "/job:a/replica:0/task:0/gpu:0", "memory_limit": 18446744073709551615}])",
             "wanted a whole number"},
        Case{R"([{"name": "/job:a/replica:0/task:0/gpu:0", "memory_limit": "x"}])", "wanted a whole number"},
        Case{R"([{"name": "/job:a/replica:0/task:0/gpu:0", "memory": 1}])", "unknown key \"memory\""},
        Case{R"([{"name": "/job:a/replica:0/task:0/gpu:0", "locality": {"links": [{"id": 1}]}}])", "wanted a link"},
        Case{R"([{"name": "/job:a/replica:0/task:0/gpu:0", "capability": {"a": {"b": {"c": 1}}}}])",
             "in at most two levels"},
        Case{R"([{"name": "/job:a/replica:0/task:0/gpu:0", "capability": 1}])", "numbers by name"}}) {
    auto read = parse_device_attributes(json, "d.json");
    REQUIRE(read.status().code() == Code::kInvalidArgument);
    INFO(json << ": " << read.status().message());
    CHECK(read.status().message().starts_with("d.json:"));
    CHECK(read.status().message().find(text) != std::string::npos);
  }
  CHECK_FALSE(parse_device_attributes(std::string(100000, '['), "deep").ok());
}

TEST_CASE("--devices @file reads a file") {
  char path_template[] = "/tmp/emplace_devices_XXXXXX";
  int file = mkstemp(path_template);
  REQUIRE(file >= 0);
  close(file);
  std::string path = path_template;
  std::ofstream(path) << devices_json(make(simulated(1)).set);
  DeviceSet set = make(described("@" + path)).set;
  std::remove(path.c_str());
  CHECK(names(set) == Names{"CPU:0", "GPU:0"});
  CHECK(set.devices[1].physical_description.starts_with("device: 0, name: Simulated GPU"));
  std::vector<std::string> warnings;
  CHECK(make_device_set(described("@" + path), environment, warnings).status().message() ==
        "--devices: cannot read '" + path + "': No such file or directory");
}

TEST_CASE("the device table shows devices, cards and links") {
  cuda_visible = "1";
  DeviceOptions o = simulated(2, kGiB);
  o.logical_gpus = "0:100,200";
  std::string text = devices_table(make(o).set, 0);
  cuda_visible = nullptr;
  CHECK(text ==
        "device                                        memory     kind       description\n"
        "/job:localhost/replica:0/task:0/device:CPU:0  -          cpu        -\n"
        "/job:localhost/replica:0/task:0/device:GPU:0  100.0 MiB  simulated  device: 0, name: Simulated GPU, pci bus "
        "id: 0000:02:00.0, compute capability: 0.0\n"
        "/job:localhost/replica:0/task:0/device:GPU:1  200.0 MiB  simulated  device: 0, name: Simulated GPU, pci bus "
        "id: 0000:02:00.0, compute capability: 0.0\n"
        "\n"
        "card  CUDA    TensorFlow   PCI bus id    memory   UUID                                      name\n"
        "0     hidden  -            0000:01:00.0  1.0 GiB  GPU-00000000-73a1-4d75-8c61-74655f677075  Simulated GPU\n"
        "1     0       GPU:0 GPU:1  0000:02:00.0  1.0 GiB  GPU-00000001-73a1-4d75-8c61-74655f677075  Simulated GPU\n"
        "\n"
        "link   to     type         strength\n"
        "GPU:0  GPU:1  SAME_DEVICE  1000\n"
        "GPU:1  GPU:0  SAME_DEVICE  1000\n");
  CHECK(devices_table(make({}).set, 0).find("\nno GPU: ") != std::string::npos);
}

TEST_CASE("a parsed name is answered in JSON") {
  CHECK(parse_name_json("/gpu:1/job:a") ==
        "{\"schema_version\": 1, \"valid\": true, \"canonical\": \"/job:a/device:GPU:1\"}\n");
  CHECK(parse_name_json("gpu:1") == "{\"schema_version\": 1, \"valid\": false}\n");
  CHECK(parse_name_text("/gpu:1") == "/device:GPU:1\n");
  CHECK(parse_name_text("gpu") == "malformed\n");
}

}  // namespace
}  // namespace emplace
