// CheckNumerics, CheckNumericsV2: whether all is finite is known only when the device has looked: they wait.
#include "core/ops/math/unsound.h"

#include "core/base/cat.h"
#include "cuda/sort.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

constexpr int kUnsoundKinds = 3;  // a word each, which whoever finds one sets

template <class T>
__device__ __forceinline__ unsigned unsound_kind(T x) {
  const auto v = widen(x);
  if (v != v) return kNan;
  constexpr auto kInfinity = std::numeric_limits<decltype(widen(x))>::infinity();
  if (v == kInfinity) return kPositive;
  return v == -kInfinity ? unsigned{kNegative} : 0;
}

template <class T>
__global__ void unsound_kernel(const T* x, uint32_t* found, int64_t n) {
  constexpr int N = kPackSize<T>;
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  const Pack<T, N> pack = load_pack<T, N>(x, n, first);
  unsigned kinds = 0;
  EMPLACE_UNROLL for (int i = 0; i < N; ++i) kinds |= unsound_kind(pack.at[i]);
  if (kinds == 0) return;
  EMPLACE_UNROLL for (int k = 0; k < kUnsoundKinds; ++k) {
    if ((kinds >> k & 1) != 0) found[k] = 1;
  }
}

/// `with_signs`: the second version.
template <class T, bool with_signs>
class CheckUnsound final : public Kernel {
 public:
  explicit CheckUnsound(const KernelInit& init) : message_(init.attrs.text("message")) {}
  Workspace workspace() const override { return {scratch_bytes(sizeof(Words))}; }
  Status run(KernelContext& c) override {
    const int64_t n = c.input(0).num_elements();
    if (n > 0) {
      ASSIGN_OR_RETURN(const unsigned found, look(c, n));
      if (found != 0)
        return invalid_argument(cat(message_, " : Tensor had ", unsound_text(found, with_signs), " values"));
    }
    c.forward_output(0, c.input(0));
    return ok_status();
  }

 private:
  struct Words {
    uint32_t word[kUnsoundKinds];
  };
  static Result<unsigned> look(KernelContext& c, int64_t n) {
    ASSIGN_OR_RETURN(Tensor words, c.allocate_scratch(DType::kUInt32, Shape{kUnsoundKinds}));
    CUDA_TRY(cudaMemsetAsync(words.raw(), 0, sizeof(Words), stream_of(c)));
    RETURN_IF_ERROR(launch(Barriers::kNone, unsound_kernel<T>, grid_for_packs<T>(n), kThreads, 0, stream_of(c),
                           c.in<T>(0), words.data<uint32_t>(), n));
    ASSIGN_OR_RETURN(const Words seen, read_back(c, reinterpret_cast<const Words*>(words.raw())));
    unsigned found = 0;
    for (int k = 0; k < kUnsoundKinds; ++k) found |= seen.word[k] << k;
    return found;
  }
  std::string message_;
};
template <class T>
using CheckUnsoundFirst = CheckUnsound<T, false>;
template <class T>
using CheckUnsoundSigned = CheckUnsound<T, true>;

}  // namespace

void add_unsound(KernelTable& table) {
  constexpr DTypeSet kChecked = kFloating.without(DTypeSet{DType::kBFloat16});
  table.add_waiting("CheckNumerics", kChecked, by_input<0, CheckUnsoundFirst, float, double, half>);
  table.add_waiting("CheckNumericsV2", kChecked, by_input<0, CheckUnsoundSigned, float, double, half>);
}

}  // namespace emplace::cuda
