/// Updates of variables by a formula (the Apply... ops): the kernel frame around one formula.
///
/// A formula is a class template over the element type: made from the op's scalars, called once per element.
///
///   template <class T> struct Descent {
///     static constexpr std::array kInputs{"var", "alpha", "delta"};  // TensorFlow's argument names
///     static constexpr int kVariables = 1;                           // var and its slots come first
///     static constexpr int kGradient = 2;                            // every other input is a scalar
///     static constexpr std::string_view kFlag = "";                  // a bool attr that the formula depends on
///     static constexpr bool kReal = true;                            // may be left out: no complex numbers
///     static std::string_view refuse(const T* scalars, bool flag);   // may be left out: UpdateCode::refuse
///     T alpha;
///     Descent(const T* scalars, bool) : alpha(scalars[0]) {}
///     void operator()(T gradient, T& var) const { var -= gradient * alpha; }
///   };
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "core/op/op_def.h"
#include "core/ops/kit/convert.h"
#include "core/ops/kit/isa.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/state/locked_variables.h"

namespace emplace {

/// `n` elements; `scalars` and all elements are of the compute type.
using UpdateFunction = void (*)(const void* scalars, bool flag, void* const* variables, const void* gradient,
                                int64_t n);

struct UpdateCode {
  UpdateFunction function = nullptr;
  int variables = 0, gradient = 0;
  int indices = -1;  // of a formula with kIndices: the gradient's rows are for these rows, one after the other
  std::span<const char* const> inputs;
  bool flag = false;
  /// What is wrong with the scalars; empty: nothing.
  std::string_view (*refuse)(const void* scalars, bool flag) = nullptr;
};

/// The frame: locks the variables (in one order everywhere, so that steps beside each other cannot deadlock), checks
/// them, makes their buffers ours, widens halves, splits the work.
std::unique_ptr<Kernel> make_update(UpdateCode code);

/// Shape rule: all variables and the gradient have one shape (of a formula with kIndices, the gradient's rows have),
/// the rest are scalars.
Status update_shape(ShapeContext& c, const UpdateCode& code);

template <template <class> class Formula, class T>
EMPLACE_INLINE void update_body(const void* scalars, bool flag, void* const* variables, const void* gradient,
                                int64_t n) {
  const Formula<T> formula(static_cast<const T*>(scalars), flag);
  const T* g = static_cast<const T*>(gradient);
  constexpr int kCount = Formula<T>::kVariables;
  T* v[kMaxUpdatedVariables] = {};
  for (int k = 0; k < kCount; ++k) v[k] = static_cast<T*>(variables[k]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kCount == 1)
      formula(g[i], v[0][i]);
    else if constexpr (kCount == 2)
      formula(g[i], v[0][i], v[1][i]);
    else if constexpr (kCount == 3)
      formula(g[i], v[0][i], v[1][i], v[2][i]);
    else
      formula(g[i], v[0][i], v[1][i], v[2][i], v[3][i]);
  }
}
template <template <class> class Formula, class T>
void update_base(const void* s, bool flag, void* const* v, const void* g, int64_t n) {
  update_body<Formula, T>(s, flag, v, g, n);
}
template <template <class> class Formula, class T>
EMPLACE_TARGET_V3 void update_v3(const void* s, bool flag, void* const* v, const void* g, int64_t n) {
  update_body<Formula, T>(s, flag, v, g, n);
}
template <template <class> class Formula, class T>
EMPLACE_TARGET_V4 void update_v4(const void* s, bool flag, void* const* v, const void* g, int64_t n) {
  update_body<Formula, T>(s, flag, v, g, n);
}

template <template <class> class Formula, class T>
UpdateFunction update_function() {
  if constexpr (kIsComplex<T>)
    return update_base<Formula, T>;
  else
    return for_isa<UpdateFunction>(update_base<Formula, T>, update_v3<Formula, T>, update_v4<Formula, T>);
}

template <template <class> class Formula, class T>
void set_function(UpdateCode& code) {
  code.function = update_function<Formula, T>();
  if constexpr (requires { &Formula<T>::refuse; })
    code.refuse = [](const void* scalars, bool flag) {
      return Formula<T>::refuse(static_cast<const T*>(scalars), flag);
    };
}

template <template <class> class Formula>
UpdateCode update_code(DType type) {
  UpdateCode code;
  constexpr bool kReal = requires { Formula<float>::kReal; };
  const DType compute = compute_type(type);
  if (compute == DType::kDouble) {
    set_function<Formula, double>(code);
  } else if (kReal || !is_complex(compute)) {
    set_function<Formula, float>(code);
  } else if constexpr (!kReal) {
    compute == DType::kComplex64 ? set_function<Formula, complex64>(code) : set_function<Formula, complex128>(code);
  }
  code.variables = Formula<float>::kVariables;
  code.gradient = Formula<float>::kGradient;
  if constexpr (requires { Formula<float>::kIndices; }) code.indices = Formula<float>::kIndices;
  code.inputs = Formula<float>::kInputs;
  return code;
}

/// "ApplyX" for references (gives the variable) or "ResourceApplyX" for handles.
template <template <class> class Formula>
OpDef update_op(std::string_view name, std::string_view doc, DTypeSet types = kFloating | kComplexes) {
  constexpr KernelMaker maker = [](const KernelInit& init) -> Result<std::unique_ptr<Kernel>> {
    UpdateCode code = update_code<Formula>(init.attrs.type("T"));
    if (!Formula<float>::kFlag.empty()) code.flag = init.attrs.flag(Formula<float>::kFlag);
    return make_update(code);
  };
  return OpDef(name)
      .doc(doc)
      .traits({.writes_variable = true})
      .shape([](ShapeContext& c) { return update_shape(c, update_code<Formula>(DType::kFloat)); })
      .cpu(types, maker)
      .provides_outputs();
}

}  // namespace emplace
