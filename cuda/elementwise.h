/// Elementwise kernels from formulas, for a GPU. A formula is a struct with an `apply` of 1 to 3 wide elements
/// (cuda/narrow.h); what it returns is the output's wide element, or bool. The CPU's are those of core/ops/formulas:
///
///   struct Add { template <class T> EMPLACE_INLINE static T apply(T a, T b) { return add(a, b); } };
///   table.add("AddV2", kFloating, elementwise<fn::Add, float, double, half, bfloat16>);
///
/// A formula may have parameters as members, and FunctionRules say what else there is to know of an op
/// (elementwise_of); ops that differ by so little that a kernel can decide it as it runs share one
/// (elementwise_choice). Only the kernels are templates: what the host does is in cuda/ops/elementwise.cu. 16 bytes are
/// loaded and stored at once where operands lie side by side or are repeated, unless what is broadcast leaves no whole
/// packs in the innermost dimension: then they go element by element.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "cuda/broadcast.h"
#include "cuda/complex.h"
#include "cuda/element_code.h"
#include "cuda/kernel_table.h"
#include "cuda/launch.h"
#include "cuda/narrow.h"

namespace emplace::cuda {

/// A launch for operands that lie as the result does, or are one element for all (`single`).
struct FlatWork {
  FunctionState function;
  const void* in[2] = {};
  void* out = nullptr;
  int64_t elements = 0;
  bool single[2] = {};
};
/// A launch for operands of other shapes.
template <int kOperands>
struct BroadcastWork {
  FunctionState function;
  const void* in[kOperands] = {};
  void* out = nullptr;
  Broadcast<kOperands> plan = {};
  bool packs = false;  // the plan is one of packs
};

/// A thread makes one pack of N elements. A grid has a thread for each.
template <class F, class T, int N>
__global__ void flat_kernel(FlatWork work) {
  using Code = ElementCode<F, T>;
  using Out = typename Code::Out;
  const int64_t first = thread_index() * N;
  if (first >= work.elements) return;
  const F f = function_in<F>(work.function);
  Pack<Out, N> out;
  auto operand = [&](int k) {
    return work.single[k] ? filled_pack<T, N>(work.in[k]) : load_pack<T, N>(work.in[k], work.elements, first);
  };
  const Pack<T, N> a = operand(0);
  if constexpr (arity<F, T>() == 1) {
    for (int i = 0; i < N; ++i) out.at[i] = Code::of(f, a.at[i]);
  } else {
    const Pack<T, N> b = operand(1);
    for (int i = 0; i < N; ++i) out.at[i] = Code::of(f, a.at[i], b.at[i]);
  }
  store_pack(work.out, work.elements, first, out);
}

/// A thread makes one element, or one pack of N.
template <class F, class T, int N, int kOperands>
__global__ void broadcast_kernel(BroadcastWork<kOperands> work) {
  using Code = ElementCode<F, T>;
  using Out = typename Code::Out;
  const int64_t i = thread_index();
  if (i >= work.plan.elements) return;
  const F f = function_in<F>(work.function);
  const auto from = work.plan.offsets(i);
  auto operand = [&](int k) { return static_cast<const T*>(work.in[k]) + from.at[k]; };
  Out* y = static_cast<Out*>(work.out);
  if (work.packs) {
    auto pack = [&](int k) {
      return work.plan.stride[k][0] == 0 ? filled_pack<T, N>(operand(k)) : load_pack<N>(operand(k));
    };
    const Pack<T, N> a = pack(0), b = pack(1);
    Pack<Out, N> out;
    if constexpr (kOperands == 2) {
      for (int j = 0; j < N; ++j) out.at[j] = Code::of(f, a.at[j], b.at[j]);
    } else {
      const Pack<T, N> c = pack(2);
      for (int j = 0; j < N; ++j) out.at[j] = Code::of(f, a.at[j], b.at[j], c.at[j]);
    }
    store_pack(y + i * N, out);
  } else if constexpr (kOperands == 2) {
    y[i] = Code::of(f, *operand(0), *operand(1));
  } else {
    y[i] = Code::of(f, *operand(0), *operand(1), *operand(2));
  }
}

/// A function's kernels for one type.
struct ElementKernels {
  DType type;
  int pack;
  std::string_view function;         // its name, by which chains are compiled (cuda/chain_source.h)
  DType result;                      // of its elements
  void (*flat)(FlatWork) = nullptr;  // of 1 and 2 operands
  void (*broadcast)(BroadcastWork<2>) = nullptr;
  void (*broadcast_of_three)(BroadcastWork<3>) = nullptr;
};
/// "fn::Tanh"; nothing for a function that is not in core/ops/formulas.
template <class F>
constexpr std::string_view function_name() {
  constexpr std::string_view kText =
      __PRETTY_FUNCTION__;  // "... [with F = fn::Tanh; ...]", with more or fewer namespaces
  constexpr size_t kFrom = kText.find("fn::");
  if constexpr (kFrom == std::string_view::npos)
    return {};
  else
    return kText.substr(kFrom, kText.find_first_of(";]", kFrom) - kFrom);
}
template <class F, class T>
ElementKernels element_kernels() {
  constexpr int N = kPackSize<T, typename ElementCode<F, T>::Out>;
  ElementKernels kernels{dtype_of<T>, N, function_name<F>(), dtype_of<typename ElementCode<F, T>::Out>};
  if constexpr (arity<F, T>() < 3) kernels.flat = flat_kernel<F, T, N>;
  if constexpr (arity<F, T>() == 2) kernels.broadcast = broadcast_kernel<F, T, N, 2>;
  if constexpr (arity<F, T>() == 3) kernels.broadcast_of_three = broadcast_kernel<F, T, N, 3>;
  return kernels;
}

/// What an op says of its operands.
struct FunctionRules {
  bool same_size = false;                           // they only need equally many elements
  std::optional<bool> if_incompatible = {};         // the one answer where they do not broadcast, if that may be
  Status (*check)(const KernelContext&) = nullptr;  // refuses shapes that would broadcast
};

/// The kernel for `type`, by that of `kernels` that has it.
Result<std::unique_ptr<Kernel>> make_elementwise(DType type, std::span<const ElementKernels> kernels, int arity,
                                                 const FunctionState& function, const FunctionRules& rules);

template <class F, class... Ts>
Result<std::unique_ptr<Kernel>> elementwise_of(DType type, const F& f = {}, const FunctionRules& rules = {}) {
  const ElementKernels kernels[] = {element_kernels<F, Ts>()...};
  return make_elementwise(type, kernels, std::max({arity<F, Ts>()...}), FunctionState::of(f), rules);
}

/// KernelMaker: F for the last input's type, one of Ts.
template <class F, class... Ts>
Result<std::unique_ptr<Kernel>> elementwise(const KernelInit& init) {
  return elementwise_of<F, Ts...>(base_type(init.input_types.back()));
}
/// Number `which` of the functions of F, a fn::OneOf.
template <int which, class F, class... Ts>
Result<std::unique_ptr<Kernel>> elementwise_choice(const KernelInit& init) {
  return elementwise_of<F, Ts...>(base_type(init.input_types.back()), F{which});
}

constexpr DType unsigned_of(DType t) {
  switch (t) {
    case DType::kInt8:
      return DType::kUInt8;
    case DType::kInt16:
      return DType::kUInt16;
    case DType::kInt32:
      return DType::kUInt32;
    case DType::kInt64:
      return DType::kUInt64;
    default:
      return t;
  }
}
/// The same for functions that do not see an integer's sign (sums and products wrap, bits are bits): signed integers
/// are taken as unsigned ones.
template <class F, class... Ts>
Result<std::unique_ptr<Kernel>> elementwise_unsigned(const KernelInit& init) {
  return elementwise_of<F, Ts...>(unsigned_of(base_type(init.input_types.back())));
}

// Lists of types, as KernelMakers.
template <class F>
inline constexpr KernelMaker kOfFloating = elementwise<F, float, double, half, bfloat16>;
template <class F>
inline constexpr KernelMaker kOfFractions = elementwise<F, float, double, half, bfloat16, complex64, complex128>;
template <int which, class F>
inline constexpr KernelMaker kChoiceOfFloating = elementwise_choice<which, F, float, double, half, bfloat16>;

inline constexpr DTypeSet kHostInt32{DType::kInt32};  // where int32 is for shapes, and stays in host memory

}  // namespace emplace::cuda
