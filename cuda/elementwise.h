/// Elementwise kernels from one-line functions, for a GPU. A function is a struct with an `apply` of 1 to 3 wide elements
/// (cuda/narrow.h); what it returns is the output's wide element, or bool:
///
///   struct Add { template <class T> EMPLACE_HD static T apply(T a, T b) { return a + b; } };
///   table.add("AddV2", kFloating, elementwise<Add, float, double, half, bfloat16>);
///
/// Where the element's own type matters it is `template <class T> apply_as(Wide<T>...)`. A function with parameters is made
/// by `static F of(const KernelInit&)`. With `kSameSize`, operands only need equally many elements; `kIfIncompatible` is the
/// one answer where operands do not broadcast and the op lets that pass; `static Status check(const KernelContext&)` refuses
/// shapes that would broadcast.
/// 16 bytes are loaded and stored at once where operands lie side by side; rows, columns and other broadcasts go element
/// by element.
#pragma once

#include <type_traits>

#include "core/base/cat.h"
#include "cuda/broadcast.h"
#include "cuda/kernel_table.h"
#include "cuda/launch.h"
#include "cuda/narrow.h"

namespace emplace::cuda {

template <class F, class T, class... W>
EMPLACE_HD auto call(const F& f, W... operands) {
  if constexpr (requires { f.template apply_as<T>(operands...); }) return f.template apply_as<T>(operands...);
  else return f.apply(operands...);
}

template <class F, class T>
constexpr int arity() {
  using W = Wide<T>;
  if constexpr (requires(const F& f, W a) { f.apply(a); } || requires(const F& f, W a) { f.template apply_as<T>(a); }) return 1;
  else if constexpr (requires(const F& f, W a) { f.apply(a, a); } || requires(const F& f, W a) { f.template apply_as<T>(a, a); }) return 2;
  else return 3;
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
auto result_of(const F& f, Wide<T> x) {
  if constexpr (arity<F, T>() == 1) return call<F, T>(f, x);
  else if constexpr (arity<F, T>() == 2) return call<F, T>(f, x, x);
  else return call<F, T>(f, x, x, x);
}

/// F for elements of T: from elements to an element.
template <class F, class T>
struct ElementCode {
  using R = decltype(result_of<F, T>(std::declval<const F&>(), std::declval<Wide<T>>()));
  using Out = std::conditional_t<std::is_same_v<R, Wide<T>>, T, R>;

  template <class... U>
  EMPLACE_HD static Out of(const F& f, U... x) {
    if constexpr (std::is_same_v<Out, T>) return narrow<T>(call<F, T>(f, widen(x)...));
    else return call<F, T>(f, widen(x)...);
  }
};

template <class F, class T, int N>
__global__ void unary_kernel(F f, const T* x, typename ElementCode<F, T>::Out* y, int64_t n) {
  using Out = typename ElementCode<F, T>::Out;
  const int64_t packs = n / N;
  for (int64_t p = thread_index(); p < packs; p += thread_count()) {
    const Pack<T, N> in = reinterpret_cast<const Pack<T, N>*>(x)[p];
    Pack<Out, N> out;
    for (int i = 0; i < N; ++i) out.at[i] = ElementCode<F, T>::of(f, in.at[i]);
    reinterpret_cast<Pack<Out, N>*>(y)[p] = out;
  }
  const int64_t rest = packs * N + thread_index();
  if (rest < n) y[rest] = ElementCode<F, T>::of(f, x[rest]);
}

/// a_single, b_single: that operand is one element for all.
template <class F, class T, int N>
__global__ void binary_kernel(F f, const T* a, const T* b, typename ElementCode<F, T>::Out* y, int64_t n, bool a_single, bool b_single) {
  using Out = typename ElementCode<F, T>::Out;
  const int64_t packs = n / N;
  for (int64_t p = thread_index(); p < packs; p += thread_count()) {
    Pack<T, N> x, z;
    if (a_single) {
      for (int i = 0; i < N; ++i) x.at[i] = a[0];
    } else {
      x = reinterpret_cast<const Pack<T, N>*>(a)[p];
    }
    if (b_single) {
      for (int i = 0; i < N; ++i) z.at[i] = b[0];
    } else {
      z = reinterpret_cast<const Pack<T, N>*>(b)[p];
    }
    Pack<Out, N> out;
    for (int i = 0; i < N; ++i) out.at[i] = ElementCode<F, T>::of(f, x.at[i], z.at[i]);
    reinterpret_cast<Pack<Out, N>*>(y)[p] = out;
  }
  const int64_t rest = packs * N + thread_index();
  if (rest < n) y[rest] = ElementCode<F, T>::of(f, a[a_single ? 0 : rest], b[b_single ? 0 : rest]);
}

template <class F, class T>
__global__ void broadcast_kernel(F f, const T* a, const T* b, typename ElementCode<F, T>::Out* y, Broadcast<2> plan) {
  for (int64_t i = thread_index(); i < plan.elements; i += thread_count()) {
    const auto from = plan.offsets(i);
    y[i] = ElementCode<F, T>::of(f, a[from.at[0]], b[from.at[1]]);
  }
}

template <class F, class T>
__global__ void ternary_kernel(F f, const T* a, const T* b, const T* c, typename ElementCode<F, T>::Out* y, Broadcast<3> plan) {
  for (int64_t i = thread_index(); i < plan.elements; i += thread_count()) {
    const auto from = plan.offsets(i);
    y[i] = ElementCode<F, T>::of(f, a[from.at[0]], b[from.at[1]], c[from.at[2]]);
  }
}

template <class F, class T>
class Elementwise final : public Kernel {
 public:
  using Out = typename ElementCode<F, T>::Out;
  static constexpr int kArity = arity<F, T>();
  static constexpr int N = kPackSize<T, Out>;

  explicit Elementwise(F f) : f_(f) {}

  Status prepare(KernelContext& c) override {
    if constexpr (kArity == 1) {
      return ok_status();
    } else {
      if constexpr (requires { F::check(c); }) RETURN_IF_ERROR(F::check(c));
      std::array<const Shape*, kArity> shapes;
      for (int i = 0; i < kArity; ++i) shapes[static_cast<size_t>(i)] = &c.input(i).shape();
      if constexpr (requires { F::kSameSize; }) {
        const int64_t left = c.input(0).num_elements(), right = c.input(1).num_elements();
        if (left != right) {
          return invalid_argument(cat("The two arguments to a cwise op must have same number of elements, got ", left, " and ", right));
        }
        shapes[1] = shapes[0];
      }
      if constexpr (requires { F::kIfIncompatible; }) {
        incompatible_ = !compatible(*shapes[0], *shapes[1]);
        if (incompatible_) return ok_status();
      }
      ASSIGN_OR_RETURN(plan_, plan_broadcast<kArity>(shapes, c.output(0).shape()));
      return ok_status();
    }
  }

  Status run(KernelContext& c) override {
    if constexpr (requires { F::kIfIncompatible; }) {
      if (incompatible_) {
        RETURN_IF_ERROR(c.allocate_output(0, Shape{}));
        CUDA_TRY(cudaMemsetAsync(c.output(0).raw(), F::kIfIncompatible ? 1 : 0, sizeof(bool), stream_of(c)));
        return ok_status();
      }
    }
    Out* y = c.out<Out>(0);
    const T* a = c.in<T>(0);
    const int64_t n = c.output(0).num_elements();
    const dim3 packs = grid_for(n, int64_t{kThreads} * N);
    const cudaStream_t stream = stream_of(c);
    if constexpr (kArity == 1) {
      return launch(Barriers::kNone, unary_kernel<F, T, N>, packs, kThreads, 0, stream, f_, a, y, n);
    } else if constexpr (kArity == 2) {
      const T* b = c.in<T>(1);
      const bool a_single = plan_.single(0) && !plan_.flat(0), b_single = plan_.single(1) && !plan_.flat(1);
      if ((a_single || plan_.flat(0)) && (b_single || plan_.flat(1))) {
        return launch(Barriers::kNone, binary_kernel<F, T, N>, packs, kThreads, 0, stream, f_, a, b, y, n, a_single, b_single);
      }
      return launch(Barriers::kNone, broadcast_kernel<F, T>, grid_for(n), kThreads, 0, stream, f_, a, b, y, plan_);
    } else {
      return launch(Barriers::kNone, ternary_kernel<F, T>, grid_for(n), kThreads, 0, stream, f_, a, c.in<T>(1), c.in<T>(2), y, plan_);
    }
  }

 private:
  static bool compatible(const Shape& a, const Shape& b) {
    for (int d = 1; d <= a.rank() && d <= b.rank(); ++d) {
      const int64_t x = a.dim_from_end(d), y = b.dim_from_end(d);
      if (x != y && x != 1 && y != 1) return false;
    }
    return true;
  }

  F f_;
  Broadcast<kArity> plan_;
  bool incompatible_ = false;
};

template <class F>
F function_of(const KernelInit& init) {
  if constexpr (requires { F::of(init); }) return F::of(init);
  else return F{};
}

template <class F, class... Ts>
Result<std::unique_ptr<Kernel>> elementwise_of(DType type, const KernelInit& init) {
  std::unique_ptr<Kernel> made;
  auto take = [&]<class T>() {
    if (!made && type == dtype_of<T>) made = std::make_unique<Elementwise<F, T>>(function_of<F>(init));
  };
  (take.template operator()<Ts>(), ...);
  if (!made) return internal_error("a family lists a type that its function was not made for");
  return Result<std::unique_ptr<Kernel>>(std::move(made));
}

/// KernelMaker: F for the last input's type, one of Ts.
template <class F, class... Ts>
Result<std::unique_ptr<Kernel>> elementwise(const KernelInit& init) {
  return elementwise_of<F, Ts...>(base_type(init.input_types.back()), init);
}

constexpr DType unsigned_of(DType t) {
  switch (t) {
    case DType::kInt8: return DType::kUInt8;
    case DType::kInt16: return DType::kUInt16;
    case DType::kInt32: return DType::kUInt32;
    case DType::kInt64: return DType::kUInt64;
    default: return t;
  }
}
/// The same for functions that do not see an integer's sign (sums and products wrap, bits are bits): signed integers are
/// taken as unsigned ones.
template <class F, class... Ts>
Result<std::unique_ptr<Kernel>> elementwise_unsigned(const KernelInit& init) {
  return elementwise_of<F, Ts...>(unsigned_of(base_type(init.input_types.back())), init);
}

// Lists of types, as KernelMakers.
template <class F>
inline constexpr KernelMaker kOfFloating = elementwise<F, float, double, half, bfloat16>;
template <class F>
inline constexpr KernelMaker kOfIntegers = elementwise<F, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;

inline constexpr DTypeSet kHostInt32{DType::kInt32};  // where int32 is for shapes, and stays in host memory

}  // namespace emplace::cuda
