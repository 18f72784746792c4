// Einsum of one or two operands: each is brought into the order that one matrix product per batch entry wants, the
// product into the order that the output wants.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/einsum_equation.h"
#include "core/ops/einsum_gradient.h"
#include "core/ops/element.h"
#include "core/ops/matrix_product.h"
#include "core/ops/numeric.h"
#include "core/ops/strided_copy.h"
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

class Einsum final : public Kernel {
 public:
  explicit Einsum(const KernelInit& init)
      : type_(init.attrs.type("T")), equation_(EinsumEquation::parse(init.attrs.text("equation"))) {}
  Status run(KernelContext& c) override;

 private:
  // `tensor` with the dimensions `order`, each label once.
  Result<Tensor> arrange(KernelContext& c, const EinsumDims& dims, const Tensor& tensor, const Labels& labels, const Labels& order);
  Status multiply(KernelContext& c, const EinsumDims& dims, Tensor& product, Labels& order);
  Status sum_alone(KernelContext& c, const EinsumDims& dims, Tensor& sum, Labels& order);
  Status write(KernelContext& c, const EinsumDims& dims, const Tensor& product, const Labels& order);

  DType type_;
  Result<EinsumEquation> equation_;
  MatrixProduct product_;
};

Result<Tensor> Einsum::arrange(KernelContext& c, const EinsumDims& dims, const Tensor& tensor, const Labels& labels, const Labels& order) {
  Shape shape = dims.shape(order);
  if (!shape.checked_num_elements()) return invalid_argument(cat("shape ", shape.to_string(), " has too many elements"));
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
  Labels summed, kept;
  for (Label label : dims.inputs[0]) {
    Labels& list = has(dims.output, label) ? kept : summed;
    if (!has(list, label)) list.push_back(label);
  }
  Labels all = summed;
  add_all(all, kept);
  ASSIGN_OR_RETURN(sum, arrange(c, dims, c.input(0), dims.inputs[0], all));
  order = kept;
  if (summed.empty()) return ok_status();
  int64_t n = dims.shape(kept).num_elements(), k = dims.shape(summed).num_elements();
  ASSIGN_OR_RETURN(Tensor ones, c.allocate_scratch(type_, Shape{k}));
  fill_ones(c, ones);
  ASSIGN_OR_RETURN(Tensor result, c.allocate_scratch(type_, dims.shape(kept)));
  product_.prepare(type_, {1, n, k, false, false, false, false});
  RETURN_IF_ERROR(product_.run(c, ones.raw(), sum.raw(), result.raw()));
  sum = result;
  return ok_status();
}

// Two operands: the labels of both and the output number the products, the others of both are summed in them.
Status Einsum::multiply(KernelContext& c, const EinsumDims& dims, Tensor& product, Labels& order) {
  Labels batch, summed, left, right;
  auto sort_in = [&](const Labels& mine, const Labels& other, Labels& own) {
    for (Label label : mine) {
      Labels& list = has(other, label) || !has(dims.output, label) ? (has(dims.output, label) ? batch : summed) : own;
      if (!has(list, label)) list.push_back(label);
    }
  };
  sort_in(dims.inputs[0], dims.inputs[1], left);
  sort_in(dims.inputs[1], dims.inputs[0], right);
  Labels a_order = batch, b_order = batch;
  add_all(a_order, left), add_all(a_order, summed);
  add_all(b_order, summed), add_all(b_order, right);
  order = batch;
  add_all(order, left), add_all(order, right);
  ASSIGN_OR_RETURN(Tensor a, arrange(c, dims, c.input(0), dims.inputs[0], a_order));
  ASSIGN_OR_RETURN(Tensor b, arrange(c, dims, c.input(1), dims.inputs[1], b_order));
  ASSIGN_OR_RETURN(product, c.allocate_scratch(type_, dims.shape(order)));
  int64_t m = dims.shape(left).num_elements(), n = dims.shape(right).num_elements(), k = dims.shape(summed).num_elements();
  product_.prepare(type_, {m, n, k, false, false, false, false});
  for (int64_t i = 0; product.num_elements() > 0 && i < dims.shape(batch).num_elements(); ++i) {
    RETURN_IF_ERROR(product_.run(c, element_at(a, i * m * k), element_at(b, i * k * n), element_at(product, i * m * n)));
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
  ScratchVector<Shape> operands;
  for (int i = 0; i < c.num_inputs(); ++i) operands.push_back(c.input(i).shape());
  ASSIGN_OR_RETURN(EinsumDims dims, EinsumDims::of(*equation_, operands));
  RETURN_IF_ERROR(ensure_output(c, 0, dims.shape(dims.output)));
  Tensor product;
  Labels order;
  RETURN_IF_ERROR(c.num_inputs() == 1 ? sum_alone(c, dims, product, order) : multiply(c, dims, product, order));
  return write(c, dims, product, order);
}

}  // namespace

OpDef einsum_op() {
  return OpDef("Einsum")
      .doc("Sums of products of elements by Einstein's convention: dimensions with one letter run together, those that "
           "the output leaves out are summed.")
      .shape(einsum_shape)
      .cpu(kFloating | kComplexes | DTypeSet{DType::kInt32, DType::kInt64}, make<Einsum>)
      .sample("inputs=f32[2,3,4] uniform(-1,1); inputs=f32[2,5,4] uniform(-1,1); equation='bqd,bkd->bqk'")
      .sample("inputs=f32[3,3] uniform(-1,1); equation='ii->i'")
      .sample("inputs=f32[3,3,2] uniform(-1,1); equation='iij->j'")
      .sample("inputs=f32[2,3,4,5] uniform(-1,1); equation='a...bc->c...'")
      .sample("inputs=f32[2,1,3] uniform(-1,1); inputs=f32[4,2] uniform(-1,1); equation='...a,...b->...'")
      .sample("inputs=f32[2,0] ; inputs=f32[0,3]; equation='ij,jk->ik'").gradient(einsum_gradient);
}

}  // namespace emplace
