// What cuBLASLt is asked for, by the stand-in's in its place: sums of narrow types, aligned batches, TF32.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <map>
#include <vector>

#include "cuda/cublaslt.h"
#include "cuda/narrow.h"

namespace emplace::cuda::testing {
namespace {

const lt::Functions& library() {
  static const lt::Functions kFunctions = [] {
    setenv("EMPLACE_STANDIN_CUBLASLT", "1", 1);
    lt::Functions f;
    REQUIRE(lt::load(f).ok());
    unsetenv("EMPLACE_STANDIN_CUBLASLT");
    return f;
  }();
  return kFunctions;
}

struct Stream {
  Stream() { REQUIRE(cudaStreamCreateWithPriority(&handle, cudaStreamNonBlocking, 0) == cudaSuccess); }
  ~Stream() { (void)cudaStreamDestroy(handle); }
  cudaStream_t handle = nullptr;
};

/// A row times a column.
template <class T>
float dot(const lt::Functions& f, DType type, const std::vector<float>& a, const std::vector<float>& b,
          const DeviceState& device = {}) {
  std::vector<T> left, right, out(1);
  for (float x : a) left.push_back(narrow<T>(x));
  for (float x : b) right.push_back(narrow<T>(x));
  LtShape shape;
  shape.type = type;
  shape.product.m = shape.product.n = 1;
  shape.product.k = static_cast<int64_t>(a.size());
  auto product = LtProduct::make(f, shape, device);
  REQUIRE(product.ok());
  std::vector<std::byte> workspace((*product)->workspace_bytes());
  const Stream stream;
  REQUIRE((*product)->run(stream.handle, left.data(), right.data(), out.data(), workspace.data()).message() == "");
  REQUIRE(cudaStreamSynchronize(stream.handle) == cudaSuccess);
  return widen(out[0]);
}

TEST_CASE("parts of sums of half and bfloat16 are never kept in these types") {
  lt::Functions heedless = library();
  heedless.preference_set = [](lt::Preference to, lt::PreferenceAttribute what, const void* value, size_t bytes) {
    if (what == lt::PreferenceAttribute::kReductionSchemes) return 0;
    return library().preference_set(to, what, value, bytes);
  };
  const std::vector<float> ones{1, 1, 1, 1};
  // Half has no 2049, bfloat16 no 257.
  CHECK(dot<half>(library(), DType::kHalf, {2048, 1, -2048, 0}, ones) == 1);
  CHECK(dot<half>(heedless, DType::kHalf, {2048, 1, -2048, 0}, ones) == 0);
  CHECK(dot<bfloat16>(library(), DType::kBFloat16, {256, 1, -256, 0}, ones) == 1);
  CHECK(dot<bfloat16>(heedless, DType::kBFloat16, {256, 1, -256, 0}, ones) == 0);
}

std::map<lt::PreferenceAttribute, uint32_t> asked;

TEST_CASE("wide types are summed as the library likes, unless the same bytes are wanted every time") {
  lt::Functions noting = library();
  noting.preference_set = [](lt::Preference to, lt::PreferenceAttribute what, const void* value, size_t bytes) {
    if (bytes == sizeof(uint32_t)) asked[what] = *static_cast<const uint32_t*>(value);
    return library().preference_set(to, what, value, bytes);
  };
  for (DType type : {DType::kFloat, DType::kDouble, DType::kComplex64, DType::kComplex128, DType::kHalf}) {
    for (bool deterministic : {false, true}) {
      INFO(dtype_name(type) << (deterministic ? ", deterministic" : ""));
      asked.clear();
      LtShape shape;
      shape.type = type;
      shape.product.m = shape.product.n = shape.product.k = 2;
      DeviceState device;
      device.deterministic = deterministic;
      REQUIRE(LtProduct::make(noting, shape, device).ok());
      const bool bound = deterministic || type == DType::kHalf;
      CHECK(asked.count(lt::PreferenceAttribute::kReductionSchemes) == (bound ? 1 : 0));
      if (bound) CHECK(asked[lt::PreferenceAttribute::kReductionSchemes] == lt::kInComputeType);
    }
  }
}

TEST_CASE("only with TF32 are products of rounded numbers") {
  const std::vector<float> x{1 + 0x1p-12f}, one{1};
  DeviceState fast;
  fast.tf32 = true;
  CHECK(dot<float>(library(), DType::kFloat, x, one) == x[0]);
  CHECK(dot<float>(library(), DType::kFloat, x, one, fast) == 1);
}

TEST_CASE("the library is told how evenly the matrices of a batch lie") {
  // Three products of 3 x 1 by 1 x 1: their first operands are 12 bytes apart.
  LtShape shape;
  shape.product.m = 3;
  shape.product.n = shape.product.k = 1;
  shape.batches = 3;
  shape.a_step = shape.out_step = 3;
  auto product = LtProduct::make(library(), shape, {});
  REQUIRE(product.ok());
  alignas(16) const float a[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  alignas(16) const float b[1] = {10};
  alignas(16) float out[9] = {};
  std::vector<std::byte> workspace((*product)->workspace_bytes());
  const Stream stream;
  REQUIRE((*product)->run(stream.handle, a, b, out, workspace.data()).message() == "");
  REQUIRE(cudaStreamSynchronize(stream.handle) == cudaSuccess);
  for (size_t i = 0; i < 9; ++i) CHECK(out[i] == 10 * a[i]);
}

}  // namespace
}  // namespace emplace::cuda::testing
