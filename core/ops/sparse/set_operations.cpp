// DenseToDenseSetOperation, DenseToSparseSetOperation, SparseToSparseSetOperation: sets that lie along the last axis,
// one from the other, in common, or together, as sparse tensors. SetSize: how many different values each has.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/sparse/sparse_tensor.h"

namespace emplace {
namespace {

constexpr DTypeSet kSetElements{DType::kInt8,  DType::kInt16,  DType::kInt32, DType::kInt64,
                                DType::kUInt8, DType::kUInt16, DType::kString};

template <class F>
auto with_set_element(DType t, const F& f) {
  switch (t) {
    case DType::kInt8:
      return f(int8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kUInt16:
      return f(uint16_t{});
    case DType::kString:
      return f(std::string());
    default:
      return f(int64_t{});
  }
}

/// Values of one of the two tensors that lie together: places [begin, end) of its values, and their set's number.
struct SetRun {
  int64_t set, begin, end;
};

/// One of the tensors that sets are taken from.
class SetSource {
 public:
  /// Of a dense tensor at this input.
  Status take_dense(const KernelContext& c, int input);
  /// Of a sparse one: indices, values and shape from this input on. `validates`: its places lie inside and are in
  /// order.
  Status take_sparse(const KernelContext& c, int first, bool validates);

  const Tensor& values() const { return *values_; }
  const ScratchVector<int64_t>& sizes() const { return sizes_; }  // without the last one
  const ScratchVector<SetRun>& runs() const { return runs_; }     // as they come

 private:
  Status find_runs(const SparseTensor& t);
  int64_t set_of(const int64_t* place) const {
    int64_t flat = 0;
    for (size_t d = 0; d < sizes_.size(); ++d) flat = flat * sizes_[d] + place[d];
    return flat;
  }

  const Tensor* values_ = nullptr;
  ScratchVector<int64_t> sizes_;
  ScratchVector<SetRun> runs_;
};

Status SetSource::take_dense(const KernelContext& c, int input) {
  values_ = &c.input(input);
  const Shape& shape = values_->shape();
  if (shape.rank() < 2) return invalid_argument(cat("Shape ", shape.to_string(), " has rank ", shape.rank(), " < 2"));
  const int64_t row = shape.dim_from_end(1);
  int64_t sets = 1;
  for (int d = 0; d + 1 < shape.rank(); ++d) {
    sizes_.push_back(shape.dim(d));
    sets *= shape.dim(d);
  }
  for (int64_t i = 0; i < sets; ++i) runs_.push_back({i, i * row, (i + 1) * row});
  return ok_status();
}

Status SetSource::take_sparse(const KernelContext& c, int first, bool validates) {
  values_ = &c.input(first + 1);
  ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, first, first + 1, first + 2));
  if (t.rank < 2) return invalid_argument(cat("Invalid rank ", t.rank, ": sets lie along the last of several axes"));
  RETURN_IF_ERROR(t.num_elements().take_status());
  RETURN_IF_ERROR(t.check_places());
  for (int64_t i = 1; validates && i < t.count; ++i) {
    const int order = t.compare(i - 1, t, i);
    if (order < 0) continue;
    return invalid_argument(cat("indices[", i, "] is ", order == 0 ? "repeated" : "out of order",
                                ". Many sparse ops require sorted indices; SparseReorder sorts them"));
  }
  sizes_.assign(t.sizes, t.sizes + t.rank - 1);
  for (int64_t begin = 0, end = 0; begin < t.count; begin = end) {
    const int64_t set = set_of(t.place(begin));
    while (end < t.count && set_of(t.place(end)) == set) ++end;
    runs_.push_back({set, begin, end});
  }
  return ok_status();
}

enum class SetOperation : uint8_t { kFirstAlone, kSecondAlone, kBoth, kEither };

/// The values of a run, each once, in order.
template <class T>
void read_set(const SetSource& source, const SetRun* run, ScratchVector<T>& set) {
  set.clear();
  if (run == nullptr) return;
  const T* values = source.values().data<T>();
  set.assign(values + run->begin, values + run->end);
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
}

template <class T>
void combine_sets(SetOperation operation, const ScratchVector<T>& a, const ScratchVector<T>& b, ScratchVector<T>& out) {
  const auto to = std::back_inserter(out);
  switch (operation) {
    case SetOperation::kFirstAlone:
      std::set_difference(a.begin(), a.end(), b.begin(), b.end(), to);
      return;
    case SetOperation::kSecondAlone:
      std::set_difference(b.begin(), b.end(), a.begin(), a.end(), to);
      return;
    case SetOperation::kBoth:
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), to);
      return;
    case SetOperation::kEither:
      std::set_union(a.begin(), a.end(), b.begin(), b.end(), to);
      return;
  }
}

/// The sets that come out, one behind the other.
template <class T>
struct ResultSets {
  ScratchVector<T> values;
  ScratchVector<SetRun> runs;

  Status write(KernelContext& c, const ScratchVector<int64_t>& sizes) const {
    const auto count = static_cast<int64_t>(values.size()), rank = static_cast<int64_t>(sizes.size()) + 1;
    RETURN_IF_ERROR(c.allocate_output(0, Shape{count, rank}));
    RETURN_IF_ERROR(c.allocate_output(1, Shape{count}));
    RETURN_IF_ERROR(c.allocate_output(2, Shape{rank}));
    std::copy(values.begin(), values.end(), c.out<T>(1));
    int64_t largest = 0;
    for (const SetRun& run : runs) {
      largest = std::max(largest, run.end - run.begin);
      for (int64_t i = run.begin; i < run.end; ++i) {
        int64_t* place = c.out<int64_t>(0) + i * rank;
        place[rank - 1] = i - run.begin;
        int64_t rest = run.set;
        for (int64_t d = rank - 2; d >= 0; --d) {
          place[d] = rest % sizes[static_cast<size_t>(d)];
          rest /= sizes[static_cast<size_t>(d)];
        }
      }
    }
    std::copy(sizes.begin(), sizes.end(), c.out<int64_t>(2));
    c.out<int64_t>(2)[rank - 1] = largest;
    return ok_status();
  }
};

class SetKernel : public Kernel {
 public:
  /// `sparse`: how many of the two tensors are; a dense one comes first.
  template <int kSparse>
  static Result<std::unique_ptr<Kernel>> make_kernel(const KernelInit& init) {
    std::string name = init.attrs.text("set_operation");
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char x) { return x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x; });
    constexpr std::string_view kNames[] = {"a-b", "b-a", "intersection", "union"};
    const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
    if (found == std::end(kNames)) {
      return invalid_argument(cat("Invalid set_operation ", init.attrs.text("set_operation"),
                                  "; it is one of a-b, b-a, intersection, union"));
    }
    auto kernel = std::make_unique<SetKernel>();
    kernel->sparse_ = kSparse;
    kernel->operation_ = static_cast<SetOperation>(found - std::begin(kNames));
    kernel->validates_ = init.attrs.flag("validate_indices");
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& c) override {
    SetSource a, b;
    RETURN_IF_ERROR(sparse_ == 2 ? a.take_sparse(c, 0, validates_) : a.take_dense(c, 0));
    RETURN_IF_ERROR(sparse_ > 0 ? b.take_sparse(c, sparse_ == 2 ? 3 : 1, validates_) : b.take_dense(c, 1));
    if (a.sizes() != b.sizes())
      return invalid_argument("Mismatched shapes: all sizes but the last have to be the same in both");
    return with_set_element(a.values().dtype(), [&]<class T>(T) { return combine<T>(c, a, b); });
  }

 private:
  // As TensorFlow, runs are taken in the order in which they come, beside each other.
  template <class T>
  Status combine(KernelContext& c, const SetSource& a, const SetSource& b) const {
    ResultSets<T> result;
    ScratchVector<T> of_a, of_b;
    size_t i = 0, k = 0;
    while (i < a.runs().size() || k < b.runs().size()) {
      const SetRun *run_a = i < a.runs().size() ? &a.runs()[i] : nullptr,
                   *run_b = k < b.runs().size() ? &b.runs()[k] : nullptr;
      if (sparse_ < 2 && run_a == nullptr) break;  // sets out of order, of which each dense one has passed
      const bool takes_a = run_a != nullptr && (sparse_ < 2 || run_b == nullptr || run_a->set <= run_b->set);
      const bool takes_b =
          run_b != nullptr && (run_a == nullptr || (sparse_ < 2 ? run_b->set == run_a->set : run_b->set <= run_a->set));
      read_set(a, takes_a ? run_a : nullptr, of_a);
      read_set(b, takes_b ? run_b : nullptr, of_b);
      const auto begin = static_cast<int64_t>(result.values.size());
      combine_sets(operation_, of_a, of_b, result.values);
      result.runs.push_back({takes_a ? run_a->set : run_b->set, begin, static_cast<int64_t>(result.values.size())});
      i += takes_a ? 1 : 0;
      k += takes_b ? 1 : 0;
    }
    return result.write(c, a.sizes());
  }

  int sparse_ = 0;
  SetOperation operation_ = SetOperation::kEither;
  bool validates_ = true;
};

class SetSize final : public Kernel {
 public:
  explicit SetSize(const KernelInit& init) : validates_(init.attrs.flag("validate_indices")) {}

  Status run(KernelContext& c) override {
    SetSource sets;
    RETURN_IF_ERROR(sets.take_sparse(c, 0, validates_));
    Shape out;
    for (int64_t size : sets.sizes()) out.add_dim(size);
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    fill_zeros(*c.parallel_, c.output(0));
    with_set_element(sets.values().dtype(), [&]<class T>(T) {
      ScratchVector<T> set;
      for (const SetRun& run : sets.runs()) {
        read_set(sets, &run, set);
        c.out<int32_t>(0)[run.set] = static_cast<int32_t>(set.size());
      }
    });
    return ok_status();
  }

 private:
  const bool validates_;
};

void set_results(ShapeContext& c, int64_t rank) {
  c.set_output(0, Shape{-1, rank});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{rank});
}

Status dense_sets_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape a, c.with_rank_at_least(0, 2));
  if (!a.rank_known()) {
    ASSIGN_OR_RETURN(const Shape other, c.with_rank_at_least(1, 2));
    set_results(c, other.rank_known() ? other.rank() : -1);
    return ok_status();
  }
  ASSIGN_OR_RETURN(const Shape b, c.with_rank(1, a.rank()));
  if (c.input(1).rank_known()) {
    ASSIGN_OR_RETURN(const Shape of_a, subshape(a, 0, a.rank() - 1));
    ASSIGN_OR_RETURN(const Shape of_b, subshape(b, 0, a.rank() - 1));
    RETURN_IF_ERROR(ShapeContext::merge(of_a, of_b).take_status());
  }
  set_results(c, a.rank());
  return ok_status();
}

Status dense_and_sparse_sets_shape(ShapeContext& c) {
  RETURN_IF_ERROR(sparse_inputs(c, 1, 2, 3));
  const int64_t rank = dim_or_unknown(c.input(3), 0);
  ASSIGN_OR_RETURN(const Shape a, c.with_rank_at_least(0, 2));
  if (a.rank_known()) RETURN_IF_ERROR(require_dim(rank, a.rank()).take_status());
  set_results(c, a.rank_known() ? a.rank() : rank);
  return ok_status();
}

Status sparse_sets_shape(ShapeContext& c) {
  RETURN_IF_ERROR(sparse_inputs(c, 0, 1, 2));
  RETURN_IF_ERROR(sparse_inputs(c, 3, 4, 5));
  const int64_t a = dim_or_unknown(c.input(2), 0), b = dim_or_unknown(c.input(5), 0), rank = a >= 0 ? a : b;
  if (rank >= 0 && rank < 2)
    return invalid_argument(cat("Input ", a >= 0 ? 0 : 1, ", expected rank >= 2, got ", rank, "."));
  if (a >= 0) RETURN_IF_ERROR(require_dim(b, a).take_status());
  set_results(c, rank);
  return ok_status();
}

OpDef set_operation(std::string_view name, std::string_view doc, ShapeRule shape, KernelMaker maker) {
  return OpDef(name).doc(doc).shape(shape).cpu(kSetElements, maker).provides_outputs().not_differentiable();
}

}  // namespace

OpDef dense_to_dense_set_operation_op() {
  return set_operation(
      "DenseToDenseSetOperation",
      "What the sets along the last axes of two tensors have alone, in common or together, as a sparse tensor.",
      dense_sets_shape, SetKernel::make_kernel<0>);
}
OpDef dense_to_sparse_set_operation_op() {
  return set_operation(
      "DenseToSparseSetOperation",
      "What the sets of a dense and a sparse tensor have alone, in common or together, as a sparse tensor.",
      dense_and_sparse_sets_shape, SetKernel::make_kernel<1>);
}
OpDef sparse_to_sparse_set_operation_op() {
  return set_operation("SparseToSparseSetOperation",
                       "What the sets of two sparse tensors have alone, in common or together, as a sparse tensor.",
                       sparse_sets_shape, SetKernel::make_kernel<2>);
}
OpDef set_size_op() {
  return OpDef("SetSize")
      .doc("How many different values each set along a sparse tensor's last axis has.")
      .shape(shape_unknown)
      .cpu(kSetElements, make<SetSize>)
      .not_differentiable();
}

}  // namespace emplace
