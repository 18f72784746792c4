/// Elementwise kernels from one-line functions. A function is a struct with a static (or, with parameters, a const)
/// `apply` of 1 to 3 elements:
///
///   struct Add { template <class T> static T apply(T a, T b) { return a + b; } };
///   OpDef add_op() { return ....cpu(kFloatDouble | kHalves, elementwise<Add, float, double>); }
///
/// Broadcasting, narrow types (core/ops/kit/convert.h), clones per processor and splitting work are done here.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "core/op/element_step.h"
#include "core/op/op_def.h"
#include "core/ops/kit/broadcast.h"
#include "core/ops/kit/convert.h"
#include "core/ops/kit/isa.h"

namespace emplace {

/// How many elements `F::apply` takes.
template <class F, class T>
constexpr int arity() {
  if constexpr (requires(const F& f, T a) { f.apply(a); })
    return 1;
  else if constexpr (requires(const F& f, T a) { f.apply(a, a); })
    return 2;
  else
    return 3;
}

template <class F>
EMPLACE_INLINE F function_object(const void* params) {
  if constexpr (std::is_empty_v<F>)
    return F{};
  else
    return *static_cast<const F*>(params);
}

/// The loop of all clones. Strides are 0 or 1; each combination that matters gets its own loop.
template <class F, class T>
EMPLACE_INLINE void tile_body(const void* const* inputs, const int64_t* strides, void* out, int64_t n,
                              const void* params) {
  const F f = function_object<F>(params);
  const T* a = static_cast<const T*>(inputs[0]);
  if constexpr (arity<F, T>() == 1) {
    auto* y = static_cast<decltype(f.apply(*a))*>(out);
    if (strides[0] == 0) {
      const auto value = f.apply(a[0]);
      for (int64_t i = 0; i < n; ++i) y[i] = value;
      return;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = f.apply(a[i]);
  } else if constexpr (arity<F, T>() == 2) {
    const T* b = static_cast<const T*>(inputs[1]);
    auto* y = static_cast<decltype(f.apply(*a, *b))*>(out);
    if (strides[0] == 0 && strides[1] == 0) {
      const auto value = f.apply(a[0], b[0]);
      for (int64_t i = 0; i < n; ++i) y[i] = value;
    } else if (strides[0] == 0) {
      const T left = a[0];
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = f.apply(left, b[i]);
    } else if (strides[1] == 0) {
      const T right = b[0];
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = f.apply(a[i], right);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = f.apply(a[i], b[i]);
    }
  } else {
    const T* b = static_cast<const T*>(inputs[1]);
    const T* c = static_cast<const T*>(inputs[2]);
    auto* y = static_cast<decltype(f.apply(*a, *b, *c))*>(out);
    const int64_t sa = strides[0], sb = strides[1], sc = strides[2];
    for (int64_t i = 0; i < n; ++i) y[i] = f.apply(a[i * sa], b[i * sb], c[i * sc]);
  }
}

template <class F, class T>
void tile_base(const void* const* in, const int64_t* s, void* out, int64_t n, const void* p) {
  tile_body<F, T>(in, s, out, n, p);
}
template <class F, class T>
EMPLACE_TARGET_V3 void tile_v3(const void* const* in, const int64_t* s, void* out, int64_t n, const void* p) {
  tile_body<F, T>(in, s, out, n, p);
}
template <class F, class T>
EMPLACE_TARGET_V4 void tile_v4(const void* const* in, const int64_t* s, void* out, int64_t n, const void* p) {
  tile_body<F, T>(in, s, out, n, p);
}

/// Types for which clones are worth their code. A function that they would not help (it calls the C library,
/// divides integers, or must not fuse multiplications) says so with a member `template <class T> static constexpr bool
/// kScalarOnly`.
template <class F, class T>
constexpr bool has_clones() {
  constexpr bool wide =
      std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;
  if constexpr (requires { F::template kScalarOnly<T>; })
    return wide && !F::template kScalarOnly<T>;
  else
    return wide;
}

template <class F, class T>
Tile::Function tile_function() {
  if constexpr (has_clones<F, T>())
    return for_isa<Tile::Function>(tile_base<F, T>, tile_v3<F, T>, tile_v4<F, T>);
  else
    return tile_base<F, T>;
}

/// Rough time of one element, as `static constexpr double kCostNs` of the function.
template <class F>
constexpr double cost_ns() {
  if constexpr (requires { F::kCostNs; })
    return F::kCostNs;
  else
    return 0.1;
}

/// What ElementwiseKernel needs to know about its function. `step` is F's `static constexpr ElementStep kStep`, if it
/// has one and computes floats.
struct ElementwiseCode {
  Tile::Function function = nullptr;    // for elements of type `computes_in`
  DType computes_in = DType::kInvalid;  // the op's own type or compute_type() of it
  double cost_ns = 0.1;
  ElementStep step = ElementStep::kNone;
  std::shared_ptr<const void> params;  // null for functions without parameters
  /// What the inputs' shapes count as in broadcasting, where that is not what they are; may refuse them.
  Status (*adapt_shapes)(const KernelContext&, std::span<Shape> inputs) = nullptr;
  /// What may be refused for its values (division by zero). Kernels with a check are never fused.
  Status (*check)(const KernelContext&) = nullptr;
};

/// A tile for the op's own element types, with the conversions around it where it computes in another type.
class BoundTile {
 public:
  BoundTile(ElementwiseCode code, DType input, DType output, int num_inputs);
  const Tile& get() const { return tile_; }

 private:
  struct Conversion;
  static void convert_and_compute(const void* const* inputs, const int64_t* strides, void* out, int64_t n,
                                  const void* params);

  Tile tile_;
  std::shared_ptr<const void> params_;  // tile_.params, or those of the computing function inside a conversion
  std::shared_ptr<const Conversion> conversion_;
};

/// Not a template: broadcasting, widening, parallelism.
std::unique_ptr<Kernel> make_elementwise(const KernelInit& init, ElementwiseCode code);

/// What F says that it is for elements of T, so that it may be one of a run of steps.
template <class F, class T>
constexpr ElementStep step_of() {
  if constexpr (std::is_same_v<T, float> && requires { F::kStep; }) {
    return F::kStep;
  } else {
    return ElementStep::kNone;
  }
}

/// The code of F for elements of `type`, among the types Ts; the type itself first, else its compute type.
template <class F, class... Ts>
ElementwiseCode elementwise_code(DType type, std::shared_ptr<const void> params = nullptr) {
  ElementwiseCode code;
  auto take = [&]<class T>(DType wanted) {
    if (code.function || dtype_of<T> != wanted) return;
    code.function = tile_function<F, T>();
    code.computes_in = wanted;
    if (type == wanted) code.step = step_of<F, T>();
  };
  (take.template operator()<Ts>(type), ...);
  (take.template operator()<Ts>(compute_type(type)), ...);
  code.cost_ns = cost_ns<F>();
  code.params = std::move(params);
  if constexpr (requires { F::check; }) code.check = F::check;
  if constexpr (requires { F::adapt_shapes; }) code.adapt_shapes = F::adapt_shapes;
  return code;
}

/// The frame of an op with one operand, or with two that are broadcast: doc, shape rule, samples.
OpDef unary_op(std::string_view name, std::string_view doc);
OpDef binary_op(std::string_view name, std::string_view doc);

/// Shape rule: two inputs of the same shape, which is the output's too.
Status shape_merged(ShapeContext& c);

/// KernelMaker for a function without parameters.
template <class F, class... Ts>
Result<std::unique_ptr<Kernel>> elementwise(const KernelInit& init) {
  return make_elementwise(init, elementwise_code<F, Ts...>(init.input_types.back()));
}

}  // namespace emplace
