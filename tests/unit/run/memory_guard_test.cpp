#include "core/run/memory_guard.h"

#include <catch2/catch.hpp>

#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// Three values: in host memory, and in that of two simulated GPUs.
Program three_homes() {
  Program p;
  for (DeviceId d = 0; d < 3; ++d) p.values.push_back({{}, d, d, DType::kFloat, kNoInstruction});
  p.host = 0;
  return p;
}

}  // namespace

TEST_CASE("an operand in another memory than its value's home is a failure") {
  RunCase g(2);
  Runtime runtime(g.devices, 1);
  Program program = three_homes();
  MemoryGuard guard(program, runtime);
  REQUIRE(guard.needed());
  auto host = Tensor::allocate(DType::kFloat, Shape{8}), first = runtime.pools[1]->allocate(DType::kFloat, Shape{8}),
       second = runtime.pools[2]->allocate(DType::kFloat, Shape{1 << 20});
  const Tensor* tensors[] = {&*host, &*first, &*second};
  for (ValueId v = 0; v < 3; ++v) {
    for (size_t where = 0; where < 3; ++where) {
      INFO("value of device " << v << " in memory " << where);
      CHECK(guard.check(v, *tensors[where]).ok() == (v == where));
    }
  }
  Status forgotten = guard.check(2, *host);
  CHECK(forgotten.code() == Code::kInternal);
  CHECK(forgotten.message() ==
        "a tensor that lives in /job:localhost/replica:0/task:0/device:GPU:1 memory was found in host memory: a copy "
        "is missing");
  CHECK(guard.check(1, Tensor::wrap(DType::kFloat, Shape{0}, nullptr)).ok());
}

TEST_CASE("planned tensors are told apart by the blocks they lie in") {
  RunCase g(2);
  Runtime runtime(g.devices, 1);
  Program program = three_homes();
  MemoryGuard guard(program, runtime);
  std::vector<std::byte> blocks[3];
  for (auto& b : blocks) b.resize(256);
  std::vector<DevicePlan> plans(3);
  for (DevicePlan& p : plans) p.bytes = 256;
  guard.set_blocks({blocks[0].data(), blocks[1].data(), blocks[2].data()}, plans);
  auto in = [&](size_t block) { return Tensor::wrap(DType::kFloat, Shape{4}, blocks[block].data() + 64); };
  CHECK(guard.check(1, in(1)).ok());
  CHECK(guard.check(0, in(0)).ok());
  CHECK_FALSE(guard.check(1, in(2)).ok());
  CHECK_FALSE(guard.check(0, in(1)).ok());
}

TEST_CASE("an instruction may use its own device's variables, and those in host memory") {
  RunCase g(2);
  Runtime runtime(g.devices, 1);
  Program program = three_homes();
  MemoryGuard guard(program, runtime);
  Variable on_second, on_host, empty;
  on_second.value = runtime.pools[2]->allocate(DType::kFloat, Shape{8}).take();
  on_host.value = Tensor::allocate(DType::kInt32, Shape{8}).take();
  CHECK(guard.check_variable(2, on_second).ok());
  CHECK_FALSE(guard.check_variable(1, on_second).ok());
  CHECK_FALSE(guard.check_variable(0, on_second).ok());
  CHECK(guard.check_variable(1, on_host).ok());
  CHECK(guard.check_variable(1, empty).ok());
}
