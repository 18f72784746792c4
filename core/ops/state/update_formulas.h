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

template <class T>
EMPLACE_INLINE T sign_of(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0);
}

template <class T>
EMPLACE_INLINE T larger(T a, T b) {
  return a < b ? b : a;
}

template <class T>
struct Adadelta {
  static constexpr std::array kInputs{"var", "accum", "accum_update", "lr", "rho", "epsilon", "grad"};
  static constexpr int kVariables = 3, kGradient = 6;
  static constexpr std::string_view kFlag = "";
  T lr, rho, epsilon;
  EMPLACE_INLINE Adadelta(const T* s, bool) : lr(s[0]), rho(s[1]), epsilon(s[2]) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& accum, T& accum_update) const {
    accum = accum * rho + g * g * (T(1) - rho);
    const T update = square_root(accum_update + epsilon) / square_root(accum + epsilon) * g;
    var -= update * lr;
    accum_update = accum_update * rho + update * update * (T(1) - rho);
  }
};

template <class T>
struct AdaMax {
  static constexpr bool kReal = true;
  static constexpr std::array kInputs{"var", "m", "v", "beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"};
  static constexpr int kVariables = 3, kGradient = 8;
  static constexpr std::string_view kFlag = "";
  T rate, keep1, beta2, epsilon;
  EMPLACE_INLINE AdaMax(const T* s, bool)
      : rate(s[1] / (T(1) - s[0])), keep1(T(1) - s[2]), beta2(s[3]), epsilon(s[4]) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& m, T& v) const {
    m += (g - m) * keep1;
    v = larger(beta2 * v, g < T(0) ? -g : g);
    var -= rate * (m / (v + epsilon));
  }
};

/// Adam that divides by the largest mean square so far.
template <class T>
struct AdamWithAmsgrad {
  static constexpr bool kReal = true;
  static constexpr std::array kInputs{"var", "m",     "v",     "vhat",    "beta1_power", "beta2_power",
                                      "lr",  "beta1", "beta2", "epsilon", "grad"};
  static constexpr int kVariables = 4, kGradient = 10;
  static constexpr std::string_view kFlag = "";
  T alpha, keep1, keep2, epsilon;
  EMPLACE_INLINE AdamWithAmsgrad(const T* s, bool)
      : alpha(s[2] * square_root(T(1) - s[1]) / (T(1) - s[0])), keep1(T(1) - s[3]), keep2(T(1) - s[4]), epsilon(s[5]) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& m, T& v, T& largest) const {
    m += (g - m) * keep1;
    v += (g * g - v) * keep2;
    largest = larger(largest, v);
    var -= m * alpha / (square_root(largest) + epsilon);
  }
};

template <class T>
struct AddSign {
  static constexpr bool kReal = true;
  static constexpr std::array kInputs{"var", "m", "lr", "alpha", "sign_decay", "beta", "grad"};
  static constexpr int kVariables = 2, kGradient = 6;
  static constexpr std::string_view kFlag = "";
  T lr, alpha, decay, beta;
  EMPLACE_INLINE AddSign(const T* s, bool) : lr(s[0]), alpha(s[1]), decay(s[2]), beta(s[3]) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& m) const {
    m = m * beta + g * (T(1) - beta);
    var -= lr * (alpha + decay * (sign_of(g) * sign_of(m))) * g;
  }
};

template <class T>
struct PowerSign {
  static constexpr bool kReal = true;
  static constexpr std::array kInputs{"var", "m", "lr", "logbase", "sign_decay", "beta", "grad"};
  static constexpr int kVariables = 2, kGradient = 6;
  static constexpr std::string_view kFlag = "";
  T lr, power, beta, up, down;
  EMPLACE_INLINE PowerSign(const T* s, bool)
      : lr(s[0]), power(s[1] * s[2]), beta(s[3]), up(T(std::exp(power))), down(T(std::exp(-power))) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& m) const {
    m = m * beta + g * (T(1) - beta);
    const T agree = sign_of(g) * sign_of(m);
    const T scale = agree > T(0) ? up : agree < T(0) ? down : T(1);
    var -= lr * scale * g;
  }
};

/// After a step of descent: nearer to 0 by what l1 takes, then smaller by what l2 does.
template <class T>
EMPLACE_INLINE T shrunk(T x, T rate, T l1, T l2) {
  const T size = x < T(0) ? -x : x;
  const T left = l1 > T(0) ? sign_of(x) * larger(size - rate * l1, T(0)) : x;
  return left / (T(1) + l2 * rate);
}

template <class T>
struct ProximalDescent {
  static constexpr bool kReal = true;
  static constexpr std::array kInputs{"var", "alpha", "l1", "l2", "delta"};
  static constexpr int kVariables = 1, kGradient = 4;
  static constexpr std::string_view kFlag = "";
  T alpha, l1, l2;
  EMPLACE_INLINE ProximalDescent(const T* s, bool) : alpha(s[0]), l1(s[1]), l2(s[2]) {}
  EMPLACE_INLINE void operator()(T g, T& var) const { var = shrunk(var - g * alpha, alpha, l1, l2); }
};

template <class T>
struct ProximalAdagrad {
  static constexpr bool kReal = true;
  static constexpr std::array kInputs{"var", "accum", "lr", "l1", "l2", "grad"};
  static constexpr int kVariables = 2, kGradient = 5;
  static constexpr std::string_view kFlag = "";
  T lr, l1, l2;
  EMPLACE_INLINE ProximalAdagrad(const T* s, bool) : lr(s[0]), l1(s[1]), l2(s[2]) {}
  EMPLACE_INLINE void operator()(T g, T& var, T& accum) const {
    accum += g * g;
    const T rate = lr / square_root(accum);
    var = shrunk(var - g * rate, rate, l1, l2);
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
