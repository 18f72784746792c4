/// What optimizers do to one element of a variable and its slots, in TensorFlow's order of operations
/// (tensorflow/core/kernels/training_ops.cc). The form is that of core/ops/state/variable_update.h; CPU and GPU share
/// them.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <string_view>

#include "core/ops/kit/isa.h"

namespace emplace {

template <class T>
EMPLACE_INLINE T square_root(T x) {
  return std::sqrt(x);
}

template <class T>
struct GradientDescent {
  static constexpr std::array kInputs{"var", "alpha", "delta"};
  static constexpr int kVariables = 1, kGradient = 2;
  static constexpr std::string_view kFlag = "";
  T alpha;
  EMPLACE_INLINE GradientDescent(const T* s, bool) : alpha(s[0]) {}
  EMPLACE_INLINE void operator()(T g, T& var) const { var -= g * alpha; }
};

template <class T>
struct Momentum {
  static constexpr std::array kInputs{"var", "accum", "lr", "grad", "momentum"};
  static constexpr int kVariables = 2, kGradient = 3;
  static constexpr std::string_view kFlag = "use_nesterov";
  T lr, momentum;
  bool nesterov;
  EMPLACE_INLINE Momentum(const T* s, bool flag) : lr(s[0]), momentum(s[1]), nesterov(flag) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& accum) const {
    accum = accum * momentum + g;
    var -= nesterov ? g * lr + accum * momentum * lr : accum * lr;
  }
};

// Keras keeps the rate inside the accumulator.
template <class T>
struct KerasMomentum : Momentum<T> {
  using Momentum<T>::Momentum;
  EMPLACE_INLINE void operator()(T g, T& var, T& accum) const {
    accum = accum * this->momentum - g * this->lr;
    var += this->nesterov ? accum * this->momentum - g * this->lr : accum;
  }
};

// epsilon is added after the bias correction went into the rate.
template <class T>
struct Adam {
  static constexpr std::array kInputs{"var", "m",     "v",     "beta1_power", "beta2_power",
                                      "lr",  "beta1", "beta2", "epsilon",     "grad"};
  static constexpr int kVariables = 3, kGradient = 9;
  static constexpr std::string_view kFlag = "use_nesterov";
  T alpha, beta1, keep1, keep2, epsilon;
  bool nesterov;
  EMPLACE_INLINE Adam(const T* s, bool flag)
      : alpha(s[2] * square_root(T(1) - s[1]) / (T(1) - s[0])),
        beta1(s[3]),
        keep1(T(1) - s[3]),
        keep2(T(1) - s[4]),
        epsilon(s[5]),
        nesterov(flag) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& m, T& v) const {
    m += (g - m) * keep1;
    v += (g * g - v) * keep2;
    const T step = nesterov ? g * keep1 + beta1 * m : m;
    var -= step * alpha / (square_root(v) + epsilon);
  }
};

template <class T>
struct Adagrad {
  static constexpr std::array kInputs{"var", "accum", "lr", "grad"};
  static constexpr int kVariables = 2, kGradient = 3;
  static constexpr std::string_view kFlag = "update_slots";
  T lr;
  bool update_slots;
  EMPLACE_INLINE Adagrad(const T* s, bool flag) : lr(s[0]), update_slots(flag) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& accum) const {
    accum += update_slots ? g * g : T(0);
    var -= g * lr / square_root(accum);
  }
};

template <class T>
struct AdagradV2 {
  static constexpr std::array kInputs{"var", "accum", "lr", "epsilon", "grad"};
  static constexpr int kVariables = 2, kGradient = 4;
  static constexpr std::string_view kFlag = "update_slots";
  T lr, epsilon;
  bool update_slots;
  EMPLACE_INLINE AdagradV2(const T* s, bool flag) : lr(s[0]), epsilon(s[1]), update_slots(flag) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& accum) const {
    accum += update_slots ? g * g : T(0);
    var -= g * lr / (square_root(accum) + epsilon);
  }
};

template <class T>
struct RmsProp {
  static constexpr std::array kInputs{"var", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"};
  static constexpr int kVariables = 3, kGradient = 7;
  static constexpr std::string_view kFlag = "";
  T lr, keep, momentum, epsilon;
  EMPLACE_INLINE RmsProp(const T* s, bool) : lr(s[0]), keep(T(1) - s[1]), momentum(s[2]), epsilon(s[3]) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& ms, T& mom) const {
    ms += (g * g - ms) * keep;
    mom = mom * momentum + g * lr / square_root(ms + epsilon);
    var -= mom;
  }
};

template <class T>
struct CenteredRmsProp {
  static constexpr std::array kInputs{"var", "mg", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"};
  static constexpr int kVariables = 4, kGradient = 8;
  static constexpr std::string_view kFlag = "";
  T lr, keep, momentum, epsilon;
  EMPLACE_INLINE CenteredRmsProp(const T* s, bool) : lr(s[0]), keep(T(1) - s[1]), momentum(s[2]), epsilon(s[3]) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& mg, T& ms, T& mom) const {
    ms += (g * g - ms) * keep;
    mg += (g - mg) * keep;
    mom = mom * momentum + g * lr / square_root(ms - mg * mg + epsilon);
    var -= mom;
  }
};

}  // namespace emplace
