// Chains of elementwise functions: the text that NVRTC gets, compiled by it where it is installed, and run by the
// stand-in; and the kernels that are kept on disk.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/op/op_table.h"
#include "cuda/chain_kernel.h"
#include "cuda/chain_source.h"
#include "cuda/kernel_cache.h"
#include "cuda/kernel_table.h"
#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

constexpr int64_t kElements = 1003;  // no multiple of a pack

struct WithVariable {
  WithVariable(const char* variable, const char* value) : name(variable) { setenv(name, value, 1); }
  ~WithVariable() { unsetenv(name); }
  const char* name;
};
struct EmptyFolder {
  EmptyFolder() {
    char text[] = "/tmp/emplace-cache-XXXXXX";
    path = mkdtemp(text);
  }
  ~EmptyFolder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

/// An elementwise node and what it makes alone.
struct Part {
  std::string_view op;
  std::vector<DType> input_types, output_types;
  AttrValue type;
  std::vector<Attrs::Entry> entries;
  std::unique_ptr<Kernel> kernel;
  std::vector<Tensor> inputs, outputs;
  KernelContext context;
};

/// Null: no kernel of the op for that type can be part of a chain.
std::unique_ptr<Part> part_of(OpTable& ops, std::string_view op, DType type, std::span<const Tensor> operands) {
  const KernelTable::Entry* entry = kernel_table().find(op, type);
  const OpSignature* signature = ops.find(op);
  if (!entry || !entry->maker || !signature || signature->inputs.empty() ||
      signature->inputs.size() > operands.size() || signature->outputs.size() != 1) {
    return nullptr;
  }
  auto part = std::make_unique<Part>();
  part->op = op;
  part->type = AttrValue::of(type);
  part->input_types.assign(signature->inputs.size(), type);
  const DType made = signature->outputs[0].type;
  part->output_types = {made == DType::kInvalid ? type : made};
  for (const AttrSignature& attr : signature->attrs) {
    if (!attr.default_value && attr.type.kind != AttrKind::kType) return nullptr;
    part->entries.emplace_back(attr.name, attr.default_value ? &*attr.default_value : &part->type);
  }
  auto kernel = entry->maker(
      KernelInit{"part", part->op, Attrs(part->entries), part->input_types, part->output_types, nullptr, 1});
  if (!kernel.ok() || !is_chainable(**kernel)) return nullptr;
  part->kernel = kernel.take();
  part->inputs.assign(operands.begin(), operands.begin() + static_cast<ptrdiff_t>(signature->inputs.size()));
  part->outputs = {Tensor::allocate(part->output_types[0], Shape{kElements}).take()};
  part->context.inputs_ = part->inputs;
  part->context.outputs_ = part->outputs;
  return part->kernel->prepare(part->context).ok() ? std::move(part) : nullptr;
}

/// Every function for `type`, sixteen a chain.
std::vector<std::vector<std::unique_ptr<Part>>> chains_of(DType type, std::span<const Tensor> operands) {
  OpTable ops;
  std::vector<std::vector<std::unique_ptr<Part>>> chains;
  for (const auto& [op, entries] : kernel_table().entries()) {
    auto part = part_of(ops, op, type == DType::kBool && op.starts_with("Logical") ? DType::kInvalid : type, operands);
    if (!part) continue;
    if (chains.empty() || chains.back().size() == GpuChain::kMostOps) chains.emplace_back();
    chains.back().push_back(std::move(part));
  }
  return chains;
}

GpuChain chain_of(std::span<const std::unique_ptr<Part>> parts) {
  GpuChain chain;
  chain.elements = kElements;
  chain.saved_ns = std::numeric_limits<double>::infinity();
  for (const auto& part : parts) {
    std::vector<int> operands;
    for (size_t i = 0; i < part->inputs.size(); ++i) operands.push_back(static_cast<int>(i));
    chain.single.resize(std::max(chain.single.size(), operands.size()));
    chain.ops.push_back({part->kernel.get(), std::move(operands), true});
  }
  return chain;
}

std::vector<Tensor> operands_of(DType type) {
  std::vector<Tensor> operands;
  for (uint64_t seed : {1, 2, 3})
    operands.push_back(uniform(type, Shape{kElements}, kIntegers.has(type) ? 0 : -3, 3, seed));
  return operands;
}

void run_and_wait(Kernel& kernel, KernelContext& context) {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0) == cudaSuccess);
  context.stream_ = stream;
  const Status status = kernel.run(context);
  REQUIRE((status.ok() ? "" : status.message()) == "");
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
}

/// `inputs` may be more than the chain takes.
std::vector<Tensor> run_chain(Kernel& kernel, std::vector<Tensor> inputs,
                              std::span<const std::unique_ptr<Part>> parts) {
  std::vector<Tensor> outputs;
  for (const auto& part : parts) outputs.push_back(Tensor::allocate(part->output_types[0], Shape{kElements}).take());
  KernelContext context;
  context.inputs_ = inputs;
  context.outputs_ = outputs;
  run_and_wait(kernel, context);
  return outputs;
}

constexpr DType kTypes[] = {DType::kFloat,  DType::kDouble, DType::kHalf,      DType::kBFloat16,  DType::kInt8,
                            DType::kInt16,  DType::kInt64,  DType::kUInt8,     DType::kUInt16,    DType::kUInt32,
                            DType::kUInt64, DType::kBool,   DType::kComplex64, DType::kComplex128};

TEST_CASE("NVRTC compiles every function for every type", "[host][compiler]") {
  setenv("EMPLACE_CUDA_LIB_DIR", "/usr/local/cuda/lib64", 0);
  if (Result<std::string> version = nvrtc_version(); !version.ok()) {
    WARN("skipped: " << version.status().message());
    return;
  }
  size_t functions = 0;
  for (DType type : kTypes) {
    const std::vector<Tensor> operands = operands_of(type);
    for (const auto& parts : chains_of(type, operands)) {
      functions += parts.size();
      INFO(dtype_name(type) << ", " << parts.front()->op << " to " << parts.back()->op);
      const Result<std::string> code =
          nvrtc_compile({chain_source(chain_of(parts)).text, chain_headers(), kChainPrelude, "sm_90"});
      CHECK((code.ok() ? "" : code.status().message()) == "");
    }
  }
  CHECK(functions > 400);
}

TEST_CASE("a chain gives the bytes that its nodes' own kernels give", "[host][compiler]") {
  const EmptyFolder folder;
  const WithVariable compiler("EMPLACE_STANDIN_NVRTC", "1"), cache("EMPLACE_CACHE_DIR", folder.path.c_str());
  for (DType type : {DType::kFloat, DType::kHalf, DType::kInt64, DType::kUInt8, DType::kBool, DType::kComplex64}) {
    const std::vector<Tensor> operands = operands_of(type);
    for (const auto& parts : chains_of(type, operands)) {
      Result<std::unique_ptr<Kernel>> kernel = compile_chain(chain_of(parts), DeviceState{});
      REQUIRE((kernel.ok() ? "" : kernel.status().message()) == "");
      const std::vector<Tensor> together = run_chain(**kernel, operands, parts);
      for (size_t k = 0; k < parts.size(); ++k) {
        run_and_wait(*parts[k]->kernel, parts[k]->context);
        INFO(parts[k]->op << " " << dtype_name(type));
        CHECK(std::memcmp(parts[k]->outputs[0].raw(), together[k].raw(), together[k].size_bytes()) == 0);
      }
    }
  }
}

TEST_CASE("what a chain's nodes hand on is rounded to their type, and one element serves for all", "[host][compiler]") {
  const EmptyFolder folder;
  const WithVariable compiler("EMPLACE_STANDIN_NVRTC", "1"), cache("EMPLACE_CACHE_DIR", folder.path.c_str());
  OpTable ops;
  const Tensor x = uniform(DType::kHalf, Shape{kElements}, -3, 3, 1), one = uniform(DType::kHalf, Shape{}, 0.1, 0.2, 2);
  std::vector<std::unique_ptr<Part>> parts;
  const std::vector<Tensor> first{x, one};
  parts.push_back(part_of(ops, "Mul", DType::kHalf, first));
  const std::vector<Tensor> second{parts[0]->outputs[0], x};
  parts.push_back(part_of(ops, "AddV2", DType::kHalf, second));
  parts.push_back(part_of(ops, "Less", DType::kHalf, second));
  GpuChain chain = chain_of(parts);
  chain.single = {false, true};
  chain.ops[0].operands = {0, 1};
  chain.ops[1].operands = {~0, 0};
  chain.ops[2].operands = {~0, 0};
  Result<std::unique_ptr<Kernel>> kernel = compile_chain(chain, DeviceState{});
  REQUIRE((kernel.ok() ? "" : kernel.status().message()) == "");
  const std::vector<Tensor> together = run_chain(**kernel, {x, one}, parts);
  for (size_t k = 0; k < parts.size(); ++k) {
    run_and_wait(*parts[k]->kernel, parts[k]->context);
    CHECK(std::memcmp(parts[k]->outputs[0].raw(), together[k].raw(), together[k].size_bytes()) == 0);
  }
}

TEST_CASE("a kernel that would cost more time than it saves is neither compiled nor loaded", "[host][compiler]") {
  const EmptyFolder folder;
  const WithVariable compiler("EMPLACE_STANDIN_NVRTC", "1"), cache("EMPLACE_CACHE_DIR", folder.path.c_str());
  const std::vector<Tensor> operands = operands_of(DType::kDouble);
  auto chains = chains_of(DType::kDouble, operands);
  GpuChain chain = chain_of(std::span(chains[0]).first(2));
  auto message = [&](double saved_ns) {
    chain.saved_ns = saved_ns;
    Result<std::unique_ptr<Kernel>> kernel = compile_chain(chain, DeviceState{});
    return kernel.ok() ? std::string() : kernel.status().message();
  };
  CHECK(message(5e5) == "loading one would take longer than it saves");
  CHECK(message(5e7) == "compiling one would take longer than it saves");
  CHECK(message(5e8) == "");
  CHECK(message(0) == "");  // it is loaded by now
}

TEST_CASE("kernels on disk: whole, or not there at all") {
  const EmptyFolder folder;
  const WithVariable cache("EMPLACE_CACHE_DIR", (folder.path / "new").c_str());
  CHECK_FALSE(find_kernel("a key"));
  keep_kernel("a key", "code");
  keep_kernel("another", std::string(1000, 'x'));
  CHECK(find_kernel("a key") == "code");
  for (const auto& file : std::filesystem::directory_iterator(folder.path / "new")) {
    std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) - 1);
  }
  CHECK_FALSE(find_kernel("a key"));
  CHECK_FALSE(find_kernel("another"));
  keep_kernel("a key", "code");
  CHECK(find_kernel("a key") == "code");
  const WithVariable nowhere("EMPLACE_CACHE_DIR", "");
  CHECK_FALSE(find_kernel("a key"));
}

TEST_CASE("without NVRTC, and where it refuses a text, the message says so") {
  setenv("EMPLACE_CUDA_LIB_DIR", "/usr/local/cuda/lib64", 0);
  if (!nvrtc_version().ok()) return;
  const Result<std::string> code =
      nvrtc_compile({"__device__ int broken = nothing;\n", chain_headers(), kChainPrelude, "sm_90"});
  REQUIRE_FALSE(code.ok());
  CHECK(code.status().code() == Code::kUnavailable);
  INFO(code.status().message());
  CHECK(code.status().message().find("NVRTC: NVRTC_ERROR_COMPILATION: chain.cu(1): error") == 0);
}

}  // namespace
}  // namespace emplace::cuda::testing
