// Part of cuda/cublaslt_api.h: cuBLASLt on the stand-in, where EMPLACE_STANDIN_CUBLASLT is set: loops over column-major
// matrices. It prefers what a card would prefer: the sums in two parts, kept in the output's type or in place if the
// preferences allow it; and it believes what it is told of addresses and strides, which it refuses if they are not so.
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cuda/arithmetic.h"
#include "cuda/complex.h"
#include "cuda/cublaslt_api.h"
#include "cuda/narrow.h"
#include "cuda/standin/streams.h"

namespace emplace::cuda::lt {

struct LtHandle {};
struct LtDesc {
  Compute compute;
  Data scale;
  Operation a = Operation::kNone, b = Operation::kNone;
};
struct LtLayout {
  Data type;
  int64_t rows, columns, leading;
  int32_t batches = 1;
  int64_t step = 0;
};
struct LtPreference {
  size_t workspace_bytes = 0;
  uint32_t schemes = kInPlace | kInComputeType | kInOutputType;
  uint32_t alignment[4] = {256, 256, 256, 256};  // of a, b, c, d: what cuBLASLt takes for granted
};

namespace {

constexpr size_t kScratchBytes = 1000;

struct Product {
  LtDesc desc;
  LtLayout a, b, d;
  const void *a_data, *b_data;
  void* d_data;
  bool rounds;  // parts of the sums
};

template <class T>
Wide<T> element(const T* data, const LtLayout& layout, Operation op, int64_t row, int64_t column, bool tf32) {
  if (op != Operation::kNone) std::swap(row, column);
  Wide<T> x = widen(data[row + column * layout.leading]);
  if constexpr (kIsComplex<T>) {
    return op == Operation::kConjugated ? conjugate(x) : x;
  } else if constexpr (std::is_same_v<T, float>) {
    return tf32 ? std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000u) & ~0x1fffu) : x;
  } else {
    return x;
  }
}

template <class T>
void multiply(const Product& p, Wide<T> alpha) {
  const bool tf32 = p.desc.compute == Compute::kTf32;
  const int64_t depth = p.desc.a == Operation::kNone ? p.a.columns : p.a.rows;
  for (int64_t batch = 0; batch < p.d.batches; ++batch) {
    const T* a = static_cast<const T*>(p.a_data) + batch * p.a.step;
    const T* b = static_cast<const T*>(p.b_data) + batch * p.b.step;
    T* d = static_cast<T*>(p.d_data) + batch * p.d.step;
    for (int64_t column = 0; column < p.d.columns; ++column) {
      for (int64_t row = 0; row < p.d.rows; ++row) {
        Wide<T> part[2] = {Wide<T>(0), Wide<T>(0)};
        for (int64_t k = 0; k < depth; ++k)
          part[2 * k >= depth] += element(a, p.a, p.desc.a, row, k, tf32) * element(b, p.b, p.desc.b, k, column, tf32);
        if (p.rounds) part[0] = widen(narrow<T>(part[0])), part[1] = widen(narrow<T>(part[1]));
        d[row + column * p.d.leading] = narrow<T>(alpha * (part[0] + part[1]));
      }
    }
  }
}

template <class T>
StatusCode enqueue_product(const Product& p, const void* alpha, const void* beta, void* workspace,
                           cudaStream_t stream) {
  const Wide<T> factor = *static_cast<const Wide<T>*>(alpha);
  if (!(*static_cast<const Wide<T>*>(beta) == Wide<T>(0))) return kNotSupported;
  auto work = [=] {
    if (workspace) std::memset(workspace, 0x5c, kScratchBytes);
    multiply<T>(p, factor);
  };
  return emplace::standin::enqueue(stream, {work}) == cudaSuccess ? 0 : kInvalidValue;
}

bool fits(const Product& p) {
  const bool ta = p.desc.a != Operation::kNone, tb = p.desc.b != Operation::kNone;
  const int64_t rows = ta ? p.a.columns : p.a.rows, depth = ta ? p.a.rows : p.a.columns;
  const int64_t depth_b = tb ? p.b.columns : p.b.rows, columns = tb ? p.b.rows : p.b.columns;
  return rows == p.d.rows && columns == p.d.columns && depth == depth_b && p.a.type == p.b.type &&
         p.a.type == p.d.type && p.a.batches == p.d.batches && p.b.batches == p.d.batches;
}

size_t size_of(Data type) {
  switch (type) {
    case Data::kHalf:
    case Data::kBFloat16:
      return 2;
    case Data::kFloat:
      return 4;
    case Data::kComplex128:
      return 16;
    default:
      return 8;
  }
}

/// Every matrix of a batch.
bool lies_evenly(const void* data, const LtLayout& layout, uint64_t alignment) {
  const uint64_t step = layout.batches > 1 ? static_cast<uint64_t>(layout.step) * size_of(layout.type) : 0;
  return reinterpret_cast<uintptr_t>(data) % alignment == 0 && step % alignment == 0;
}

template <class T>
StatusCode make(T** made, T value) {
  *made = new T(value);
  return 0;
}
template <class T>
StatusCode destroy(T* made) {
  delete made;
  return 0;
}
template <class T>
StatusCode read(T& to, const void* value, size_t bytes) {
  if (bytes != sizeof to) return kInvalidValue;
  std::memcpy(&to, value, bytes);
  return 0;
}

StatusCode heuristic(Handle, Desc, Layout, Layout, Layout, Layout, Preference wants, int, Found* found, int* count) {
  *found = {};
  found->algorithm.data = {(wants->schemes & (kInPlace | kInOutputType)) != 0, wants->alignment[0], wants->alignment[1],
                           wants->alignment[3]};
  if (wants->workspace_bytes >= kScratchBytes) found->workspace_bytes = kScratchBytes;
  *count = 1;
  return 0;
}

StatusCode matmul(Handle, Desc desc, const void* alpha, const void* a, Layout a_layout, const void* b, Layout b_layout,
                  const void* beta, const void*, Layout, void* d, Layout d_layout, const Algorithm* algorithm,
                  void* workspace, size_t bytes, cudaStream_t stream) {
  const auto& [rounds, at_a, at_b, at_d, r4, r5, r6, r7] = algorithm->data;
  const Product p{*desc, *a_layout, *b_layout, *d_layout, a, b, d, rounds != 0};
  if (!fits(p) || (bytes != 0) != (workspace != nullptr)) return kInvalidValue;
  if (!lies_evenly(a, p.a, at_a) || !lies_evenly(b, p.b, at_b) || !lies_evenly(d, p.d, at_d)) return kInvalidValue;
  switch (p.d.type) {
    case Data::kHalf:
      return enqueue_product<half>(p, alpha, beta, workspace, stream);
    case Data::kBFloat16:
      return enqueue_product<bfloat16>(p, alpha, beta, workspace, stream);
    case Data::kFloat:
      return enqueue_product<float>(p, alpha, beta, workspace, stream);
    case Data::kDouble:
      return enqueue_product<double>(p, alpha, beta, workspace, stream);
    case Data::kComplex64:
      return enqueue_product<complex64>(p, alpha, beta, workspace, stream);
    default:
      return enqueue_product<complex128>(p, alpha, beta, workspace, stream);
  }
}

}  // namespace

Status load(Functions& f) {
  if (!std::getenv("EMPLACE_STANDIN_CUBLASLT")) return unavailable("no cuBLASLt on the stand-in");
  f.create = [](Handle* handle) { return make(handle, LtHandle{}); };
  f.desc_create = [](Desc* desc, Compute compute, Data scale) { return make(desc, LtDesc{compute, scale}); };
  f.desc_destroy = [](Desc desc) { return destroy(desc); };
  f.desc_set = [](Desc desc, DescAttribute attribute, const void* value, size_t bytes) {
    return read(attribute == DescAttribute::kTransA ? desc->a : desc->b, value, bytes);
  };
  f.layout_create = [](Layout* layout, Data type, uint64_t rows, uint64_t columns, int64_t leading) {
    if (leading < static_cast<int64_t>(rows)) return kInvalidValue;
    return make(layout, LtLayout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading});
  };
  f.layout_destroy = [](Layout layout) { return destroy(layout); };
  f.layout_set = [](Layout layout, LayoutAttribute attribute, const void* value, size_t bytes) {
    return attribute == LayoutAttribute::kBatchCount ? read(layout->batches, value, bytes)
                                                     : read(layout->step, value, bytes);
  };
  f.preference_create = [](Preference* preference) { return make(preference, LtPreference{}); };
  f.preference_destroy = [](Preference preference) { return destroy(preference); };
  f.preference_set = [](Preference wants, PreferenceAttribute attribute, const void* value, size_t bytes) {
    if (attribute == PreferenceAttribute::kWorkspaceBytes) return read(wants->workspace_bytes, value, bytes);
    if (attribute == PreferenceAttribute::kReductionSchemes) return read(wants->schemes, value, bytes);
    const int at = static_cast<int>(attribute) - static_cast<int>(PreferenceAttribute::kAlignmentA);
    return read(wants->alignment[at], value, bytes);
  };
  f.heuristic = heuristic;
  f.matmul = matmul;
  return ok_status();
}

}  // namespace emplace::cuda::lt
