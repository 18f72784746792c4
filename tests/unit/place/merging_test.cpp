// Names and type lists as groups merge them.
#include <catch2/catch.hpp>
#include <string_view>

#include "core/place/device_types.h"
#include "core/place/name_table.h"
#include "tests/unit/place/place_fixture.h"

using namespace emplace;

namespace {

constexpr uint16_t kGpu = 0, kCpu = 1;  // GPU comes before CPU

std::vector<SupportedType> merged(std::vector<SupportedType> root, std::vector<SupportedType> other) {
  TypeLists lists(device_set("CPU:0 GPU:0"));
  const TypesId a = lists.intern(std::move(root)), b = lists.intern(std::move(other));
  return lists.at(lists.intersect(a, b));
}

using List = std::vector<SupportedType>;

}  // namespace

TEST_CASE("types come in TensorFlow's order") {
  const TypeLists lists(device_set("XLA_CPU:0 CPU:0 ZPU:0 GPU:0 APU:0 GPU:1"));
  CHECK(lists.types() == std::vector<std::string>{"GPU", "CPU", "XLA_CPU", "APU", "ZPU"});
}

TEST_CASE("a type that no device has gets a number of its own, a known one keeps its") {
  TypeLists lists(device_set("CPU:0 GPU:0"));
  CHECK(lists.at(kNoTypes).empty());
  CHECK(lists.add("GPU") == kGpu);
  const uint16_t fpga = lists.add("FPGA");
  CHECK(fpga == 2);
  CHECK(lists.add("FPGA") == fpga);
  CHECK(lists.find("FPGA") == 2);
  CHECK(lists.find("TPU") == -1);
  CHECK(lists.add("TPU") == 3);
}

TEST_CASE("XLA's types leave a list unless it has nothing else") {
  for (const std::string_view type : {"XLA_CPU", "XLA_GPU", "TPU", "XLA_CPU_JIT", "XLA_TPU_JIT"})
    CHECK(is_xla_type(type));
  for (const std::string_view type : {"GPU", "CPU", "XLA_FPGA", "CPU_JIT"}) CHECK(!is_xla_type(type));
  TypeLists lists(device_set("CPU:0 XLA_CPU:0"));
  const TypesId both = lists.intern({{0, 0}, {1, 0}}), xla = lists.intern({{1, 0}}), cpu = lists.intern({{0, 0}});
  CHECK(lists.without_xla(both) == cpu);
  CHECK(lists.without_xla(xla) == xla);
  CHECK(lists.without_xla(cpu) == cpu);
  CHECK(lists.without_xla(kNoTypes) == kNoTypes);
}

TEST_CASE("merging type lists: the side with kernel priorities orders, two that differ cancel out") {
  CHECK(merged({{kGpu, 0}, {kCpu, 0}}, {{kCpu, 0}}) == List{{kCpu, 0}});
  CHECK(merged({{kGpu, 0}}, {{kCpu, 0}}).empty());
  CHECK(merged({{kGpu, 0}, {kCpu, 0}}, {{kCpu, 1}, {kGpu, 0}}) == List{{kCpu, 1}, {kGpu, 0}});
  CHECK(merged({{kCpu, 2}, {kGpu, 0}}, {{kGpu, 0}, {kCpu, 0}}) == List{{kCpu, 2}, {kGpu, 0}});
  CHECK(merged({{kCpu, 2}, {kGpu, 1}}, {{kCpu, 1}, {kGpu, 0}}) == List{{kCpu, 2}, {kGpu, 1}});
  CHECK(merged({{kCpu, 2}, {kGpu, 1}}, {{kGpu, 5}, {kCpu, 0}}) == List{{kGpu, 0}, {kCpu, 0}});
  CHECK(merged({{kGpu, 1}, {kCpu, 1}}, {{kGpu, 0}, {kCpu, 0}}) == List{{kGpu, 1}, {kCpu, 1}});
  CHECK(merged({{kCpu, 1}, {kGpu, 1}}, {{kCpu, 0}, {kGpu, 0}}) == List{{kGpu, 1}, {kCpu, 1}});
}

TEST_CASE("names are kept once, whatever their spelling") {
  NameTable names;
  const NameId gpu = *names.parse("/gpu:0");
  CHECK(gpu == *names.parse("/device:GPU:0"));
  CHECK(*names.parse("/device:*:3") != kNoName);
  CHECK(*names.parse("") == kNoName);
  CHECK(!names.parse("gpu:0"));
  CHECK(names.compatible(gpu, *names.parse("/job:a")));
  CHECK(!names.compatible(gpu, *names.parse("/cpu:0")));
  CHECK(names.text(*names.merge(gpu, *names.parse("/gpu:1"), MergeMode::kSoft)) == "/device:GPU:*");
  CHECK(names.merge(gpu, *names.parse("/gpu:1"), MergeMode::kStrict).status().message() ==
        "Cannot merge devices with incompatible ids: '/device:GPU:0' and '/device:GPU:1'");
  CHECK(names.text(names.specify(gpu, *names.parse("/job:a/cpu:1"))) == "/job:a/device:CPU:1");
}
