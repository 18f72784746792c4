// Lists of tensors between memories: all of their elements are there, or an error is, when the copy returns.
#include <catch2/catch.hpp>

#include <array>
#include <vector>

#include "core/op/tensor_list.h"
#include "core/run/gpu_kernels.h"
#include "cuda/gpu.h"
#include "cuda/standin/standin.h"
#include "tests/cuda/gpu_case.h"

namespace emplace::cuda::testing {
namespace {

using Floats = std::vector<float>;

/// A page of a GPU; room for `most` tensors.
class Room final : public Allocator {
 public:
  explicit Room(Gpu& gpu, int most = 100) : left(most), gpu_(gpu) {
    page_ = gpu.reserve(gpu.page_bytes()).take();
    REQUIRE(gpu.map(page_, gpu.page_bytes()).ok());
  }
  ~Room() override {
    CHECK(gpu_.wait_idle().ok());
    CHECK(gpu_.unmap(page_, gpu_.page_bytes()).ok());
    gpu_.release(page_, gpu_.page_bytes());
  }
  Result<Tensor> allocate(DType dtype, const Shape& shape) override {
    if (left-- == 0) return resource_exhausted("no room for the element");
    std::byte* const at = page_ + used_;
    used_ += 4096;
    return Tensor::wrap(dtype, shape, at);
  }
  int left;

 private:
  Gpu& gpu_;
  std::byte* page_ = nullptr;
  int64_t used_ = 0;
};

/// The host's memory, with room for `left` tensors.
class HostRoom final : public Allocator {
 public:
  Result<Tensor> allocate(DType dtype, const Shape& shape) override {
    if (left-- == 0) return resource_exhausted("no room for the element");
    return Tensor::allocate(dtype, shape);
  }
  int left = 100;
};

/// Notes for what the host waits, which fails if that is wanted.
class Waits final : public ForwardingGpu {
 public:
  using ForwardingGpu::ForwardingGpu;
  Result<uint64_t> copy_out(void* to, const void* from, size_t bytes, Lane lane) override {
    ASSIGN_OR_RETURN(last_out, gpu_->copy_out(to, from, bytes, lane));
    return last_out;
  }
  Status finish(uint64_t ticket) override {
    last_finished = ticket;
    RETURN_IF_ERROR(gpu_->finish(ticket));
    return fails ? unavailable("the card is gone") : ok_status();
  }
  uint64_t last_out = 0, last_finished = 0;
  bool fails = false;
};

Tensor tensor_of(const Floats& values) { return Tensor::of<float>(Shape{static_cast<int64_t>(values.size())}, values); }
const std::array<Floats, 3> kElements{Floats{1, 2, 3}, Floats{4}, Floats{5, 6}};

/// A list with these elements, the second left out.
Tensor host_list() {
  TensorList list{DType::kFloat, Shape::unknown(), -1, {}};
  for (const Floats& element : kElements) list.elements.push_back(tensor_of(element));
  list.elements.resize(5);
  list.elements.at(3) = tensor_of({});
  list.elements.at(1) = Tensor();
  return list_tensor(std::move(list));
}

Result<Tensor> copied(Gpu* from, Gpu* to, const Tensor& list, Allocator& room, Allocator& host) {
  GpuCopyKernel copy(from, to);
  Tensor in = list, out;
  KernelContext c;
  c.inputs_ = {&in, 1};
  c.outputs_ = {&out, 1};
  c.allocator_ = &room;
  c.host_allocator_ = &host;
  RETURN_IF_ERROR(copy.run(c));
  return out;
}

void check_elements(const Tensor& list) {
  const TensorList& got = *list_in(list).take();
  REQUIRE(got.size() == 5);
  for (int64_t i : {0, 2}) CHECK(emplace::testing::floats(got.elements[i]) == kElements[static_cast<size_t>(i)]);
  CHECK_FALSE(got.elements[1].valid());
  CHECK_FALSE(got.elements[4].valid());
  CHECK(got.elements[3].shape() == Shape{0});
}

TEST_CASE("a list goes to a GPU, to another card and back, in any order of the streams", "[host]") {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    INFO("seed " << seed);
    standin::set_seed(seed);
    Waits one(CudaGpu::open({0, 0, int64_t{64} << 20}).take()), two(CudaGpu::open({1, 0, int64_t{64} << 20}).take());
    Room at_one(one), at_two(two);
    HostRoom host;
    const Tensor there = copied(nullptr, &one, host_list(), at_one, host).take();
    const Tensor across = copied(&one, &two, there, at_two, host).take();
    // Who owned the memory before writes over it.
    const TensorList& source = *list_in(there).take();
    REQUIRE(one.activate().ok());
    for (int64_t i : {0, 2}) {
      const Tensor& element = source.elements[i];
      REQUIRE(cudaMemsetAsync(const_cast<void*>(element.raw()), 0, element.size_bytes(),
                              static_cast<cudaStream_t>(one.stream(Gpu::Lane::kCompute))) == cudaSuccess);
    }
    REQUIRE(one.wait_idle().ok());
    check_elements(copied(&two, nullptr, across, at_two, host).take());
  }
  standin::set_seed(0);
}

TEST_CASE("a list that finds no room is an error, and nothing is on its way any more", "[host]") {
  Waits gpu(CudaGpu::open({0, 0, int64_t{64} << 20}).take());
  Room room(gpu), narrow(gpu, 1);
  HostRoom host;
  CHECK(copied(nullptr, &gpu, host_list(), narrow, host).status().code() == Code::kResourceExhausted);
  const Tensor there = copied(nullptr, &gpu, host_list(), room, host).take();
  host.left = 1;
  CHECK(copied(&gpu, nullptr, there, room, host).status().code() == Code::kResourceExhausted);
  CHECK(gpu.last_out != 0);
  CHECK(gpu.last_finished >= gpu.last_out);
  host.left = 100;
  gpu.fails = true;
  CHECK(copied(&gpu, nullptr, there, room, host).status().message() == "the card is gone");
}

TEST_CASE("one byte comes to the host, and so does nothing", "[host]") {
  auto gpu = CudaGpu::open({0, 0, int64_t{64} << 20}).take();
  Room room(*gpu);
  Tensor there = room.allocate(DType::kUInt8, Shape{}).take();
  const unsigned char sent = 77;
  REQUIRE(gpu->copy_in(there.raw(), &sent, 1, Gpu::Lane::kCompute, nullptr).ok());
  CHECK(*copy_to_host(*gpu, there).take().data<uint8_t>() == sent);
  Tensor none = Tensor::wrap(DType::kUInt8, Shape{0}, there.raw());
  CHECK(copy_to_host(*gpu, none).take().shape() == Shape{0});
}

}  // namespace
}  // namespace emplace::cuda::testing
