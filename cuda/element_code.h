/// A one-line function of elements (cuda/elementwise.h) as device code: for elements of a type, and for packs of them
/// that are loaded and stored at once.
#pragma once

#ifndef __CUDACC_RTC__
#include <cstring>
#endif
#include <type_traits>
#include <utility>

#include "cuda/formulas.h"
#include "cuda/narrow.h"

namespace emplace::cuda {

template <class F, class T>
constexpr int arity() {
  using W = Operand<F, T>;
  if constexpr (requires(const F& f, W a) { f.apply(a); })
    return 1;
  else if constexpr (requires(const F& f, W a) { f.apply(a, a); })
    return 2;
  else
    return 3;
}

/// Loaded and stored at once: begins at a multiple of its size, as every tensor does.
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
auto result_of(const F& f, Operand<F, T> x) {
  if constexpr (arity<F, T>() == 1)
    return f.apply(x);
  else if constexpr (arity<F, T>() == 2)
    return f.apply(x, x);
  else
    return f.apply(x, x, x);
}

/// F for elements of T: from elements to an element.
template <class F, class T>
struct ElementCode {
  using W = Operand<F, T>;
  using R = decltype(result_of<F, T>(std::declval<const F&>(), std::declval<W>()));
  using Out = std::conditional_t<std::is_same_v<R, W>, T, R>;

  template <class... U>
  EMPLACE_HD static Out of(const F& f, U... x) {
    if constexpr (kIsHalf<W> && std::is_same_v<Out, T>)
      return f.apply(W(x)...).stored;
    else if constexpr (std::is_same_v<Out, T>)
      return narrow<T>(f.apply(widen(x)...));
    else
      return f.apply(widen(x)...);
  }
};

/// What a function's members hold, as an argument of kernels.
struct FunctionState {
  alignas(8) unsigned char bytes[8] = {};

#ifndef __CUDACC_RTC__
  template <class F>
  static FunctionState of(const F& f) {
    static_assert(std::is_empty_v<F> || (sizeof(F) <= sizeof(bytes) && std::is_trivially_copyable_v<F>),
                  "a function is a number or two");
    FunctionState state;
    if constexpr (!std::is_empty_v<F>) memcpy(state.bytes, &f, sizeof(F));
    return state;
  }
#endif
};
template <class F>
EMPLACE_HD F function_in(const FunctionState& state) {
  F f{};
  if constexpr (!std::is_empty_v<F>) memcpy(&f, state.bytes, sizeof(F));
  return f;
}

template <int N, class T>
EMPLACE_HD Pack<T, N> load_pack(const T* x) {
  return *reinterpret_cast<const Pack<T, N>*>(x);
}
template <class T, int N>
EMPLACE_HD void store_pack(T* y, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(y) = pack;
}
/// Elements [first, first + N) of `elements` at x; in place of those behind the last, the first of them.
template <class T, int N>
EMPLACE_HD Pack<T, N> load_pack(const void* from, int64_t elements, int64_t first) {
  const T* x = static_cast<const T*>(from) + first;
  if (first + N <= elements) return load_pack<N>(x);
  Pack<T, N> pack;
  for (int i = 0; i < N; ++i) pack.at[i] = x[first + i < elements ? i : 0];
  return pack;
}
/// The one element at x, N times.
template <class T, int N>
EMPLACE_HD Pack<T, N> filled_pack(const void* x) {
  Pack<T, N> pack;
  for (int i = 0; i < N; ++i) pack.at[i] = *static_cast<const T*>(x);
  return pack;
}
template <class T, int N>
EMPLACE_HD void store_pack(void* to, int64_t elements, int64_t first, const Pack<T, N>& pack) {
  T* y = static_cast<T*>(to) + first;
  if (first + N <= elements) {
    store_pack(y, pack);
  } else {
    for (int i = 0; i < N; ++i) {
      if (first + i < elements) y[i] = pack.at[i];
    }
  }
}

}  // namespace emplace::cuda
