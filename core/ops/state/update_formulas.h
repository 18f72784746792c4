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

/// Follow the regularised leader: `linear` adds up gradients, and the variable is what would have been best for all of
/// them, 0 where that is nearer than l1. Of real numbers.
template <class T>
struct FtrlStep {
  static constexpr bool kReal = true;
  static constexpr std::string_view kFlag = "multiply_linear_by_lr";
  T lr, l1, l2, shrinkage, power;
  bool times_rate;  // `linear` holds the sum times lr
  bool clamps;      // of what is nearer than l1: 0 / y, which is nan where y is 0

  EMPLACE_INLINE T root(T x) const { return power == T(-0.5) ? square_root(x) : T(std::pow(x, -power)); }
  EMPLACE_INLINE void operator()(T g, T& var, T& accum, T& linear) const {
    const T before = root(accum), shrunk = g + T(2) * shrinkage * var;
    accum += g * g;
    const T now = root(accum);
    linear += times_rate ? shrunk * lr - (now - before) * var : shrunk - (now - before) / lr * var;
    const T bound = times_rate ? l1 * lr : l1;
    const T size = times_rate ? now + T(2) * l2 * lr : now / lr + T(2) * l2;
    if (clamps) {
      const T floor = linear < -bound ? -bound : linear;
      var = ((floor > bound ? bound : floor) - linear) / size;
    } else {
      const T magnitude = linear < T(0) ? -linear : linear;
      const T sign = linear > T(0) ? T(1) : linear < T(0) ? T(-1) : T(0);
      var = magnitude > bound ? (bound * sign - linear) / size : T(0);
    }
  }
};

template <class T>
struct Ftrl : FtrlStep<T> {
  static constexpr std::array kInputs{"var", "accum", "linear", "grad", "lr", "l1", "l2", "lr_power"};
  static constexpr int kVariables = 3, kGradient = 3;
  EMPLACE_INLINE Ftrl(const T* s, bool flag) : FtrlStep<T>{s[0], s[1], s[2], T(0), s[3], flag, false} {}
};

template <class T>
struct FtrlV2 : FtrlStep<T> {
  static constexpr std::array kInputs{"var", "accum", "linear", "grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"};
  static constexpr int kVariables = 3, kGradient = 3;
  EMPLACE_INLINE FtrlV2(const T* s, bool flag) : FtrlStep<T>{s[0], s[1], s[2], s[3], s[4], flag, false} {}
};

// Of rows, TensorFlow's kernels clamp.
template <class T>
struct RowsFtrl : Ftrl<T> {
  EMPLACE_INLINE RowsFtrl(const T* s, bool flag) : Ftrl<T>(s, flag) { this->clamps = true; }
};

template <class T>
struct RowsFtrlV2 : FtrlV2<T> {
  EMPLACE_INLINE RowsFtrlV2(const T* s, bool flag) : FtrlV2<T>(s, flag) { this->clamps = true; }
};

}  // namespace emplace
