#include "cuda/cublaslt.h"

#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "core/base/cat.h"
#include "cuda/log.h"

namespace emplace::cuda {
namespace {

using namespace lt;

constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what cuBLAS advises for Hopper

/// Loaded once; the warning is the only one there will be.
const Result<Functions>& functions() {
  static const Result<Functions> kFunctions = [] {
    Functions f;
    Status loaded = load(f);
    if (loaded.ok()) return Result<Functions>(f);
    if (kReal) say(LogLevel::kWarning, cat(loaded.message(), "; matrix products run on emplace's own kernel"));
    return Result<Functions>(loaded);
  }();
  return kFunctions;
}

Status try_lt(StatusCode status, const char* call) {
  if (status == 0) return ok_status();
  if (status == kNotSupported) return unavailable("cuBLASLt does not support this product");
  return internal_error(cat(call, ": cuBLAS status ", status));
}
#define LT_TRY(call) RETURN_IF_ERROR(try_lt((call), #call))

/// One handle per card.
Result<Handle> handle_of(const Functions& f, int device) {
  constexpr int kMaxCards = 64;
  static std::mutex mutex;
  static Handle handles[kMaxCards];
  if (device >= kMaxCards) return unavailable("so many cards");
  std::lock_guard lock(mutex);
  if (!handles[device]) LT_TRY(f.create(&handles[device]));
  return handles[device];
}

struct Types {
  Data data = Data::kFloat, scale = Data::kFloat;
  Compute compute = Compute::kFloat;
};
Types types_of(DType type, bool tf32) {
  const Compute single = tf32 ? Compute::kTf32 : Compute::kFloat;
  switch (type) {
    case DType::kDouble:
      return {Data::kDouble, Data::kDouble, Compute::kDouble};
    case DType::kHalf:
      return {Data::kHalf, Data::kFloat, Compute::kFloat};
    case DType::kBFloat16:
      return {Data::kBFloat16, Data::kFloat, Compute::kFloat};
    case DType::kComplex64:
      return {Data::kComplex64, Data::kComplex64, single};
    case DType::kComplex128:
      return {Data::kComplex128, Data::kComplex128, Compute::kDouble};
    default:
      return {Data::kFloat, Data::kFloat, single};
  }
}

// Row-major matrices are column-major ones transposed, so out^T = b^T a^T is what cuBLASLt computes.
class Product final : public LtProduct {
 public:
  Product(const Functions& f, Handle handle) : f_(f), handle_(handle) {}
  ~Product() override {
    if (desc_) f_.desc_destroy(desc_);
    for (Layout layout : {left_, right_, out_}) {
      if (layout) f_.layout_destroy(layout);
    }
  }

  Status choose(const LtShape& shape, const DeviceState& device) {
    const ProductShape& p = shape.product;
    const Types types = types_of(shape.type, device.tf32);
    LT_TRY(f_.desc_create(&desc_, types.compute, types.scale));
    // A real matrix is its own conjugate; that products of real ones take OP_C is nowhere said.
    const bool complex = types.data == Data::kComplex64 || types.data == Data::kComplex128;
    const Operation left_op = operation(p.transpose_b, complex && p.conjugate_b),
                    right_op = operation(p.transpose_a, complex && p.conjugate_a);
    LT_TRY(f_.desc_set(desc_, DescAttribute::kTransA, &left_op, sizeof left_op));
    LT_TRY(f_.desc_set(desc_, DescAttribute::kTransB, &right_op, sizeof right_op));
    RETURN_IF_ERROR(
        layout(left_, types.data, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, shape.batches, shape.b_step));
    RETURN_IF_ERROR(
        layout(right_, types.data, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, shape.batches, shape.a_step));
    RETURN_IF_ERROR(layout(out_, types.data, p.m, p.n, shape.batches, shape.out_step));
    Preference preference = nullptr;
    LT_TRY(f_.preference_create(&preference));
    // Partial sums of an algorithm may be kept in the output's type: for narrow types that would round them.
    const bool narrow = types.data == Data::kHalf || types.data == Data::kBFloat16;
    Status chosen = choose_algorithm(
        preference, device.deterministic || narrow,
        {matrix_alignment(shape, shape.b_step, p.k * p.n), matrix_alignment(shape, shape.a_step, p.m * p.k),
         matrix_alignment(shape, shape.out_step, p.m * p.n)});
    f_.preference_destroy(preference);
    return chosen;
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }

  Status run(cudaStream_t stream, const void* a, const void* b, void* out, void* workspace) override {
    LT_TRY(f_.matmul(handle_, desc_, kOne, b, left_, a, right_, kZero, out, out_, out, out_, &algorithm_, workspace,
                     workspace_bytes_, stream));
    return ok_status();
  }

 private:
  // One and zero as complex numbers; real ones are their first halves.
  static constexpr double kDoubles[4] = {1, 0, 0, 0};
  static constexpr float kFloats[4] = {1, 0, 0, 0};
  const void *kOne = kFloats, *kZero = kFloats + 2;

  static Operation operation(bool transposed, bool conjugated) {
    return conjugated ? Operation::kConjugated : transposed ? Operation::kTransposed : Operation::kNone;
  }
  /// Of a row-major matrix.
  Status layout(Layout& to, Data type, int64_t rows, int64_t columns, int64_t batches, int64_t step) {
    if (type == Data::kDouble || type == Data::kComplex128) kOne = kDoubles, kZero = kDoubles + 2;
    LT_TRY(f_.layout_create(&to, type, static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), columns));
    if (batches == 1) return ok_status();
    const auto count = static_cast<int32_t>(batches);
    LT_TRY(f_.layout_set(to, LayoutAttribute::kBatchCount, &count, sizeof count));
    LT_TRY(f_.layout_set(to, LayoutAttribute::kBatchStep, &step, sizeof step));
    return ok_status();
  }
  struct Alignments {
    uint32_t left, right, out;
  };
  Status choose_algorithm(Preference preference, bool wide_sums, const Alignments& at) {
    LT_TRY(
        f_.preference_set(preference, PreferenceAttribute::kWorkspaceBytes, &kWorkspaceBytes, sizeof kWorkspaceBytes));
    LT_TRY(f_.preference_set(preference, PreferenceAttribute::kAlignmentA, &at.left, sizeof at.left));
    LT_TRY(f_.preference_set(preference, PreferenceAttribute::kAlignmentB, &at.right, sizeof at.right));
    LT_TRY(f_.preference_set(preference, PreferenceAttribute::kAlignmentC, &at.out, sizeof at.out));
    LT_TRY(f_.preference_set(preference, PreferenceAttribute::kAlignmentD, &at.out, sizeof at.out));
    const uint32_t schemes = kInComputeType;
    if (wide_sums)
      LT_TRY(f_.preference_set(preference, PreferenceAttribute::kReductionSchemes, &schemes, sizeof schemes));
    Found found{};
    int count = 0;
    LT_TRY(f_.heuristic(handle_, desc_, left_, right_, out_, out_, preference, 1, &found, &count));
    if (count == 0 || found.state != 0) return unavailable("cuBLASLt has no algorithm for this product");
    algorithm_ = found.algorithm;
    workspace_bytes_ = found.workspace_bytes;
    return ok_status();
  }

  const Functions& f_;
  Handle handle_;
  Desc desc_ = nullptr;
  Layout left_ = nullptr, right_ = nullptr, out_ = nullptr;
  Algorithm algorithm_{};
  size_t workspace_bytes_ = 0;
};

}  // namespace

void LtProduct::load_soon() {
  if (!kReal) return;
  static const bool kBegun = [] {
    try {
      std::thread([] { (void)functions(); }).detach();
    } catch (const std::system_error&) {  // no thread to be had: make() loads it
    }
    return true;
  }();
  (void)kBegun;
}

Result<std::unique_ptr<LtProduct>> LtProduct::make(const LtShape& shape, const DeviceState& device) {
  RETURN_IF_ERROR(functions().status());
  return make(*functions(), shape, device);
}

Result<std::unique_ptr<LtProduct>> LtProduct::make(const Functions& f, const LtShape& shape,
                                                   const DeviceState& device) {
  if (shape.batches > INT32_MAX) return unavailable("so many matrix products");
  const Result<Handle> handle = handle_of(f, device.device);
  if (!handle.ok()) return unavailable(handle.status().message());
  auto product = std::make_unique<Product>(f, *handle);
  if (Status chosen = product->choose(shape, device); !chosen.ok()) return unavailable(chosen.message());
  return std::unique_ptr<LtProduct>(std::move(product));
}

}  // namespace emplace::cuda
