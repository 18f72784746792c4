#include "tests/unit/ops/op_case.h"

namespace emplace::testing {

class OpCase::Context final : public ShapeContext {
 public:
  explicit Context(const OpCase& op) : case_(op), outputs(op.output_types_.size(), Shape::unknown()) {
    for (const auto& [name, value] : op.attrs_) entries_.push_back({name, &value});
    attrs_ = Attrs(entries_);
    for (size_t i = 0; i < op.inputs_.size(); ++i) {
      shapes_.push_back(op.inputs_[i].valid() ? op.inputs_[i].shape() : op.partial_[i].shape);
    }
  }
  int num_inputs() const override { return static_cast<int>(case_.inputs_.size()); }
  const Shape& input(int i) const override { return shapes_[static_cast<size_t>(i)]; }
  DType input_type(int i) const override {
    return at(i).valid() ? at(i).dtype() : case_.partial_[static_cast<size_t>(i)].type;
  }
  const Tensor* input_value(int i) const override { return at(i).valid() ? &at(i) : nullptr; }
  Shape input_as_shape(int i) const override {
    if (at(i).valid()) return Shape(ints_of(at(i)));
    const Shape& s = input(i);
    return s.fully_known() && s.rank() == 1 ? Shape::unknown_dims(static_cast<int>(s.dim(0))) : Shape::unknown();
  }
  const Attrs& attrs() const override { return attrs_; }
  int num_outputs() const override { return static_cast<int>(outputs.size()); }
  DType output_type(int i) const override { return case_.output_types_[static_cast<size_t>(i)]; }
  void set_output(int i, Shape shape) override { outputs[static_cast<size_t>(i)] = std::move(shape); }

 private:
  const Tensor& at(int i) const { return case_.inputs_[static_cast<size_t>(i)]; }
  const OpCase& case_;
  std::vector<Shape> shapes_;
  std::vector<Attrs::Entry> entries_;
  Attrs attrs_;

 public:
  std::vector<Shape> outputs;
};

namespace {
class Heap final : public Allocator {
 public:
  Result<Tensor> allocate(DType dtype, const Shape& shape) override { return Tensor::allocate(dtype, shape); }
};
}  // namespace

OpCase& OpCase::in_shape(DType type, Shape shape) {
  partial_.resize(inputs_.size());
  partial_.push_back({type, std::move(shape)});
  inputs_.emplace_back();
  return *this;
}

OpCase& OpCase::attr(std::string_view name, AttrValue value) {
  attrs_.emplace_back(std::string(name), std::move(value));
  return *this;
}

Result<std::vector<Shape>> OpCase::shapes() const {
  Context c(*this);
  RETURN_IF_ERROR(def_->shape_rule()(c));
  return c.outputs;
}

Result<std::vector<Tensor>> OpCase::run() const {
  Context rule(*this);
  RETURN_IF_ERROR(def_->shape_rule()(rule));
  std::vector<DType> input_types;
  for (const Tensor& t : inputs_) input_types.push_back(t.dtype());
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < output_types_.size(); ++i) {
    bool known = rule.outputs[i].fully_known() && !def_->provides();
    if (known) {
      ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(output_types_[i], rule.outputs[i]));
      outputs.push_back(t);
    } else {
      outputs.push_back(Tensor::wrap(output_types_[i], Shape{}, nullptr));
    }
  }
  KernelInit init{"y", def_->name(), rule.attrs(), input_types, output_types_, nullptr, 0};
  DType type = inputs_.empty() ? output_types_[0] : inputs_[0].dtype();
  KernelMaker maker = def_->cpu_kernel(type);
  if (maker == nullptr) return unimplemented("no kernel for that type");
  ASSIGN_OR_RETURN(auto kernel, maker(init));
  std::vector<Tensor> inputs = inputs_;
  Heap heap;
  Sequential sequential;
  KernelContext c;
  c.inputs_ = inputs;
  c.outputs_ = outputs;
  c.allocator_ = &heap;
  c.parallel_ = &sequential;
  c.node_name_ = "y";
  RETURN_IF_ERROR(kernel->prepare(c));
  RETURN_IF_ERROR(kernel->run(c));
  return outputs;
}

}  // namespace emplace::testing
