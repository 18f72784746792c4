// Names and type lists as groups merge them.
#include <catch2/catch.hpp>

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

TEST_CASE("merging type lists: the side with kernel priorities orders, two that differ cancel out") {
  CHECK(merged({{kGpu, 0}, {kCpu, 0}}, {{kCpu, 0}}) == List{{kCpu, 0}});
  CHECK(merged({{kGpu, 0}}, {{kCpu, 0}}).empty());
  CHECK(merged({{kGpu, 0}, {kCpu, 0}}, {{kCpu, 1}, {kGpu, 0}}) == List{{kCpu, 1}, {kGpu, 0}});
  CHECK(merged({{kCpu, 2}, {kGpu, 0}}, {{kGpu, 0}, {kCpu, 0}}) == List{{kCpu, 2}, {kGpu, 0}});
  CHECK(merged({{kCpu, 2}, {kGpu, 1}}, {{kCpu, 1}, {kGpu, 0}}) == List{{kCpu, 2}, {kGpu, 1}});
  CHECK(merged({{kCpu, 2}, {kGpu, 1}}, {{kGpu, 5}, {kCpu, 0}}) == List{{kGpu, 0}, {kCpu, 0}});
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
