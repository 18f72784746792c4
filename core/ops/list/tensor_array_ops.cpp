// TensorArrayV3 and its kin: arrays of tensors of TensorFlow 1. The handle says which array; the flow, a number that
// means nothing, what was written before what is read.
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/list/elements.h"
#include "core/ops/list/tensor_array.h"
#include "core/ops/list/tensor_array_gradients.h"

namespace emplace {
namespace {

class MakeTensorArray final : public Kernel {
 public:
  explicit MakeTensorArray(const KernelInit& init)
      : name_(init.attrs.text("tensor_array_name")),
        type_(init.attrs.type("dtype")),
        shape_(init.attrs.shape("element_shape")),
        dynamic_(init.attrs.flag("dynamic_size")),
        clear_(init.attrs.flag("clear_after_read")) {
    if (name_.empty()) name_ = init.node_name;
  }
  Status run(KernelContext& c) override {
    if (c.input(0).num_elements() != 1) {
      return invalid_argument(cat("TensorArray size must be scalar, but had shape: ", c.input(0).shape().to_string()));
    }
    const int64_t size = int_at(c.input(0), 0);
    if (size < 0) return invalid_argument("Size should be >= 0.");
    auto [handle, array] = new_step_resource<TensorArray>();
    array->name = name_;
    array->element_type = type_;
    array->element_shape = shape_;
    array->dynamic_size = dynamic_;
    array->clear_after_read = clear_;
    RETURN_IF_ERROR(array->resize(size));
    c.forward_output(0, std::move(handle));
    RETURN_IF_ERROR(ensure_output(c, 1, Shape{}));
    fill_zeros(*c.parallel_, c.output(1));
    return ok_status();
  }

 private:
  std::string name_;
  const DType type_;
  const Shape shape_;
  const bool dynamic_, clear_;
};

// One array of gradients for all nodes of one gradients() call: that is its source.
class MakeGradientArray final : public Kernel {
 public:
  explicit MakeGradientArray(const KernelInit& init) : source_(init.attrs.text("source")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(TensorArray * array, step_resource<TensorArray>(c));
    std::lock_guard lock(array->mutex);
    RETURN_IF_ERROR(array->check(array->element_type));
    Shape prepended;
    if (c.num_inputs() > 2) {
      ASSIGN_OR_RETURN(prepended, element_shape_in(c.input(2)));
    }
    Tensor& known = array->gradients[source_];
    if (!known.valid()) {
      auto [handle, made] = new_step_resource<TensorArray>();
      made->name = cat(array->name, "@", source_);
      made->element_type = array->element_type;
      made->element_shape = with_prefix(prepended, array->element_shape);
      made->clear_after_read = false;
      made->is_gradient = true;
      RETURN_IF_ERROR(made->resize(array->size()));
      if (c.num_inputs() == 2) made->take_shapes(*array);
      known = std::move(handle);
      array->dynamic_size = false;  // the two are of one size from here on
    }
    c.forward_output(0, known);
    c.forward_output(1, c.input(1));
    return ok_status();
  }

 private:
  static Shape with_prefix(const Shape& prefix, const Shape& shape) {
    if (!prefix.rank_known() || !shape.rank_known()) return Shape::unknown();
    Shape whole = prefix;
    for (const int64_t d : shape.dims()) whole.add_dim(d);
    return whole;
  }
  std::string source_;
};

class ArrayWrite final : public Kernel {
 public:
  explicit ArrayWrite(const KernelInit&) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(TensorArray * array, step_resource<TensorArray>(c));
    std::lock_guard lock(array->mutex);
    RETURN_IF_ERROR(array->check(c.input(2).dtype()));
    RETURN_IF_ERROR(array->write(c, sum_, int_at(c.input(1), 0), c.input(2)));
    c.forward_output(0, c.input(3));
    return ok_status();
  }

 private:
  ElementSum sum_;
};

Status array_read_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(TensorArray * array, step_resource<TensorArray>(c));
  std::lock_guard lock(array->mutex);
  RETURN_IF_ERROR(array->check(c.output(0).dtype()));
  ASSIGN_OR_RETURN(Tensor value, array->read(c, int_at(c.input(1), 0)));
  c.forward_output(0, std::move(value));
  return ok_status();
}

class ArrayGather final : public Kernel {
 public:
  explicit ArrayGather(const KernelInit& init) : shape_(init.attrs.shape("element_shape")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(TensorArray * array, step_resource<TensorArray>(c));
    std::lock_guard lock(array->mutex);
    RETURN_IF_ERROR(array->check(c.output(0).dtype()));
    if (c.input(1).shape().rank() != 1) {
      return invalid_argument(
          cat("Expected indices to be a vector, but received shape: ", c.input(1).shape().to_string()));
    }
    ASSIGN_OR_RETURN(Shape element, ShapeContext::merge(array->element_shape, shape_));
    std::vector<Tensor> rows;
    for (const int64_t i : ints_of(c.input(1))) {
      ASSIGN_OR_RETURN(Tensor row, array->read(c, i));
      if (!rows.empty() && !(row.shape() == rows[0].shape())) {
        return invalid_argument(cat("TensorArray ", array->name,
                                    " has inconsistent shapes.  Index 0 has shape: ", rows[0].shape().to_string(),
                                    " but index ", rows.size(), " has shape: ", row.shape().to_string()));
      }
      if (rows.empty()) element = row.shape();
      rows.push_back(std::move(row));
    }
    if (!element.fully_known()) {
      return unimplemented(cat("TensorArray has size zero, but element shape ", element.to_string(),
                               " is not fully defined. Currently only static shapes are supported when packing "
                               "zero-size TensorArrays."));
    }
    Shape whole{static_cast<int64_t>(rows.size())};
    for (const int64_t d : element.dims()) whole.add_dim(d);
    RETURN_IF_ERROR(c.allocate_output(0, whole));
    for (size_t i = 0; i < rows.size(); ++i) {
      const Tensor to = row_of(c.output(0), static_cast<int64_t>(i));
      copy_elements(*c.parallel_, to.dtype(), rows[i].raw(), to.raw(), to.num_elements());
    }
    return ok_status();
  }

 private:
  const Shape shape_;
};

class ArrayScatter final : public Kernel {
 public:
  explicit ArrayScatter(const KernelInit&) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(TensorArray * array, step_resource<TensorArray>(c));
    std::lock_guard lock(array->mutex);
    const Tensor& value = c.input(2);
    const std::vector<int64_t> indices = ints_of(c.input(1));
    RETURN_IF_ERROR(array->check(value.dtype()));
    if (value.shape().rank() < 1) {
      return invalid_argument(
          cat("Input value for unpack must be at least a vector but received shape: ", value.shape().to_string()));
    }
    if (value.shape().dim(0) != static_cast<int64_t>(indices.size())) {
      return invalid_argument(
          cat("Expected len(indices) == values.shape[0], but saw: ", indices.size(), " vs. ", value.shape().dim(0)));
    }
    for (size_t i = 0; i < indices.size(); ++i) {
      ASSIGN_OR_RETURN(Tensor row, kept_row(c, value, static_cast<int64_t>(i)));
      RETURN_IF_ERROR(array->write(c, sum_, indices[i], std::move(row)));
    }
    c.forward_output(0, c.input(3));
    return ok_status();
  }

 private:
  ElementSum sum_;
};

Status check_parts(const TensorArray& array, const std::vector<Tensor>& parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const Shape &first = parts[0].shape(), &here = parts[i].shape();
    if (here.rank() < 1) {
      return invalid_argument(
          cat("Concat saw a scalar shape at index ", i, " but requires at least vectors.  Did you mean to call pack?"));
    }
    const Shape a(first.dims().subspan(1)), b(here.dims().subspan(1));
    if (a == b) continue;
    return invalid_argument(cat("TensorArray ", array.name,
                                " has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: ", a.to_string(),
                                " but index ", i, " has (excepting dimension 0) shape: ", b.to_string()));
  }
  return ok_status();
}

class ArrayConcat final : public Kernel {
 public:
  explicit ArrayConcat(const KernelInit& init) : rest_(init.attrs.shape("element_shape_except0")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(TensorArray * array, step_resource<TensorArray>(c));
    std::lock_guard lock(array->mutex);
    RETURN_IF_ERROR(array->check(c.output(0).dtype()));
    std::vector<Tensor> parts;
    int64_t total = 0;
    for (int64_t i = 0; i < array->size(); ++i) {
      ASSIGN_OR_RETURN(Tensor part, array->read(c, i));
      parts.push_back(std::move(part));
    }
    RETURN_IF_ERROR(check_parts(*array, parts));
    for (const Tensor& part : parts) total += part.shape().dim(0);
    if (parts.empty() && !rest_.fully_known()) {
      return unimplemented(cat("TensorArray has size zero, but element_shape_except0 ", rest_.to_string(),
                               " is not fully defined. Currently only static shapes are supported when concatenating "
                               "zero-size TensorArrays."));
    }
    Shape whole{total};
    const Shape rest = parts.empty() ? rest_ : Shape(parts[0].shape().dims().subspan(1));
    for (const int64_t d : rest.dims()) whole.add_dim(d);
    RETURN_IF_ERROR(c.allocate_output(0, whole));
    RETURN_IF_ERROR(c.allocate_output(1, Shape{static_cast<int64_t>(parts.size())}));
    int64_t at = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const int64_t rows = c.out<int64_t>(1)[i] = parts[i].shape().dim(0);
      const Tensor to = rows_of(c.output(0), at, rows);
      copy_elements(*c.parallel_, to.dtype(), parts[i].raw(), to.raw(), to.num_elements());
      at += rows;
    }
    return ok_status();
  }

 private:
  const Shape rest_;
};

class ArraySplit final : public Kernel {
 public:
  explicit ArraySplit(const KernelInit&) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(TensorArray * array, step_resource<TensorArray>(c));
    std::lock_guard lock(array->mutex);
    const Tensor& value = c.input(1);
    const std::vector<int64_t> lengths = ints_of(c.input(2));
    RETURN_IF_ERROR(array->check(value.dtype()));
    if (value.shape().rank() < 1) {
      return invalid_argument(
          cat("Expected value to be at least a vector, but received shape: ", value.shape().to_string()));
    }
    int64_t sum = 0;
    for (const int64_t length : lengths) {
      if (length < 0 || length > value.shape().dim(0) - sum) {
        return invalid_argument(
            cat("Expected sum of lengths to be equal to values.shape[0], but they do not fit; value's shape is: ",
                value.shape().to_string()));
      }
      sum += length;
    }
    if (sum != value.shape().dim(0)) {
      return invalid_argument(cat("Expected sum of lengths to be equal to values.shape[0], but sum of lengths is ", sum,
                                  " and value's shape is: ", value.shape().to_string()));
    }
    const auto count = static_cast<int64_t>(lengths.size());
    if (array->size() != count && !array->dynamic_size) {
      return invalid_argument(cat("TensorArray's size is not equal to the size of lengths (", array->size(), " vs. ",
                                  count, "), and the TensorArray is not marked as dynamically resizeable"));
    }
    for (int64_t i = 0, at = 0; i < count; at += lengths[static_cast<size_t>(i++)]) {
      ASSIGN_OR_RETURN(Tensor rows, kept_rows(c, value, at, lengths[static_cast<size_t>(i)]));
      RETURN_IF_ERROR(array->write(c, sum_, i, std::move(rows)));
    }
    c.forward_output(0, c.input(3));
    return ok_status();
  }

 private:
  ElementSum sum_;
};

Status array_size_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(TensorArray * array, step_resource<TensorArray>(c));
  std::lock_guard lock(array->mutex);
  RETURN_IF_ERROR(array->check(array->element_type));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{}));
  *c.out<int32_t>(0) = static_cast<int32_t>(array->size());
  return ok_status();
}

Status close_array_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(TensorArray * array, step_resource<TensorArray>(c));
  std::lock_guard lock(array->mutex);
  array->closed = true;
  array->gradients.clear();
  return array->resize(0);
}

// What is read has the shape of all elements, where the array says one.
Status array_shape(ShapeContext& c) {
  const Shape& shape = c.attrs().shape("element_shape");
  c.set_output(0, Shape{});
  c.set_output(1, Shape{});
  if (shape.fully_known() || c.attrs().flag("identical_element_shapes"))
    c.set_output_handle(0, HandleInfo{c.attrs().type("dtype"), shape});
  return ok_status();
}

Status gradient_array_shape(ShapeContext& c) {
  c.set_output(0, Shape{});
  c.set_output(1, Shape{});
  if (const HandleInfo* handle = c.input_handle(0); handle && c.num_inputs() == 2) c.set_output_handle(0, *handle);
  return ok_status();
}

Status array_read_shape(ShapeContext& c) {
  const HandleInfo* handle = c.input_handle(0);
  c.set_output(0, handle ? handle->shape : Shape::unknown());
  return ok_status();
}

Status array_gather_shape(ShapeContext& c) {
  const Shape& indices = c.input(1);
  const Shape element = c.attrs().shape("element_shape");
  Shape whole = Shape::unknown();
  if (element.rank_known()) {
    whole = Shape{indices.rank_known() && indices.rank() == 1 ? indices.dim(0) : -1};
    for (const int64_t d : element.dims()) whole.add_dim(d);
  }
  c.set_output(0, whole);
  return ok_status();
}

Status array_concat_shape(ShapeContext& c) {
  c.set_output(0, Shape::unknown());
  c.set_output(1, Shape::unknown_dims(1));
  return ok_status();
}

// A handle or a list in a tensor of several would lose its owner.
constexpr DTypeSet kStackable = kMovable.without(DTypeSet{DType::kResource});
constexpr OpTraits kKeepsWhatIsWritten{.keeps_input = true};

OpDef array_writing(std::string_view name, std::string_view doc, KernelMaker maker, GradientFunction gradient) {
  return OpDef(name)
      .doc(doc)
      .traits(kKeepsWhatIsWritten)
      .shape(list_shape)
      .kernel_attr("T")
      .cpu(kListable, maker)
      .provides_outputs()
      .gradient(gradient);
}

OpDef array_reading(std::string_view name, std::string_view doc, ShapeRule rule, const DTypeSet& types,
                    KernelMaker maker, GradientFunction gradient) {
  return OpDef(name).doc(doc).shape(rule).kernel_attr("dtype").cpu(types, maker).provides_outputs().gradient(gradient);
}

OpDef of_gradients(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(gradient_array_shape)
      .cpu(make<MakeGradientArray>)
      .provides_outputs()
      .not_differentiable();
}

}  // namespace

OpDef tensor_array_v3_op() {
  return OpDef("TensorArrayV3")
      .doc("A new array of tensors, for one step.")
      .shape(array_shape)
      .kernel_attr("dtype")
      .cpu(kListable, make<MakeTensorArray>)
      .provides_outputs()
      .not_differentiable();
}
OpDef tensor_array_grad_v3_op() {
  return of_gradients("TensorArrayGradV3", "The array of the gradients of an array: the same one for one source.");
}
OpDef tensor_array_grad_with_shape_op() {
  return of_gradients("TensorArrayGradWithShape",
                      "As TensorArrayGradV3, with dimensions before those of the array's elements.");
}
OpDef tensor_array_write_v3_op() {
  return array_writing("TensorArrayWriteV3", "Writes element index.", make<ArrayWrite>, array_write_gradient);
}
OpDef tensor_array_scatter_v3_op() {
  return array_writing("TensorArrayScatterV3", "Writes row i of value as element indices[i].", make<ArrayScatter>,
                       array_scatter_gradient);
}
OpDef tensor_array_split_v3_op() {
  return array_writing("TensorArraySplitV3", "Writes lengths[i] rows of value as element i.", make<ArraySplit>,
                       array_split_gradient);
}
OpDef tensor_array_read_v3_op() {
  return array_reading("TensorArrayReadV3", "Element index.", array_read_shape, kListable, stateless<array_read_cpu>,
                       array_read_gradient);
}
OpDef tensor_array_gather_v3_op() {
  return array_reading("TensorArrayGatherV3", "The elements at indices as rows of a tensor.", array_gather_shape,
                       kStackable, make<ArrayGather>, array_gather_gradient);
}
OpDef tensor_array_concat_v3_op() {
  return array_reading("TensorArrayConcatV3",
                       "The elements one after the other along dimension 0, and how many rows each has.",
                       array_concat_shape, kStackable, make<ArrayConcat>, array_concat_gradient);
}
OpDef tensor_array_size_v3_op() {
  return OpDef("TensorArraySizeV3")
      .doc("How many elements the array has.")
      .shape(shape_scalar)
      .cpu(stateless<array_size_cpu>)
      .not_differentiable();
}
OpDef tensor_array_close_v3_op() {
  return OpDef("TensorArrayCloseV3")
      .doc("Empties the array; afterwards it cannot be used.")
      .shape(shape_none)
      .cpu(stateless<close_array_cpu>)
      .not_differentiable();
}

}  // namespace emplace
