// CUDA_VISIBLE_DEVICES as the driver reads it, and TensorFlow's visible_device_list on top of it.
#include "core/device/visible_devices.h"

#include <catch2/catch.hpp>

#include "core/device/physical_gpu.h"

namespace emplace {
namespace {

using Ids = std::vector<int>;

std::vector<PhysicalGpu> cards(int count) {
  std::vector<PhysicalGpu> gpus;
  for (int i = 0; i < count; ++i) gpus.push_back(simulated_gpu(i, 0));
  return gpus;
}

Ids visible(const char* value, int count) { return cuda_visible_devices(value, cards(count)); }

TEST_CASE("CUDA_VISIBLE_DEVICES selects and orders by index") {
  CHECK(visible(nullptr, 3) == Ids{0, 1, 2});
  CHECK(visible("", 3).empty());
  CHECK(visible("2,1", 3) == Ids{2, 1});
  CHECK(visible("1", 2) == Ids{1});
  CHECK(visible("4,3,two,one", 5) == Ids{4, 3});
}

TEST_CASE("an entry that names no GPU ends the list") {
  CHECK(visible("0,2,-1,1", 3) == Ids{0, 2});
  CHECK(visible("-1", 3).empty());
  CHECK(visible("99", 3).empty());
  CHECK(visible("0,5,1", 2) == Ids{0});
  CHECK(visible("one,two,3,4", 5).empty());
  CHECK(visible("1,,0", 2) == Ids{1});
  CHECK(visible("NoDevFiles", 2).empty());
  CHECK(visible("99999999999999999999", 2).empty());
}

TEST_CASE("a GPU named twice empties the list") {
  CHECK(visible("0,0", 3).empty());
  CHECK(visible("0,1,2,1", 3).empty());
  CHECK(visible("1,+1", 3).empty());
}

TEST_CASE("a mask that names what is not there, or something twice, is told") {
  const auto oddity = [](const char* value, int count) { return mask_oddity(value, cards(count)); };
  CHECK(oddity("0,7,1", 2) ==
        "CUDA_VISIBLE_DEVICES=0,7,1: there is no GPU '7' (2 GPUs here), which hides it and all that follow it");
  CHECK(oddity("one", 1) ==
        "CUDA_VISIBLE_DEVICES=one: there is no GPU 'one' (1 GPU here), which hides it and all that follow it");
  CHECK(oddity("1,0,1", 2) == "CUDA_VISIBLE_DEVICES=1,0,1 names '1' twice, which hides every GPU");
  for (const char* plain : {"", "0", "1,0", "-1", "0,-1,1", "NoDevFiles", "1,,0"}) CHECK(oddity(plain, 2).empty());
  CHECK(oddity(nullptr, 2).empty());
  CHECK(oddity("7", 0).empty());
}

TEST_CASE("indices are read as strtoul reads them") {
  CHECK(visible(" 0 , 1", 3) == Ids{0, 1});
  CHECK(visible("1gpu2,2ampere", 3) == Ids{1, 2});
  CHECK(visible("2, +3, -0, 5", 6) == Ids{2, 3, 0, 5});
  CHECK(visible("+-1", 3).empty());
}

TEST_CASE("GPUs are named by a unique leading part of their UUID") {
  std::vector<PhysicalGpu> gpus = cards(3);
  gpus[0].uuid = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";
  gpus[1].uuid = "GPU-8abc0000-0000-0000-0000-000000000000";
  gpus[2].uuid = "GPU-12300000-0000-0000-0000-000000000000";
  auto by_uuid = [&](const char* value) { return cuda_visible_devices(value, gpus); };
  CHECK(by_uuid("GPU-8932f937") == Ids{0});
  CHECK(by_uuid("GPU-123,GPU-8932f937-d72c-4106-c12f-20bd9faed9f6") == Ids{2, 0});
  CHECK(by_uuid(" GPU-123 , GPU-8a") == Ids{2, 1});
  CHECK(by_uuid("GPU-123, 2") == Ids{2});  // an entry of another kind
  CHECK(by_uuid("0,GPU-123") == Ids{0});
  CHECK(by_uuid("GPU-123,GPU-8").size() == 1);          // ambiguous
  CHECK(by_uuid("GPU-123,GPU-ffff,GPU-8a") == Ids{2});  // unknown
  CHECK(by_uuid("GPU-123,GPU-1230").empty());           // the same card twice
  CHECK(by_uuid("MIG-GPU-123/0/0").empty());
  CHECK(by_uuid("MIG-12345").empty());
}

TEST_CASE("of MIG instances a process sees the first that is named") {
  std::vector<PhysicalGpu> gpus = cards(3);
  gpus[0].uuid = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";
  gpus[1].uuid = "MIG-11110000-0000-5000-8000-000000000001";
  gpus[2].uuid = "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/7/0";
  auto by_uuid = [&](const char* value) { return cuda_visible_devices(value, gpus); };
  CHECK(by_uuid("MIG-11110000-0000-5000-8000-000000000001") == Ids{1});
  CHECK(by_uuid("MIG-1111") == Ids{1});
  CHECK(by_uuid("MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/7/0") == Ids{2});
  CHECK(by_uuid("MIG-1111,MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/7/0") == Ids{1});
  CHECK(by_uuid("MIG-2222,MIG-1111").empty());
  CHECK(by_uuid("MIG-").empty());  // ambiguous
  CHECK(by_uuid("GPU-8932,MIG-1111") == Ids{0});
}

TEST_CASE("simulated GPUs can be told apart by their UUIDs") {
  CHECK(visible("GPU-00000002,GPU-00000000", 3) == Ids{2, 0});
  CHECK(visible("GPU-0", 2).empty());
  CHECK(visible("GPU-", 1) == Ids{0});
}

TEST_CASE("visible_device_list orders the visible GPUs") {
  CHECK(*parse_visible_device_list("", 2) == Ids{0, 1});
  CHECK(*parse_visible_device_list("2,1", 3) == Ids{2, 1});
  CHECK(*parse_visible_device_list(" 1 , 0", 2) == Ids{1, 0});
}

TEST_CASE("visible_device_list errors are TensorFlow's") {
  auto error = [](const char* list, int count) {
    auto result = parse_visible_device_list(list, count);
    REQUIRE(result.status().code() == Code::kInvalidArgument);
    return result.status().message();
  };
  CHECK(error("3,1", 3) == "'visible_device_list' listed an invalid Device id '3' but visible device count is 3");
  CHECK(error("-1", 3) == "'visible_device_list' listed an invalid Device id '-1' but visible device count is 3");
  CHECK(error("1,1", 3) == "visible_device_list contained a duplicate entry: 1,1");
  CHECK(error("0,abc", 1) == "Could not parse entry in 'visible_device_list': 'abc'. visible_device_list = 0,abc");
  CHECK(error("0,", 1) == "Could not parse entry in 'visible_device_list': ''. visible_device_list = 0,");
  CHECK(error("1x", 3) == "Could not parse entry in 'visible_device_list': '1x'. visible_device_list = 1x");
}

}  // namespace
}  // namespace emplace
