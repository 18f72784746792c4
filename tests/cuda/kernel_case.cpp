#include "tests/cuda/kernel_case.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "core/base/cat.h"
#include "core/op/evaluate.h"
#include "cuda/kernel_table.h"

namespace emplace::cuda::testing {
namespace {

/// Bytes that a GPU's pool would have given out.
struct Taken {
  int64_t now = 0, most = 0;
  void add(int64_t bytes) { most = std::max(most, now += bytes); }
};

/// As large as the elements: Tensor::allocate() rounds up, which hides what a kernel does behind the end from
/// sanitizers.
class ExactBuffer final : public Buffer {
 public:
  static Result<Tensor> make(DType dtype, const Shape& shape, Taken* taken = nullptr) {
    if (dtype == DType::kString) return Tensor::allocate(dtype, shape);
    const size_t bytes = static_cast<size_t>(shape.num_elements()) * storage_size(dtype);
    void* data = nullptr;
    if (posix_memalign(&data, 64, bytes) != 0) return resource_exhausted("no memory for a test");
    return Tensor::wrap(dtype, shape, data, std::make_shared<ExactBuffer>(data, bytes, taken));
  }
  ExactBuffer(void* data, size_t bytes, Taken* taken) : Buffer(data, bytes), taken_(taken) {
    if (taken_) taken_->add(pooled());
  }
  ~ExactBuffer() override {
    if (taken_) taken_->add(-pooled());
    std::free(data_);
  }

 private:
  int64_t pooled() const { return scratch_bytes(size_); }
  Taken* taken_;
};

class ExactAllocator final : public Allocator {
 public:
  Result<Tensor> allocate(DType dtype, const Shape& shape) override { return ExactBuffer::make(dtype, shape, &taken); }
  Result<Tensor> allocate_persistent(DType dtype, const Shape& shape) override {
    return ExactBuffer::make(dtype, shape);
  }
  Taken taken;  // by what is not persistent
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

/// Both parts within `ulps` of the larger one: parts of a product cancel each other.
template <class T>
std::string compare_complex(const Tensor& want, const Tensor& got, int64_t ulps) {
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const std::complex<T> w = want.data<std::complex<T>>()[i], g = got.data<std::complex<T>>()[i];
    const T allowed =
        static_cast<T>(ulps) * std::numeric_limits<T>::epsilon() * std::max(std::abs(w.real()), std::abs(w.imag()));
    auto far = [&](T a, T b) { return std::isnan(a) != std::isnan(b) || std::abs(a - b) > allowed; };
    if (far(w.real(), g.real()) || far(w.imag(), g.imag()))
      return cat("element ", i, ": ", g.real(), " + ", g.imag(), "i, the CPU has ", w.real(), " + ", w.imag(), "i");
  }
  return {};
}

double as_double(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kHalf:
      return static_cast<double>(static_cast<float>(t.data<half>()[i]));
    case DType::kBFloat16:
      return static_cast<double>(static_cast<float>(t.data<bfloat16>()[i]));
    case DType::kDouble:
      return t.data<double>()[i];
    default:
      return static_cast<double>(t.data<float>()[i]);
  }
}

double epsilon_of(DType type) {
  if (type == DType::kDouble) return std::numeric_limits<double>::epsilon();
  return type == DType::kHalf ? 0x1p-10 : type == DType::kBFloat16 ? 0x1p-7 : 0x1p-23;
}

std::string compare_by_largest(const Tensor& want, const Tensor& got, int64_t ulps) {
  double largest = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i)
    if (std::isfinite(as_double(want, i))) largest = std::max(largest, std::abs(as_double(want, i)));
  const double allowed = static_cast<double>(ulps) * epsilon_of(want.dtype()) * largest;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const double w = as_double(want, i), g = as_double(got, i);
    if (w == g || (std::isnan(w) && std::isnan(g)) || std::abs(w - g) <= allowed) continue;
    return cat("element ", i, ": ", g, ", the CPU has ", w, "; the largest is ", largest);
  }
  return {};
}

/// Variables of one device, and the op's inputs.
struct Inputs {
  explicit Inputs(const KernelCase& c) {
    for (const Tensor& t : c.variables) {
      auto& v = *variables.emplace_back(std::make_unique<Variable>());
      v.name = "variable";
      v.dtype = t.dtype();
      v.declared_shape = t.shape();
      v.value = copy(t);
      pointers.push_back(&v);
    }
    const bool by_handle = c.op.starts_with("Resource");
    for (Variable*& v : pointers) all.push_back(variable_handle(by_handle ? DType::kResource : make_ref(v->dtype), &v));
    for (const Tensor& t : c.inputs) all.push_back(t.dtype() == DType::kString ? t : copy(t));
  }
  static Tensor copy(const Tensor& t) {
    Tensor same = ExactBuffer::make(t.dtype(), t.shape()).take();
    if (t.size_bytes() > 0) std::memcpy(same.raw(), t.raw(), t.size_bytes());
    return same;
  }
  void hand_over(std::vector<Tensor>& outputs) const {
    for (const auto& v : variables) outputs.push_back(v->value);
  }

  std::vector<std::unique_ptr<Variable>> variables;
  std::vector<Variable*> pointers;
  std::vector<Tensor> all;
};

/// With outputs as they are to be: what a shape rule says of a variable's shape is not known here. `told`: what the
/// kernel takes beside them must be what it says.
Status run_kernel(KernelMaker maker, const KernelInit& init, std::span<Tensor> inputs, std::span<Tensor> outputs,
                  bool told = false) {
  ExactAllocator allocator;
  Sequential parallel;
  Stream stream;
  KernelContext context;
  context.inputs_ = inputs;
  context.outputs_ = outputs;
  context.allocator_ = context.host_allocator_ = &allocator;
  context.parallel_ = &parallel;
  context.node_name_ = "case";
  context.stream_ = stream.handle;
  ASSIGN_OR_RETURN(auto kernel, maker(init));
  RETURN_IF_ERROR(kernel->prepare(context));
  RETURN_IF_ERROR(kernel->run(context));
  if (const int64_t said = kernel->workspace().scratch; told && allocator.taken.most > said) {
    return internal_error(cat(init.op, " takes ", allocator.taken.most, " bytes of scratch, and says ", said));
  }
  return cudaStreamSynchronize(stream.handle) == cudaSuccess ? ok_status() : internal_error("the stream failed");
}

}  // namespace

std::vector<DType> types_of(std::string_view op) {
  std::vector<DType> types;
  for (int t = 1; t < kDTypeCount; ++t) {
    const KernelTable::Entry* entry = kernel_table().find(op, static_cast<DType>(t));
    if (entry && entry->maker && OpLibrary::find(op)->cpu_kernel(static_cast<DType>(t)))
      types.push_back(static_cast<DType>(t));
  }
  return types;
}

Result<Answers> run(const KernelCase& c) {
  const OpDef* def = OpLibrary::find(c.op);
  if (!def) return not_found(cat("no op ", c.op));
  Inputs on_cpu(c), on_gpu(c);
  const DType type = c.type != DType::kInvalid ? c.type
                     : c.variables.empty()     ? c.inputs.at(0).dtype()
                                               : c.variables[0].dtype();
  std::vector<DType> input_types;
  for (const Tensor& t : on_cpu.all) input_types.push_back(t.dtype());
  std::vector<DType> output_types = c.outputs;
  if (output_types.empty() && c.variables.empty()) output_types.push_back(type);
  std::vector<Attrs::Entry> attrs;
  for (const auto& [name, value] : c.attrs) attrs.emplace_back(name, &value);
  Answers answers;
  KernelMaker cpu = def->cpu_kernel(type);
  const KernelTable::Entry* gpu = kernel_table().find(c.op, type);
  if (!cpu || !gpu || !gpu->maker) return not_found(cat("no kernel of ", c.op, " for ", dtype_name(type)));
  KernelInit init{"case", c.op, Attrs(attrs), input_types, output_types, nullptr, 1};
  if (c.variables.empty()) {
    ASSIGN_OR_RETURN(
        answers.cpu,
        evaluate(*def, cpu, {"case", Attrs(attrs), input_types, output_types, on_cpu.all, int64_t{1} << 30}));
  } else {
    for (size_t i = 0; i < c.shapes.size(); ++i) {
      ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(output_types[i], c.shapes[i]));
      answers.cpu.push_back(std::move(out));
    }
    RETURN_IF_ERROR(run_kernel(cpu, init, on_cpu.all, answers.cpu));
  }
  for (const Tensor& t : answers.cpu) {
    ASSIGN_OR_RETURN(Tensor out, ExactBuffer::make(t.dtype(), t.shape()));
    std::memset(out.raw(), 0xfb, out.size_bytes());
    answers.gpu.push_back(std::move(out));
  }
  init.cpu_maker = cpu;
  RETURN_IF_ERROR(run_kernel(gpu->maker, init, on_gpu.all, answers.gpu, true));
  on_cpu.hand_over(answers.cpu);
  on_gpu.hand_over(answers.gpu);
  return answers;
}

Tensor uniform(DType dtype, Shape shape, double low, double high, uint64_t seed) {
  Tensor t = Tensor::allocate(dtype, shape).take();
  std::mt19937_64 random(seed);
  auto draw = [&] { return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    const double v = draw();
    const auto whole = static_cast<int64_t>(std::floor(v));
    switch (dtype) {
      case DType::kFloat:
        t.data<float>()[i] = static_cast<float>(v);
        break;
      case DType::kDouble:
        t.data<double>()[i] = v;
        break;
      case DType::kHalf:
        t.data<half>()[i] = half(static_cast<float>(v));
        break;
      case DType::kBFloat16:
        t.data<bfloat16>()[i] = bfloat16(static_cast<float>(v));
        break;
      case DType::kComplex64:
        t.data<std::complex<float>>()[i] = {static_cast<float>(v), static_cast<float>(draw())};
        break;
      case DType::kComplex128:
        t.data<std::complex<double>>()[i] = {v, draw()};
        break;
      case DType::kBool:
        t.data<bool>()[i] = v >= (low + high) / 2;
        break;
      default:
        std::memcpy(static_cast<char*>(t.raw()) + i * static_cast<int64_t>(dtype_size(dtype)), &whole,
                    dtype_size(dtype));
    }
  }
  return t;
}

std::string difference(const Tensor& want, const Tensor& got, int64_t ulps) {
  switch (want.dtype()) {
    case DType::kFloat:
      return compare<float, uint32_t>(want, got, ulps);
    case DType::kDouble:
      return compare<double, uint64_t>(want, got, ulps);
    case DType::kHalf:
      return compare<half, uint16_t>(want, got, ulps);
    case DType::kBFloat16:
      return compare<bfloat16, uint16_t>(want, got, ulps);
    case DType::kComplex64:
      return compare_complex<float>(want, got, ulps);
    case DType::kComplex128:
      return compare_complex<double>(want, got, ulps);
    default:
      return same_bytes(want, got) ? std::string() : "other bytes than the CPU's";
  }
}

namespace {

std::string check_outputs(const KernelCase& c, int64_t ulps,
                          std::string (*compared)(const Tensor&, const Tensor&, int64_t)) {
  Result<Answers> answers = run(c);
  if (!answers.ok()) return answers.status().message();
  for (size_t i = 0; i < answers->cpu.size(); ++i) {
    if (std::string d = compared(answers->cpu[i], answers->gpu[i], ulps); !d.empty())
      return cat(c.op, " output ", i, ", ", d);
  }
  return {};
}

}  // namespace

std::string check(const KernelCase& c, int64_t ulps) { return check_outputs(c, ulps, difference); }

std::string check_by_largest(const KernelCase& c, int64_t ulps) { return check_outputs(c, ulps, compare_by_largest); }

}  // namespace emplace::cuda::testing
