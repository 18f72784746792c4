// SerializeSparse, SerializeManySparse: sparse tensors, each as three messages of tensors, or as three variants that
// hold one. DeserializeSparse, DeserializeManySparse: the sparse tensor of such three, or of many, stacked.
#include <vector>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/list/elements.h"
#include "core/ops/sparse/sparse_tensor.h"
#include "core/ops/text/serialized_tensor.h"

namespace emplace {
namespace {

constexpr DTypeSet kForms{DType::kString, DType::kVariant};
/// What messages can have.
constexpr DTypeSet kWritten =
    kAllData | DTypeSet{DType::kQInt8, DType::kQUInt8, DType::kQInt16, DType::kQUInt16, DType::kQInt32};

Status serialize_inputs(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 2).take_status());
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  return c.with_rank(2, 1).take_status();
}
Status serialize_shape(ShapeContext& c) {
  RETURN_IF_ERROR(serialize_inputs(c));
  c.set_output(0, Shape{3});
  return ok_status();
}
Status serialize_many_shape(ShapeContext& c) {
  RETURN_IF_ERROR(serialize_inputs(c));
  c.set_output(0, Shape{-1, 3});
  return ok_status();
}

Status check_forms(KernelContext& c) {
  constexpr std::string_view kNames[] = {"indices", "values", "shape"}, kForm[] = {"a matrix", "a vector", "a vector"};
  for (int i = 0; i < 3; ++i) {
    const Shape& shape = c.input(i).shape();
    if (shape.rank() != (i == 0 ? 2 : 1))
      return invalid_argument(
          cat("Input ", kNames[i], " should be ", kForm[i], " but received shape ", shape.to_string()));
  }
  const DType type = c.input(1).dtype();
  if (c.output(0).dtype() == DType::kString && !kWritten.has(type))
    return unimplemented(cat("messages of ", dtype_tf_name(type), "; out_type variant holds any"));
  return ok_status();
}

/// Output 0, filled from its first element on.
class PackedTensors {
 public:
  static Result<PackedTensors> of(KernelContext& c, const Shape& shape) {
    PackedTensors packed(c, shape);
    if (packed.texts_) {
      RETURN_IF_ERROR(c.allocate_output(0, shape));
    } else {
      RETURN_IF_ERROR(check_list_size(shape.num_elements()));
    }
    return packed;
  }
  void add(const Tensor& t) {
    if (texts_) {
      c_->out<std::string>(0)[count_++] = serialize_tensor(t, true);
      return;
    }
    TensorList one{t.dtype(), t.shape(), -1, {}, Held::kTensor};
    one.elements.push_back(t);
    variants_.push_back(list_tensor(std::move(one)));
  }
  void finish() {
    if (!texts_) c_->forward_output(0, variants_tensor(shape_, std::move(variants_)));
  }

 private:
  PackedTensors(KernelContext& c, const Shape& shape)
      : c_(&c), shape_(shape), texts_(c.output(0).dtype() == DType::kString) {}

  KernelContext* c_;
  Shape shape_;
  bool texts_;
  int64_t count_ = 0;
  ListElements variants_;
};

Status serialize_cpu(KernelContext& c) {
  RETURN_IF_ERROR(check_forms(c));
  ASSIGN_OR_RETURN(PackedTensors packed, PackedTensors::of(c, Shape{3}));
  for (int i = 0; i < 3; ++i) packed.add(c.input(i));
  packed.finish();
  return ok_status();
}

std::string place_text(const SparseTensor& t, int64_t i) {
  std::string text = "[";
  for (int64_t d = 0; d < t.rank; ++d) text += cat(d > 0 ? "," : "", t.place(i)[d]);
  return text + "]";
}

/// Inside, in the order of rows, each once.
Status check_order(const SparseTensor& t) {
  RETURN_IF_ERROR(t.check_places());
  for (int64_t i = 1; i < t.count; ++i) {
    const int order = t.compare(i - 1, t, i);
    if (order == 0) return invalid_argument(cat("indices[", i, "] = ", place_text(t, i), " is repeated"));
    if (order > 0)
      return invalid_argument(
          cat("indices[", i, "] = ", place_text(t, i), " is out of order; a SparseReorder in front would sort them"));
  }
  return ok_status();
}

Status serialize_many_cpu(KernelContext& c) {
  RETURN_IF_ERROR(check_forms(c));
  const int64_t rank = c.input(2).num_elements();
  if (rank < 2) return invalid_argument(cat("Rank of input SparseTensor should be > 1, but saw rank: ", rank));
  ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 0, 1, 2));
  RETURN_IF_ERROR(t.num_elements().take_status());
  RETURN_IF_ERROR(check_order(t));
  const int64_t rows = t.sizes[0];
  ASSIGN_OR_RETURN(PackedTensors packed, PackedTensors::of(c, Shape{rows, 3}));
  ASSIGN_OR_RETURN(Tensor sizes, c.allocator_->allocate(DType::kInt64, Shape{rank - 1}));
  std::copy_n(t.sizes + 1, rank - 1, sizes.data<int64_t>());
  for (int64_t row = 0, begin = 0; row < rows; ++row) {
    int64_t end = begin;
    while (end < t.count && t.place(end)[0] == row) ++end;
    ASSIGN_OR_RETURN(Tensor places, c.allocator_->allocate(DType::kInt64, Shape{end - begin, rank - 1}));
    for (int64_t i = begin; i < end; ++i)
      std::copy_n(t.place(i) + 1, rank - 1, places.data<int64_t>() + (i - begin) * (rank - 1));
    packed.add(places);
    packed.add(rows_of(c.input(1), begin, end - begin));
    packed.add(sizes);
    begin = end;
  }
  packed.finish();
  return ok_status();
}

Status deserialize_shape(ShapeContext& c) {
  const Shape& in = c.input(0);
  if (in.rank_known() && in.rank() == 0)
    return invalid_argument("Serialized sparse should have non-zero rank, but has shape []");
  RETURN_IF_ERROR(require_dim(dim_or_unknown(in, -1), 3).take_status());
  c.set_output(0, Shape{-1, -1});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{-1});
  return ok_status();
}
Status deserialize_many_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 2).take_status());
  return deserialize_shape(c);
}

struct SparseParts {
  Tensor indices, values, sizes;
  int64_t count() const { return indices.shape().dim(0); }
  int64_t rank() const { return indices.shape().dim(1); }
};

Result<Tensor> unpacked(KernelContext& c, int64_t at) {
  const Tensor& in = c.input(0);
  if (in.dtype() == DType::kString) {
    ASSIGN_OR_RETURN(const SerializedTensor message, SerializedTensor::of(in.data<std::string>()[at]));
    ASSIGN_OR_RETURN(Tensor t, c.allocator_->allocate(message.type, message.shape));
    RETURN_IF_ERROR(message.copy_to(t));
    return t;
  }
  const Tensor variant = variant_at(in, at);
  if (variant.valid()) {
    ASSIGN_OR_RETURN(const TensorList* held, held_in(variant));
    if (held->held == Held::kTensor) return held->elements[0];
  }
  return invalid_argument(cat("Could not get a tensor from serialized_sparse[", at / 3, ", ", at % 3, "]"));
}

Result<SparseParts> unpacked_parts(KernelContext& c, int64_t i) {
  SparseParts parts;
  ASSIGN_OR_RETURN(parts.indices, unpacked(c, 3 * i));
  ASSIGN_OR_RETURN(parts.values, unpacked(c, 3 * i + 1));
  ASSIGN_OR_RETURN(parts.sizes, unpacked(c, 3 * i + 2));
  const auto check = [&](int part, const Tensor& t, int rank, DType type, std::string_view form) {
    if (t.shape().rank() != rank)
      return invalid_argument(cat("Expected serialized_sparse[", i, ", ", part, "] to be ", form,
                                  " but received shape ", t.shape().to_string()));
    if (t.dtype() != type)
      return invalid_argument(cat("Expected serialized_sparse[", i, ", ", part, "] to be of type ", dtype_tf_name(type),
                                  " but it is of type ", dtype_tf_name(t.dtype())));
    return ok_status();
  };
  RETURN_IF_ERROR(check(0, parts.indices, 2, DType::kInt64, "an index matrix"));
  RETURN_IF_ERROR(check(1, parts.values, 1, c.output(1).dtype(), "a values vector"));
  RETURN_IF_ERROR(check(2, parts.sizes, 1, DType::kInt64, "a shape vector"));
  if (parts.count() != parts.values.num_elements())
    return invalid_argument(cat("Expected row counts of SparseTensor[", i, "].indices and SparseTensor[", i,
                                "].values to match but they do not: ", parts.count(), " vs. ",
                                parts.values.num_elements()));
  if (parts.rank() != parts.sizes.num_elements())
    return invalid_argument(cat("Expected column counts of SparseTensor[", i,
                                "].indices to match size of SparseTensor[", i,
                                "].shape but they do not: ", parts.rank(), " vs. ", parts.sizes.num_elements()));
  return parts;
}

/// Sparse tensors behind each other along new first dimensions.
class StackedParts {
 public:
  StackedParts(KernelContext& c, const Shape& stack) : c_(c), stack_(stack) {}

  Status run() {
    for (int64_t i = 0; i < stack_.num_elements(); ++i) {
      ASSIGN_OR_RETURN(SparseParts parts, unpacked_parts(c_, i));
      RETURN_IF_ERROR(take(i, std::move(parts)));
    }
    const int64_t rank = stack_.rank() + static_cast<int64_t>(sizes_.size());
    RETURN_IF_ERROR(c_.allocate_output(2, Shape{rank}));
    std::copy(stack_.dims().begin(), stack_.dims().end(), c_.out<int64_t>(2));
    std::copy(sizes_.begin(), sizes_.end(), c_.out<int64_t>(2) + stack_.rank());
    const SparseTensor whole{nullptr, 0, rank, c_.out<int64_t>(2)};
    if (c_.input(0).dtype() == DType::kString) {
      for (int64_t size : sizes_) {
        if (size < 0) return invalid_argument(cat("Expected shape dimensions to be non-negative, got ", size));
      }
      ASSIGN_OR_RETURN(elements_, whole.num_elements());
    }
    RETURN_IF_ERROR(c_.allocate_output(0, Shape{count_, rank}));
    RETURN_IF_ERROR(c_.allocate_output(1, Shape{count_}));
    int64_t at = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      put_places(static_cast<int64_t>(i), at);
      copy_elements(c_.output(1).dtype(), all_[i].values.raw(), element_at(c_.output(1), at), all_[i].count());
      at += all_[i].count();
    }
    return ok_status();
  }

 private:
  Status take(int64_t i, SparseParts parts) {
    const std::span<const int64_t> sizes = parts.sizes.flat<int64_t>();
    if (i == 0) sizes_.assign(sizes.begin(), sizes.end());
    if (sizes.size() != sizes_.size())
      return invalid_argument(cat("Inconsistent shape across SparseTensors: rank prior to SparseTensor[", i,
                                  "] was: ", sizes_.size(), " but rank of SparseTensor[", i, "] is: ", sizes.size()));
    for (size_t d = 0; d < sizes.size(); ++d) sizes_[d] = std::max(sizes_[d], sizes[d]);
    count_ += parts.count();
    all_.push_back(std::move(parts));
    return ok_status();
  }

  void put_places(int64_t i, int64_t at) {
    const SparseParts& parts = all_[static_cast<size_t>(i)];
    const int64_t rank = c_.output(2).num_elements();
    const int64_t* sizes = c_.out<int64_t>(2);
    for (int64_t k = 0; k < parts.count(); ++k) {
      int64_t* place = c_.out<int64_t>(0) + (at + k) * rank;
      const int64_t* inner = parts.indices.data<int64_t>() + k * parts.rank();
      int64_t rest = i;
      for (int64_t d = stack_.rank() - 1; d >= 0; rest /= sizes[d--]) place[d] = rest % sizes[d];
      std::copy_n(inner, parts.rank(), place + stack_.rank());
      if (stack_.rank() > 1 && elements_ > 0) reshape_place(i, inner, place);
    }
  }
  /// TensorFlow reshapes what it has stacked along one dimension: places outside go elsewhere.
  void reshape_place(int64_t i, const int64_t* inner, int64_t* place) {
    auto flat = static_cast<uint64_t>(i);
    for (size_t d = 0; d < sizes_.size(); ++d)
      flat = flat * static_cast<uint64_t>(sizes_[d]) + static_cast<uint64_t>(inner[d]);
    const int64_t rank = c_.output(2).num_elements();
    int64_t stride = elements_, rest = static_cast<int64_t>(flat);
    for (int64_t d = 0; d < rank; ++d) {
      stride /= c_.out<int64_t>(2)[d];
      place[d] = rest / stride;
      rest %= stride;
    }
  }

  KernelContext& c_;
  const Shape stack_;
  std::vector<SparseParts> all_;
  std::vector<int64_t> sizes_;
  int64_t count_ = 0;
  int64_t elements_ = 0;  // of the whole, where places are reshaped
};

Status deserialize_cpu(KernelContext& c) {
  const Shape& in = c.input(0).shape();
  if (in.rank() == 0) return invalid_argument("Serialized sparse should have non-zero rank, but has shape []");
  if (in.dim(in.rank() - 1) != 3)
    return invalid_argument(cat("Serialized sparse should have 3 as the last dimension ", in.to_string()));
  if (in.num_elements() == 0)
    return invalid_argument(
        cat("Serialized sparse should have at least 1 serialized tensor, but has a zero dimension ", in.to_string()));
  if (c.output(1).dtype() == DType::kVariant) return unimplemented("sparse tensors whose values are variants");
  if (in.rank() > 1) return StackedParts(c, Shape(in.dims().first(static_cast<size_t>(in.rank()) - 1))).run();
  ASSIGN_OR_RETURN(SparseParts parts, unpacked_parts(c, 0));
  c.forward_output(0, std::move(parts.indices));
  c.forward_output(1, std::move(parts.values));
  c.forward_output(2, std::move(parts.sizes));
  return ok_status();
}

}  // namespace

OpDef serialize_sparse_op() {
  return OpDef("SerializeSparse")
      .doc("A sparse tensor as the messages of its indices, values and shape, or as variants that hold them.")
      .shape(serialize_shape)
      .kernel_attr("out_type")
      .cpu(kForms, stateless<serialize_cpu>)
      .provides_outputs();
}
OpDef serialize_many_sparse_op() {
  return OpDef("SerializeManySparse")
      .doc("The rows of a sparse tensor, each as SerializeSparse has it.")
      .shape(serialize_many_shape)
      .kernel_attr("T")
      .cpu(kAllData, stateless<serialize_many_cpu>)
      .provides_outputs();
}
OpDef deserialize_sparse_op() {
  return OpDef("DeserializeSparse")
      .doc("The sparse tensor of three messages or variants; of more than three, all of them, stacked.")
      .shape(deserialize_shape)
      .kernel_attr("Tserialized")
      .cpu(kForms, stateless<deserialize_cpu>)
      .provides_outputs();
}
OpDef deserialize_many_sparse_op() {
  return OpDef("DeserializeManySparse")
      .doc("The sparse tensors of rows of three messages, stacked.")
      .shape(deserialize_many_shape)
      .kernel_attr("")
      .cpu(stateless<deserialize_cpu>)
      .provides_outputs();
}

}  // namespace emplace
