/// OpDef: everything emplace knows about an op that it runs, as one value: doc, shape rule, kernels, samples.
/// Arguments and attrs are not repeated here: they are TensorFlow's (core/op/signature.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/op/kernel.h"
#include "core/op/op_traits.h"
#include "core/op/shape_context.h"

namespace emplace {

class GradientContext;
/// Builds the gradients of one node's inputs; see core/op/gradient_context.h.
using GradientFunction = Status (*)(GradientContext&);

class OpDef {
 public:
  explicit OpDef(std::string_view name);
  OpDef(OpDef&&) noexcept;
  OpDef& operator=(OpDef&&) noexcept;
  ~OpDef();

  /// What the op computes, in one or two sentences.
  OpDef&& doc(std::string_view text) && {
    doc_ = text;
    return std::move(*this);
  }
  OpDef&& shape(ShapeRule rule) && {
    shape_ = rule;
    return std::move(*this);
  }
  /// What the stages have to know to place, cut, plan and run a node of this op.
  OpDef&& traits(const OpTraits& traits) && {
    traits_ = traits;
    return std::move(*this);
  }
  /// The attr whose type chooses the kernel (default: "T" if the op has it, else its first type attr).
  OpDef&& kernel_attr(std::string_view attr) && {
    kernel_attr_ = attr;
    return std::move(*this);
  }
  /// The same CPU kernel for these types. The simulated GPUs use it too.
  OpDef&& cpu(DTypeSet types, KernelMaker maker) &&;
  template <class T>
  OpDef&& cpu(KernelMaker maker) && {
    return std::move(*this).cpu(DTypeSet{dtype_of<T>}, maker);
  }
  /// For ops without a type attr (NoOp).
  OpDef&& cpu(KernelMaker maker) && { return std::move(*this).cpu(DTypeSet::from_bits(~uint64_t{0}), maker); }
  /// Inputs whose values the shape rule (or prepare) needs: Reshape's shape, Sum's axes. -1: the last input.
  OpDef&& value_inputs(std::initializer_list<int> inputs) &&;
  /// Every output shares the buffer of the input of its number (Identity, Reshape): planned as no work at all.
  OpDef&& forwards_input() && {
    forwards_input_ = true;
    return std::move(*this);
  }
  /// run() itself gives the outputs their storage, by forward_output() (a constant, a variable's value, an input's
  /// buffer) or allocate_output() (a size that only run() finds): the planner reserves nothing for them, and what the
  /// inputs hold stays alive and unchanged as long as the outputs do.
  OpDef&& provides_outputs() && {
    provides_outputs_ = true;
    return std::move(*this);
  }
  /// Output 0 may be written over an input of the same shape and type that nobody else reads (elementwise ops).
  OpDef&& may_overwrite_input() && {
    may_overwrite_ = true;
    return std::move(*this);
  }
  OpDef&& gradient(GradientFunction f) && {
    gradient_ = f;
    return std::move(*this);
  }
  /// TensorFlow registers the op as not differentiable: what it makes is a constant to every loss.
  OpDef&& not_differentiable() && {
    not_differentiable_ = true;
    return std::move(*this);
  }
  /// A node to try the op's gradient on: inputs and attrs in a short text form, "x=f32[2,3] uniform(-2,2); axis=[1]".
  OpDef&& sample(std::string_view text) &&;

  std::string_view name() const { return name_; }
  std::string_view doc_text() const { return doc_; }
  ShapeRule shape_rule() const { return shape_; }
  std::string_view kernel_attr_name() const { return kernel_attr_; }
  const OpTraits& traits() const { return traits_; }
  const std::vector<int>& value_input_list() const { return value_inputs_; }
  bool forwards() const { return forwards_input_; }
  bool provides() const { return provides_outputs_; }
  bool may_overwrite() const { return may_overwrite_; }
  /// Null: no gradient is registered, or there is none on purpose.
  GradientFunction gradient_function() const { return gradient_; }
  bool stops_gradients() const { return not_differentiable_; }
  const std::vector<std::string>& samples() const { return samples_; }
  DTypeSet cpu_types() const;
  /// Null if there is no CPU kernel for that type.
  KernelMaker cpu_kernel(DType type) const;

 private:
  struct Entry {
    DTypeSet types;
    KernelMaker maker;
  };
  std::string_view name_, doc_, kernel_attr_;
  ShapeRule shape_ = nullptr;
  GradientFunction gradient_ = nullptr;
  OpTraits traits_;
  std::vector<Entry> cpu_;
  std::vector<int> value_inputs_;
  std::vector<std::string> samples_;
  bool forwards_input_ = false;
  bool provides_outputs_ = false;
  bool may_overwrite_ = false;
  bool not_differentiable_ = false;
};

/// The ops that this emplace runs. Built from core/ops/op_list.inc; an op's definition is made when it is first
/// looked up, so that a start costs nothing. Thread-safe.
class OpLibrary {
 public:
  /// Null if emplace cannot run the op.
  static const OpDef* find(std::string_view name);
  /// Sorted.
  static std::vector<std::string_view> names();
};

}  // namespace emplace
