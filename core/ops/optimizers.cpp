// ApplyGradientDescent, ApplyMomentum, ApplyAdam, ApplyAdagrad, ApplyRMSProp and their Resource forms: one step of an
// optimizer on a variable and its slots, in place.
#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <vector>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/convert.h"
#include "core/ops/element.h"
#include "core/ops/variable_state.h"

namespace emplace {
namespace {

constexpr int kMaxStates = 3;

/// An update rule: inputs [0, kStates) are variables, kGradient is the gradient, every other input a scalar.
/// step(): n elements of the variables and the gradient; `scalar[i]` is the value of input i.
struct GradientDescent {
  static constexpr int kStates = 1, kGradient = 2;
  explicit GradientDescent(const Attrs&) {}
  template <class T>
  void step(T* const* state, const T* gradient, int64_t n, const T* scalar) const {
    for (int64_t i = 0; i < n; ++i) state[0][i] -= gradient[i] * scalar[1];
  }
};

struct Momentum {
  static constexpr int kStates = 2, kGradient = 3;
  bool nesterov;
  explicit Momentum(const Attrs& attrs) : nesterov(attrs.flag("use_nesterov")) {}
  template <class T>
  void step(T* const* state, const T* gradient, int64_t n, const T* scalar) const {
    const T rate = scalar[2], momentum = scalar[4];
    for (int64_t i = 0; i < n; ++i) {
      state[1][i] = state[1][i] * momentum + gradient[i];
      state[0][i] -= nesterov ? gradient[i] * rate + state[1][i] * momentum * rate : state[1][i] * rate;
    }
  }
};

struct Adam {
  static constexpr int kStates = 3, kGradient = 9;
  bool nesterov;
  explicit Adam(const Attrs& attrs) : nesterov(attrs.flag("use_nesterov")) {}
  template <class T>
  void step(T* const* state, const T* gradient, int64_t n, const T* scalar) const {
    const T beta1 = scalar[6], beta2 = scalar[7], epsilon = scalar[8];
    const T rate = scalar[5] * std::sqrt(T(1) - scalar[4]) / (T(1) - scalar[3]);
    for (int64_t i = 0; i < n; ++i) {
      const T g = gradient[i];
      T& m = state[1][i];
      T& v = state[2][i];
      m += (g - m) * (T(1) - beta1);
      v += (g * g - v) * (T(1) - beta2);
      const T direction = nesterov ? g * (T(1) - beta1) + beta1 * m : m;
      state[0][i] -= direction * rate / (std::sqrt(v) + epsilon);
    }
  }
};

struct Adagrad {
  static constexpr int kStates = 2, kGradient = 3;
  bool update_slots;
  explicit Adagrad(const Attrs& attrs) : update_slots(attrs.flag("update_slots")) {}
  template <class T>
  void step(T* const* state, const T* gradient, int64_t n, const T* scalar) const {
    for (int64_t i = 0; i < n; ++i) {
      if (update_slots) state[1][i] += gradient[i] * gradient[i];
      state[0][i] -= gradient[i] * scalar[2] / std::sqrt(state[1][i]);
    }
  }
};

struct RmsProp {
  static constexpr int kStates = 3, kGradient = 7;
  explicit RmsProp(const Attrs&) {}
  template <class T>
  void step(T* const* state, const T* gradient, int64_t n, const T* scalar) const {
    const T rate = scalar[3], rho = scalar[4], momentum = scalar[5], epsilon = scalar[6];
    for (int64_t i = 0; i < n; ++i) {
      const T g = gradient[i];
      state[1][i] += (g * g - state[1][i]) * (T(1) - rho);
      state[2][i] = state[2][i] * momentum + g * rate / std::sqrt(state[1][i] + epsilon);
      state[0][i] -= state[2][i];
    }
  }
};

template <class Rule>
constexpr bool is_scalar(int input) { return input >= Rule::kStates && input != Rule::kGradient; }

/// T is the type to compute in; halves are converted a block at a time.
template <class Rule, class T>
class Apply final : public Kernel {
 public:
  explicit Apply(const KernelInit& init) : rule_(init.attrs) {}

  Status run(KernelContext& c) override {
    std::array<Variable*, kMaxStates> variables{};
    for (int i = 0; i < Rule::kStates; ++i) variables[static_cast<size_t>(i)] = &c.variable(i);
    const auto locks = lock_all(variables);
    RETURN_IF_ERROR(check(c, variables));
    for (int i = 0; i < Rule::kStates; ++i) RETURN_IF_ERROR(own_value(c, *variables[static_cast<size_t>(i)]));
    const DType type = c.input(Rule::kGradient).dtype();
    std::array<T, 16> scalars{};
    for (int i = Rule::kStates; i < c.num_inputs(); ++i) {
      if (is_scalar<Rule>(i)) load(type, c.input(i), 0, 1, &scalars[static_cast<size_t>(i)]);
    }
    c.parallel_for(c.input(Rule::kGradient).num_elements(), 1.0, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += kBlock) block(c, type, variables, scalars.data(), at, std::min(kBlock, end - at));
    });
    if (c.num_outputs() > 0) c.forward_output(0, c.input(0));
    return ok_status();
  }

 private:
  static constexpr int64_t kBlock = 512;

  /// In the order of addresses, each once: two nodes that share variables never wait for each other in a circle.
  static std::vector<std::unique_lock<std::mutex>> lock_all(std::array<Variable*, kMaxStates> variables) {
    std::sort(variables.begin(), variables.end());
    std::vector<std::unique_lock<std::mutex>> locks;
    for (size_t i = 0; i < variables.size(); ++i) {
      if (variables[i] && (i == 0 || variables[i] != variables[i - 1])) locks.emplace_back(variables[i]->mutex);
    }
    return locks;
  }

  static Status check(const KernelContext& c, const std::array<Variable*, kMaxStates>& variables) {
    const Tensor& gradient = c.input(Rule::kGradient);
    for (const Variable* v : variables) {
      if (!v) continue;
      if (!v->value.valid()) return failed_precondition(cat("Attempting to use uninitialized value ", v->name));
      if (v->value.dtype() != gradient.dtype() || !(v->value.shape() == gradient.shape())) {
        return invalid_argument(cat("var and grad do not have the same shape", v->value.shape().to_string(), " ",
                                    gradient.shape().to_string()));
      }
    }
    for (int i = Rule::kStates; i < c.num_inputs(); ++i) {
      if (is_scalar<Rule>(i) && c.input(i).shape().rank() != 0) {
        return invalid_argument(cat("input ", i, " is not a scalar: ", c.input(i).shape().to_string()));
      }
    }
    return ok_status();
  }

  static void load(DType type, const Tensor& t, int64_t at, int64_t n, T* to) {
    if (ConvertFunction widen = widening(type)) widen(element_at(t, at), to, n);
    else std::copy_n(t.data<T>() + at, n, to);
  }

  void block(KernelContext& c, DType type, const std::array<Variable*, kMaxStates>& variables, const T* scalars, int64_t at,
             int64_t n) const {
    T gradient[kBlock], wide[kMaxStates][kBlock];
    T* states[kMaxStates] = {wide[0], wide[1], wide[2]};
    load(type, c.input(Rule::kGradient), at, n, gradient);
    for (size_t i = 0; i < static_cast<size_t>(Rule::kStates); ++i) {
      if (widening(type)) load(type, variables[i]->value, at, n, wide[i]);
      else states[i] = variables[i]->value.template data<T>() + at;
    }
    rule_.template step<T>(states, gradient, n, scalars);
    ConvertFunction narrow = narrowing(type);
    for (size_t i = 0; narrow && i < static_cast<size_t>(Rule::kStates); ++i) {
      narrow(wide[i], element_at(variables[i]->value, at), n);
    }
  }

  Rule rule_;
};

/// All variables and the gradient have one shape; the rest are scalars.
template <class Rule>
Status apply_shape(ShapeContext& c) {
  Shape all = Shape::unknown();
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (is_scalar<Rule>(i)) {
      RETURN_IF_ERROR(c.with_rank(i, 0).take_status());
      continue;
    }
    Shape own = c.input(i);
    if (c.input_type(i) == DType::kResource) own = c.input_handle(i) ? c.input_handle(i)->shape : Shape::unknown();
    ASSIGN_OR_RETURN(all, ShapeContext::merge(all, own));
  }
  if (c.num_outputs() > 0) c.set_output(0, std::move(all));
  return ok_status();
}

template <class Rule>
OpDef apply(std::string_view name, std::string_view doc) {
  return OpDef(name).doc(doc).shape(apply_shape<Rule>).provides_outputs()
      .cpu(kHalves | DTypeSet{DType::kFloat}, make<Apply<Rule, float>>).template cpu<double>(make<Apply<Rule, double>>);
}

}  // namespace

OpDef apply_gradient_descent_op() { return apply<GradientDescent>("ApplyGradientDescent", "var -= alpha * delta."); }
OpDef resource_apply_gradient_descent_op() { return apply<GradientDescent>("ResourceApplyGradientDescent", "var -= alpha * delta."); }
OpDef apply_momentum_op() { return apply<Momentum>("ApplyMomentum", "accum = accum * momentum + grad; var -= lr * accum."); }
OpDef resource_apply_momentum_op() {
  return apply<Momentum>("ResourceApplyMomentum", "accum = accum * momentum + grad; var -= lr * accum.");
}
OpDef apply_adam_op() { return apply<Adam>("ApplyAdam", "A step of Adam on var with its moments m and v."); }
OpDef resource_apply_adam_op() { return apply<Adam>("ResourceApplyAdam", "A step of Adam on var with its moments m and v."); }
OpDef apply_adagrad_op() { return apply<Adagrad>("ApplyAdagrad", "accum += grad^2; var -= lr * grad / sqrt(accum)."); }
OpDef resource_apply_adagrad_op() {
  return apply<Adagrad>("ResourceApplyAdagrad", "accum += grad^2; var -= lr * grad / sqrt(accum).");
}
OpDef apply_rms_prop_op() { return apply<RmsProp>("ApplyRMSProp", "A step of RMSProp on var with its slots ms and mom."); }
OpDef resource_apply_rms_prop_op() {
  return apply<RmsProp>("ResourceApplyRMSProp", "A step of RMSProp on var with its slots ms and mom.");
}

}  // namespace emplace
