// Einsum of one or two operands: each is brought into the order that one matrix product per batch entry wants, the
// product into the order that the output wants.
#include <algorithm>
#include <initializer_list>
#include <optional>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/strided_copy.h"
#include "core/ops/linear/einsum_equation.h"
#include "core/ops/linear/einsum_gradient.h"
#include "core/ops/linear/matrix_product.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

Status einsum_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(EinsumEquation equation, EinsumEquation::parse(c.attrs().text("equation")));
  ScratchVector<Shape> operands;
  for (int i = 0; i < c.num_inputs(); ++i) operands.push_back(c.input(i));
  if (std::any_of(operands.begin(), operands.end(), [](const Shape& s) { return !s.rank_known(); })) return ok_status();
  ASSIGN_OR_RETURN(EinsumDims dims, EinsumDims::of(equation, operands));
  c.set_output(0, dims.shape(dims.output));
  return ok_status();
}

bool has(const Labels& labels, Label label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

void add_all(Labels& to, const Labels& from) { to.insert(to.end(), from.begin(), from.end()); }

void fill_ones(KernelContext& c, Tensor& t) {
  with_type(t.dtype(), [&]<class T>() {
    if constexpr (kIsHalf<T> || std::is_arithmetic_v<T> || kIsComplex<T>) {
      const T one(1.0f);
      fill_elements(*c.parallel_, t.dtype(), &one, t.raw(), t.num_elements());
    }
  });
}

// Elements from one index of the label to the next: labels that occur twice walk the diagonal, sizes of 1 that are
// stretched stand still.
int64_t stride_of(const Labels& labels, const Shape& shape, Label label, int64_t size) {
  ScratchVector<int64_t> strides = row_major_strides(shape);
  int64_t sum = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == label && shape.dim(static_cast<int>(i)) == size) sum += strides[i];
  }
  return sum;
}

/// Every label once. With one operand, what the output has is `left`, the rest `summed`; with two, the labels of both
/// and the output number the products, and the others of both are summed in them.
struct Parts {
  explicit Parts(const EinsumDims& dims);
  Labels batch, left, right, summed;
};

Parts::Parts(const EinsumDims& dims) {
  const bool two = dims.inputs.size() == 2;
  auto sort_in = [&](const Labels& mine, const Labels* other, Labels& own) {
    for (Label label : mine) {
      const bool kept = has(dims.output, label), shared = other && has(*other, label);
      Labels& list = !kept ? summed : shared ? batch : own;
      if (!has(list, label)) list.push_back(label);
    }
  };
  sort_in(dims.inputs[0], two ? &dims.inputs[1] : nullptr, left);
  if (two) sort_in(dims.inputs[1], &dims.inputs[0], right);
}

class Einsum final : public Kernel {
 public:
  explicit Einsum(const KernelInit& init)
      : type_(init.attrs.type("T")), equation_(EinsumEquation::parse(init.attrs.text("equation"))) {}
  Status prepare(KernelContext& c) override;
  Workspace workspace() const override { return workspace_; }
  Status run(KernelContext& c) override;

 private:
  // `tensor` with the dimensions `order`, each label once.
  Result<Tensor> arrange(KernelContext& c, const EinsumDims& dims, const Tensor& tensor, const Labels& labels,
                         const Labels& order);
  Status multiply(KernelContext& c, const EinsumDims& dims, Tensor& product, Labels& order);
  Status sum_alone(KernelContext& c, const EinsumDims& dims, Tensor& sum, Labels& order);
  Status write(KernelContext& c, const EinsumDims& dims, const Tensor& product, const Labels& order);

  DType type_;
  Result<EinsumEquation> equation_;
  MatrixProduct product_;
  Workspace workspace_;
};

Result<EinsumDims> dims_of(const KernelContext& c, const EinsumEquation& equation) {
  ScratchVector<Shape> operands;
  for (int i = 0; i < c.num_inputs(); ++i) operands.push_back(c.input(i).shape());
  return EinsumDims::of(equation, operands);
}

Status Einsum::prepare(KernelContext& c) {
  workspace_ = {};
  if (!equation_.ok()) return equation_.status();
  ASSIGN_OR_RETURN(EinsumDims dims, dims_of(c, *equation_));
  const Parts parts(dims);
  bool countable = true;
  auto elements = [&](std::initializer_list<const Labels*> lists) {
    Labels all;
    for (const Labels* list : lists) add_all(all, *list);
    const std::optional<int64_t> count = dims.shape(all).checked_num_elements();
    countable &= count.has_value();
    return count.value_or(0);
  };
  auto add = [&](int64_t count) {
    constexpr int64_t kUnit = 256;  // pools hand out multiples of it
    workspace_.scratch +=
        (std::max<int64_t>(count * static_cast<int64_t>(storage_size(type_)), 1) + kUnit - 1) / kUnit * kUnit;
  };
  const int64_t m = elements({&parts.left}), n = elements({&parts.right}), k = elements({&parts.summed});
  if (c.num_inputs() == 2) {
    add(elements({&parts.batch, &parts.left, &parts.summed}));
    add(elements({&parts.batch, &parts.summed, &parts.right}));
    add(elements({&parts.batch, &parts.left, &parts.right}));
    product_.prepare(type_, {m, n, k, false, false, false, false});
  } else {
    add(elements({&parts.summed, &parts.left}));
    if (!parts.summed.empty()) add(k), add(m);
    product_.prepare(type_, {1, m, k, false, false, false, false});
  }
  if (!countable) workspace_ = {};  // run() says so
  if (!countable || (c.num_inputs() == 1 && parts.summed.empty()) || (c.parallel_ && c.parallel_->mover()))
    return ok_status();
  const Workspace product = product_.workspace();
  workspace_.scratch += product.scratch;
  workspace_.kept = product.kept;
  return ok_status();
}

Result<Tensor> Einsum::arrange(KernelContext& c, const EinsumDims& dims, const Tensor& tensor, const Labels& labels,
                               const Labels& order) {
  Shape shape = dims.shape(order);
  if (!shape.checked_num_elements())
    return invalid_argument(cat("shape ", shape.to_string(), " has too many elements"));
  ASSIGN_OR_RETURN(Tensor arranged, c.allocate_scratch(type_, shape));
  if (arranged.num_elements() == 0) return arranged;
  StridedCopy copy;
  ScratchVector<int64_t> strides = row_major_strides(shape);
  for (size_t i = 0; i < order.size(); ++i) {
    int64_t size = dims.size(order[i]);
    copy.add(size, stride_of(labels, tensor.shape(), order[i], size), strides[i]);
  }
  copy.run(*c.parallel_, type_, tensor.raw(), arranged.raw());
  return arranged;
}

// One operand: what the output does not have is summed, as a product with a row of ones.
Status Einsum::sum_alone(KernelContext& c, const EinsumDims& dims, Tensor& sum, Labels& order) {
  const Parts parts(dims);
  const Labels &summed = parts.summed, &kept = parts.left;
  Labels all = summed;
  add_all(all, kept);
  ASSIGN_OR_RETURN(sum, arrange(c, dims, c.input(0), dims.inputs[0], all));
  order = kept;
  if (summed.empty()) return ok_status();
  ASSIGN_OR_RETURN(Tensor ones, c.allocate_scratch(type_, Shape{dims.shape(summed).num_elements()}));
  fill_ones(c, ones);
  ASSIGN_OR_RETURN(Tensor result, c.allocate_scratch(type_, dims.shape(kept)));
  RETURN_IF_ERROR(product_.run(c, ones.raw(), sum.raw(), result.raw()));
  sum = result;
  return ok_status();
}

Status Einsum::multiply(KernelContext& c, const EinsumDims& dims, Tensor& product, Labels& order) {
  const Parts parts(dims);
  const Labels &batch = parts.batch, &left = parts.left, &right = parts.right, &summed = parts.summed;
  Labels a_order = batch, b_order = batch;
  add_all(a_order, left), add_all(a_order, summed);
  add_all(b_order, summed), add_all(b_order, right);
  order = batch;
  add_all(order, left), add_all(order, right);
  ASSIGN_OR_RETURN(Tensor a, arrange(c, dims, c.input(0), dims.inputs[0], a_order));
  ASSIGN_OR_RETURN(Tensor b, arrange(c, dims, c.input(1), dims.inputs[1], b_order));
  ASSIGN_OR_RETURN(product, c.allocate_scratch(type_, dims.shape(order)));
  int64_t m = dims.shape(left).num_elements(), n = dims.shape(right).num_elements(),
          k = dims.shape(summed).num_elements();
  for (int64_t i = 0; product.num_elements() > 0 && i < dims.shape(batch).num_elements(); ++i) {
    RETURN_IF_ERROR(
        product_.run(c, element_at(a, i * m * k), element_at(b, i * k * n), element_at(product, i * m * n)));
  }
  return ok_status();
}

// The output may repeat a label: then everything off that diagonal is zero.
Status Einsum::write(KernelContext& c, const EinsumDims& dims, const Tensor& product, const Labels& order) {
  Tensor& out = c.output(0);
  if (order.size() != dims.output.size()) fill_zeros(*c.parallel_, out);
  if (product.num_elements() == 0) return ok_status();
  StridedCopy copy;
  ScratchVector<int64_t> strides = row_major_strides(product.shape());
  for (size_t i = 0; i < order.size(); ++i) {
    int64_t size = dims.size(order[i]);
    copy.add(size, strides[i], stride_of(dims.output, out.shape(), order[i], size));
  }
  copy.run(*c.parallel_, type_, product.raw(), out.raw());
  return ok_status();
}

Status Einsum::run(KernelContext& c) {
  if (!equation_.ok()) return equation_.status();
  ASSIGN_OR_RETURN(EinsumDims dims, dims_of(c, *equation_));
  RETURN_IF_ERROR(ensure_output(c, 0, dims.shape(dims.output)));
  Tensor product;
  Labels order;
  RETURN_IF_ERROR(c.num_inputs() == 1 ? sum_alone(c, dims, product, order) : multiply(c, dims, product, order));
  return write(c, dims, product, order);
}

}  // namespace

OpDef einsum_op() {
  return OpDef("Einsum")
      .doc(
          "Sums of products of elements by Einstein's convention: dimensions with one letter run together, those that "
          "the output leaves out are summed.")
      .traits({.work = Work::kMatMul})
      .shape(einsum_shape)
      .cpu(kFloating | kComplexes | DTypeSet{DType::kInt32, DType::kInt64}, make<Einsum>)
      .sample("inputs=f32[2,3,4] uniform(-1,1); inputs=f32[2,5,4] uniform(-1,1); equation='bqd,bkd->bqk'")
      .sample("inputs=f32[3,3] uniform(-1,1); equation='ii->i'")
      .sample("inputs=f32[3,3,2] uniform(-1,1); equation='iij->j'")
      .sample("inputs=f32[2,3,4,5] uniform(-1,1); equation='a...bc->c...'")
      .sample("inputs=f32[2,1,3] uniform(-1,1); inputs=f32[4,2] uniform(-1,1); equation='...a,...b->...'")
      .sample("inputs=f32[2,0] ; inputs=f32[0,3]; equation='ij,jk->ik'")
      .gradient(einsum_gradient);
}

}  // namespace emplace
