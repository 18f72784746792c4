// TemporaryVariable, DestroyTemporaryVariable: a variable of one step, and its last value.
#include <memory>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

/// Names of variables of nodes have no spaces.
std::string temporary_name(std::string_view name) { return cat("temporary variable ", name); }

Status temporary_shape(ShapeContext& c) {
  c.set_output(0, c.attrs().shape("shape"));
  return ok_status();
}

/// The variable ends with its last handle. It has no value before one is assigned, where TensorFlow's has what was in
/// memory.
class TemporaryVariable final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    const Shape& shape = init.attrs.shape("shape");
    if (!shape.fully_known())
      return invalid_argument(cat("the shape of a temporary variable must be fully defined, got ", shape.to_string()));
    return owned_kernel(new TemporaryVariable(init));
  }
  Status run(KernelContext& c) override {
    auto owner = std::make_shared<Owner>();
    owner->variable.name = name_;
    owner->variable.dtype = dtype_;
    owner->variable.declared_shape = shape_;
    void* handle = owner->data();
    c.forward_output(0, Tensor::wrap(reference_, Shape{}, handle, std::move(owner)));
    return ok_status();
  }

 private:
  class Owner final : public Buffer {
   public:
    Owner() : Buffer(nullptr, sizeof(Variable*)) { data_ = &handle_; }
    Variable variable;

   private:
    Variable* handle_ = &variable;
  };

  explicit TemporaryVariable(const KernelInit& init)
      : name_(temporary_name(init.attrs.text("var_name").empty() ? init.node_name
                                                                 : std::string_view(init.attrs.text("var_name")))),
        dtype_(init.attrs.type("dtype")),
        reference_(init.output_types[0]),
        shape_(init.attrs.shape("shape")) {}

  const std::string name_;
  const DType dtype_, reference_;
  const Shape shape_;
};

class DestroyTemporaryVariable final : public Kernel {
 public:
  explicit DestroyTemporaryVariable(const KernelInit& init) : name_(init.attrs.text("var_name")) {}
  Status run(KernelContext& c) override {
    Variable& v = c.variable(0);
    Tensor value;
    {
      std::lock_guard lock(v.mutex);
      if (v.name != temporary_name(name_))
        return not_found(cat("Resource ", name_, " does not exist: there is no such temporary variable, or no more"));
      if (!v.value.valid()) return failed_precondition(cat("Attempting to use uninitialized value ", v.name));
      value = std::move(v.value);
      v.value = Tensor();
      v.name.clear();
    }
    c.forward_output(0, std::move(value));
    return ok_status();
  }

 private:
  const std::string name_;
};

}  // namespace

OpDef temporary_variable_op() {
  return OpDef("TemporaryVariable")
      .doc("A reference to a tensor that lasts as long as a step, or until it is destroyed.")
      .shape(temporary_shape)
      .kernel_attr("dtype")
      .cpu(kMovable, TemporaryVariable::create)
      .provides_outputs();
}
OpDef destroy_temporary_variable_op() {
  return OpDef("DestroyTemporaryVariable")
      .doc("The last value of a temporary variable, which is no more.")
      .shape(shape_unchanged)
      .cpu(kMovable, make<DestroyTemporaryVariable>)
      .provides_outputs();
}

}  // namespace emplace
