/// Elementwise kernels from one-line functions, for a GPU. A function is a struct with a static `apply` of 1 or 2 wide
/// elements (cuda/narrow.h); what it returns is the output's wide element, or bool:
///
///   struct Add { template <class T> EMPLACE_HD static T apply(T a, T b) { return a + b; } };
///   table.add("AddV2", kFloating, elementwise<Add, float, double, half, bfloat16>);
///
/// 16 bytes are loaded and stored at once where operands lie side by side; rows, columns and other broadcasts go element by element.
#pragma once

#include <type_traits>

#include "cuda/broadcast.h"
#include "cuda/kernel_table.h"
#include "cuda/launch.h"
#include "cuda/narrow.h"

namespace emplace::cuda {

template <class F, class T>
constexpr int arity() {
  if constexpr (requires(Wide<T> a) { F::apply(a); }) return 1;
  else return 2;
}

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

/// Elements of the widest of the types in 16 bytes.
template <class... Ts>
inline constexpr int kPackSize = [] {
  size_t widest = 1;
  ((widest = sizeof(Ts) > widest ? sizeof(Ts) : widest), ...);
  return static_cast<int>(16 / widest);
}();

template <class F, class T>
struct UnaryCode {
  using R = decltype(F::apply(Wide<T>{}));
  using Out = std::conditional_t<std::is_same_v<R, Wide<T>>, T, R>;
  EMPLACE_HD static Out of(T x) {
    if constexpr (std::is_same_v<Out, T>) return narrow<T>(F::apply(widen(x)));
    else return F::apply(widen(x));
  }
};
template <class F, class T>
struct BinaryCode {
  using R = decltype(F::apply(Wide<T>{}, Wide<T>{}));
  using Out = std::conditional_t<std::is_same_v<R, Wide<T>>, T, R>;
  EMPLACE_HD static Out of(T a, T b) {
    if constexpr (std::is_same_v<Out, T>) return narrow<T>(F::apply(widen(a), widen(b)));
    else return F::apply(widen(a), widen(b));
  }
};

template <class F, class T, int N>
__global__ void unary_kernel(const T* x, typename UnaryCode<F, T>::Out* y, int64_t n) {
  using Out = typename UnaryCode<F, T>::Out;
  const int64_t packs = n / N;
  for (int64_t p = thread_index(); p < packs; p += thread_count()) {
    const Pack<T, N> in = reinterpret_cast<const Pack<T, N>*>(x)[p];
    Pack<Out, N> out;
    for (int i = 0; i < N; ++i) out.at[i] = UnaryCode<F, T>::of(in.at[i]);
    reinterpret_cast<Pack<Out, N>*>(y)[p] = out;
  }
  const int64_t rest = packs * N + thread_index();
  if (rest < n) y[rest] = UnaryCode<F, T>::of(x[rest]);
}

/// kLeft, kRight: that operand is one element for all.
template <class F, class T, int N, bool kLeft, bool kRight>
__global__ void binary_kernel(const T* a, const T* b, typename BinaryCode<F, T>::Out* y, int64_t n) {
  using Out = typename BinaryCode<F, T>::Out;
  const int64_t packs = n / N;
  T left{}, right{};
  if constexpr (kLeft) left = a[0];
  if constexpr (kRight) right = b[0];
  for (int64_t p = thread_index(); p < packs; p += thread_count()) {
    Pack<T, N> x, z;
    if constexpr (!kLeft) x = reinterpret_cast<const Pack<T, N>*>(a)[p];
    if constexpr (!kRight) z = reinterpret_cast<const Pack<T, N>*>(b)[p];
    Pack<Out, N> out;
    for (int i = 0; i < N; ++i) out.at[i] = BinaryCode<F, T>::of(kLeft ? left : x.at[i], kRight ? right : z.at[i]);
    reinterpret_cast<Pack<Out, N>*>(y)[p] = out;
  }
  const int64_t rest = packs * N + thread_index();
  if (rest < n) y[rest] = BinaryCode<F, T>::of(kLeft ? left : a[rest], kRight ? right : b[rest]);
}

template <class F, class T>
__global__ void broadcast_kernel(const T* a, const T* b, typename BinaryCode<F, T>::Out* y, Broadcast<2> plan) {
  for (int64_t i = thread_index(); i < plan.elements; i += thread_count()) {
    const auto from = plan.offsets(i);
    y[i] = BinaryCode<F, T>::of(a[from.at[0]], b[from.at[1]]);
  }
}

template <class F, class T>
class UnaryKernel final : public Kernel {
 public:
  explicit UnaryKernel(const KernelInit&) {}
  Status run(KernelContext& c) override {
    using Out = typename UnaryCode<F, T>::Out;
    constexpr int N = kPackSize<T, Out>;
    const int64_t n = c.input(0).num_elements();
    return launch(Barriers::kNone, unary_kernel<F, T, N>, grid_for(n, int64_t{kThreads} * N), kThreads, 0, stream_of(c),
                  c.in<T>(0), c.out<Out>(0), n);
  }
};

template <class F, class T>
class BinaryKernel final : public Kernel {
 public:
  explicit BinaryKernel(const KernelInit&) {}

  Status prepare(KernelContext& c) override {
    ASSIGN_OR_RETURN(plan_, plan_broadcast<2>({&c.input(0).shape(), &c.input(1).shape()}, c.output(0).shape()));
    return ok_status();
  }

  Status run(KernelContext& c) override {
    using Out = typename BinaryCode<F, T>::Out;
    constexpr int N = kPackSize<T, Out>;
    const int64_t n = plan_.elements;
    const T *a = c.in<T>(0), *b = c.in<T>(1);
    Out* y = c.out<Out>(0);
    const dim3 packs = grid_for(n, int64_t{kThreads} * N);
    const cudaStream_t stream = stream_of(c);
    if (plan_.flat(0) && plan_.flat(1)) return launch(Barriers::kNone, binary_kernel<F, T, N, false, false>, packs, kThreads, 0, stream, a, b, y, n);
    if (plan_.single(0) && plan_.flat(1)) return launch(Barriers::kNone, binary_kernel<F, T, N, true, false>, packs, kThreads, 0, stream, a, b, y, n);
    if (plan_.flat(0) && plan_.single(1)) return launch(Barriers::kNone, binary_kernel<F, T, N, false, true>, packs, kThreads, 0, stream, a, b, y, n);
    return launch(Barriers::kNone, broadcast_kernel<F, T>, grid_for(n), kThreads, 0, stream, a, b, y, plan_);
  }

 private:
  Broadcast<2> plan_;
};

/// KernelMaker: F for the input's type, one of Ts.
template <class F, class... Ts>
Result<std::unique_ptr<Kernel>> elementwise(const KernelInit& init) {
  std::unique_ptr<Kernel> made;
  auto take = [&]<class T>() {
    if (made || init.input_types.back() != dtype_of<T>) return;
    if constexpr (arity<F, T>() == 1) made = std::make_unique<UnaryKernel<F, T>>(init);
    else made = std::make_unique<BinaryKernel<F, T>>(init);
  };
  (take.template operator()<Ts>(), ...);
  if (!made) return internal_error("a family lists a type that its function was not made for");
  return Result<std::unique_ptr<Kernel>>(std::move(made));
}

}  // namespace emplace::cuda
