#include "tests/cuda/kernel_case.h"

#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "core/base/cat.h"
#include "core/op/evaluate.h"
#include "cuda/kernel_table.h"

namespace emplace::cuda::testing {
namespace {

class HostAllocator final : public Allocator {
 public:
  Result<Tensor> allocate(DType dtype, const Shape& shape) override { return Tensor::allocate(dtype, shape); }
};

struct Stream {
  Stream() { (void)cudaStreamCreateWithPriority(&handle, cudaStreamNonBlocking, 0); }
  ~Stream() { (void)cudaStreamDestroy(handle); }
  cudaStream_t handle = nullptr;
};

template <class T, class Bits>
int64_t ordered(T value) {
  auto bits = std::bit_cast<Bits>(value);
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  auto magnitude = static_cast<int64_t>(bits & static_cast<Bits>(~kSign));
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

template <class T, class Bits>
std::string compare(const Tensor& want, const Tensor& got, int64_t ulps) {
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    T w = want.data<T>()[i], g = got.data<T>()[i];
    double dw = static_cast<double>(static_cast<float>(w)), dg = static_cast<double>(static_cast<float>(g));
    if constexpr (std::is_same_v<T, double>) dw = w, dg = g;
    if (std::isnan(dw) && std::isnan(dg)) continue;
    if (std::isnan(dw) != std::isnan(dg) || std::abs(ordered<T, Bits>(w) - ordered<T, Bits>(g)) > ulps) {
      return cat("element ", i, ": ", dg, ", the CPU has ", dw);
    }
  }
  return {};
}

}  // namespace

Result<Answers> run(const KernelCase& c) {
  const OpDef* def = OpLibrary::find(c.op);
  if (!def) return not_found(cat("no op ", c.op));
  std::vector<DType> input_types;
  for (const Tensor& t : c.inputs) input_types.push_back(t.dtype());
  std::vector<DType> output_types = c.outputs;
  if (output_types.empty()) output_types.push_back(input_types.at(0));
  std::vector<Attrs::Entry> attrs;
  for (const auto& [name, value] : c.attrs) attrs.emplace_back(name, &value);
  Answers answers;
  KernelMaker cpu = def->cpu_kernel(input_types.at(0));
  const KernelTable::Entry* gpu = kernel_table().find(c.op, input_types.at(0));
  if (!cpu || !gpu || !gpu->maker) return not_found(cat("no kernel of ", c.op, " for ", dtype_name(input_types[0])));
  Evaluation what{"case", Attrs(attrs), input_types, output_types, c.inputs, int64_t{1} << 30};
  ASSIGN_OR_RETURN(answers.cpu, evaluate(*def, cpu, what));

  HostAllocator allocator;
  Sequential parallel;
  Stream stream;
  for (const Tensor& t : answers.cpu) {
    ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(t.dtype(), t.shape()));
    std::memset(out.raw(), 0xfb, out.size_bytes());
    answers.gpu.push_back(std::move(out));
  }
  std::vector<Tensor> inputs = c.inputs;
  KernelContext context;
  context.inputs_ = inputs;
  context.outputs_ = answers.gpu;
  context.allocator_ = context.host_allocator_ = &allocator;
  context.parallel_ = &parallel;
  context.node_name_ = "case";
  context.stream_ = stream.handle;
  KernelInit init{"case", c.op, Attrs(attrs), input_types, output_types, nullptr, 1};
  init.cpu_maker = cpu;
  ASSIGN_OR_RETURN(auto kernel, gpu->maker(init));
  RETURN_IF_ERROR(kernel->prepare(context));
  RETURN_IF_ERROR(kernel->run(context));
  if (cudaStreamSynchronize(stream.handle) != cudaSuccess) return internal_error("the stream failed");
  return answers;
}

Tensor uniform(DType dtype, Shape shape, double low, double high, uint64_t seed) {
  Tensor t = Tensor::allocate(dtype, shape).take();
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    double v = low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
    switch (dtype) {
      case DType::kFloat: t.data<float>()[i] = static_cast<float>(v); break;
      case DType::kDouble: t.data<double>()[i] = v; break;
      case DType::kHalf: t.data<half>()[i] = half(static_cast<float>(v)); break;
      case DType::kBFloat16: t.data<bfloat16>()[i] = bfloat16(static_cast<float>(v)); break;
      case DType::kInt32: t.data<int32_t>()[i] = static_cast<int32_t>(std::floor(v)); break;
      case DType::kInt64: t.data<int64_t>()[i] = static_cast<int64_t>(std::floor(v)); break;
      case DType::kInt16: t.data<int16_t>()[i] = static_cast<int16_t>(std::floor(v)); break;
      case DType::kBool: t.data<bool>()[i] = v >= (low + high) / 2; break;
      default:
        for (size_t b = 0; b < dtype_size(dtype); ++b) t.data<uint8_t>()[static_cast<size_t>(i) * dtype_size(dtype) + b] = static_cast<uint8_t>(random());
    }
  }
  return t;
}

std::string difference(const Tensor& want, const Tensor& got, int64_t ulps) {
  switch (want.dtype()) {
    case DType::kFloat: return compare<float, uint32_t>(want, got, ulps);
    case DType::kDouble: return compare<double, uint64_t>(want, got, ulps);
    case DType::kHalf: return compare<half, uint16_t>(want, got, ulps);
    case DType::kBFloat16: return compare<bfloat16, uint16_t>(want, got, ulps);
    default: return same_bytes(want, got) ? std::string() : "other bytes than the CPU's";
  }
}

std::string check(const KernelCase& c, int64_t ulps) {
  Result<Answers> answers = run(c);
  if (!answers.ok()) return answers.status().message();
  for (size_t i = 0; i < answers->cpu.size(); ++i) {
    if (std::string d = difference(answers->cpu[i], answers->gpu[i], ulps); !d.empty()) return cat(c.op, " output ", i, ", ", d);
  }
  return {};
}

}  // namespace emplace::cuda::testing
