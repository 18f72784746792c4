#include "core/report/run_report.h"

#include <limits>

#include <catch2/catch.hpp>

using namespace emplace;

namespace {

template <class T>
std::string json_of(const Shape& shape, std::vector<T> values) {
  std::string out;
  JsonWriter json(out);
  write_tensor(json, "x:0", Tensor::of<T>(shape, std::span<const T>(values)));
  return out.substr(out.find("\"data\""));
}

DeviceSet cpu_and_gpu() {
  DeviceSet set;
  for (const char* name :
       {"/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"}) {
    Device device;
    device.name = name;
    device.parsed = *DeviceName::parse(name);
    device.type = *device.parsed.type;
    device.memory_limit = int64_t{device.type == "GPU" ? 16 : 0} << 30;
    set.devices.push_back(device);
  }
  return set;
}

}  // namespace

TEST_CASE("tensors are written flat, with numbers that read back to the same bits") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  CHECK(json_of<float>({2, 2}, {0.1f, -0.0f, kInf, std::numeric_limits<float>::quiet_NaN()}) ==
        R"("data": [0.1, -0.0, "Infinity", "NaN"]})");
  CHECK(json_of<double>({1}, {0.1}) == R"("data": [0.1]})");
  CHECK(json_of<int8_t>({2}, {-128, 7}) == R"("data": [-128, 7]})");
  CHECK(json_of<uint64_t>({1}, {~uint64_t{0}}) == R"("data": [18446744073709551615]})");
  CHECK(json_of<half>({1}, {half(1.5f)}) == R"("data": [1.5]})");
  CHECK(json_of<float>({0, 3}, {}) == R"("data": []})");
}

TEST_CASE("a string is text, or base64 when it is not UTF-8 or holds a NUL") {
  CHECK(json_of<std::string>({4}, {"a\"b", "\xff", std::string("a\0b", 3), "h\xc3\xa9"}) ==
        "\"data\": [\"a\\\"b\", {\"base64\": \"/w==\"}, {\"base64\": \"YQBi\"}, \"h\xc3\xa9\"]}");
}

TEST_CASE("step times are percentiles by nearest rank") {
  std::string out;
  JsonWriter writer(out);
  std::vector<double> us;
  for (int i = 100; i >= 1; --i) us.push_back(i);
  write_step_times(writer, us);
  CHECK(out == R"({"n": 100, "min": 1, "p50": 50, "p90": 90, "p99": 99, "max": 100})");
}

TEST_CASE("the peak names the GPUs first, and a limit only where one was set for it") {
  DeviceMemory cpu, gpu;
  cpu.device = 0, cpu.limit = 256 << 20, cpu.peak = 96;
  gpu.device = 1, gpu.limit = int64_t{16} << 30, gpu.peak = int64_t{4} << 30;
  CHECK(peak_text(cpu_and_gpu(), {cpu, gpu}) == "peak GPU:0 4.0/16.0 GiB, CPU:0 96 B");
  cpu.peak = gpu.peak = 0;
  CHECK(peak_text(cpu_and_gpu(), {cpu, gpu}).empty());
}
