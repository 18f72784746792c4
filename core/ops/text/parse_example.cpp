// ParseExample, ParseExampleV2, ParseSingleExample: tensors of Example messages, a row for each.
#include <algorithm>
#include <vector>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/text/example_message.h"

namespace emplace {
namespace {

struct WantedFeature {
  std::string key;
  DType type;
};

struct DenseFeature : WantedFeature {
  Shape shape;
  bool open = false;   // as long as the longest: its first dimension is not known
  int64_t stride = 1;  // elements of a row, of an open one of what its first dimension counts
};

/// What to read, and where it goes: outputs are, for all sparse ones, indices, then values, then shapes; then the dense
/// ones; then values and then splits of the ragged ones.
struct ExamplePlan {
  std::vector<WantedFeature> sparse, ragged;
  std::vector<DenseFeature> dense;
  int first_default = 0;
  bool single = false;  // one message, no rows

  int sparse_output(size_t part, size_t i) const { return static_cast<int>(part * sparse.size() + i); }
  int dense_output(size_t i) const { return static_cast<int>(3 * sparse.size() + i); }
  int ragged_output(size_t part, size_t i) const {
    return static_cast<int>(3 * sparse.size() + dense.size() + part * ragged.size() + i);
  }
};

Result<DenseFeature> dense_feature(std::string key, DType type, const Shape& shape) {
  DenseFeature feature{{std::move(key), type}, shape};
  if (!shape.rank_known()) return invalid_argument(cat("dense_shapes of '", feature.key, "' has no known rank"));
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) < 0 && d > 0)
      return invalid_argument(
          cat("dense_shapes of '", feature.key, "' has an unknown dimension behind the first: ", shape.to_string()));
    if (shape.dim(d) < 0) feature.open = true;
    if (shape.dim(d) >= 0 && __builtin_mul_overflow(feature.stride, shape.dim(d), &feature.stride))
      return invalid_argument(cat("dense_shapes of '", feature.key, "' has too many elements: ", shape.to_string()));
  }
  return feature;
}

/// Texts of a vector, or of inputs that are one each.
std::vector<std::string> texts_of(const Tensor& t) {
  return {t.data<std::string>(), t.data<std::string>() + t.num_elements()};
}

/// What the attrs say of the features, beside their keys.
struct ExampleTypes {
  explicit ExampleTypes(const Attrs& attrs)
      : sparse(attrs.types("sparse_types")), dense(attrs.types("Tdense")), shapes(attrs.shapes("dense_shapes")) {
    if (attrs.find("ragged_value_types")) ragged = attrs.types("ragged_value_types");
  }
  std::vector<DType> sparse, dense, ragged;
  std::vector<Shape> shapes;
};

/// Outputs are numbered by these lists, so they have to be as long as each other.
Status check_counts(const Attrs& attrs) {
  const ExampleTypes types(attrs);
  const int64_t sparse = attrs.integer(attrs.find("num_sparse") ? "num_sparse" : "Nsparse");
  if (sparse != static_cast<int64_t>(types.sparse.size()))
    return invalid_argument("len(sparse_keys) != len(sparse_types)");
  if (types.dense.size() != types.shapes.size()) return invalid_argument("len(dense_keys) != len(dense_shapes)");
  if (attrs.find("Ndense") && attrs.integer("Ndense") != static_cast<int64_t>(types.dense.size()))
    return invalid_argument("len(dense_keys) != len(dense_types)");
  if (attrs.find("ragged_split_types") && attrs.types("ragged_split_types").size() != types.ragged.size())
    return invalid_argument("len(ragged_value_types) != len(ragged_split_types)");
  return ok_status();
}

Result<ExamplePlan> make_plan(const ExampleTypes& types, const std::vector<std::string>& sparse,
                              const std::vector<std::string>& dense, const std::vector<std::string>& ragged) {
  ExamplePlan plan;
  if (sparse.size() != types.sparse.size()) return invalid_argument("len(sparse_keys) != len(sparse_types)");
  if (dense.size() != types.dense.size()) return invalid_argument("len(dense_keys) != len(dense_types)");
  if (dense.size() != types.shapes.size()) return invalid_argument("len(dense_keys) != len(dense_shapes)");
  if (ragged.size() != types.ragged.size()) return invalid_argument("len(ragged_keys) != len(ragged_value_types)");
  for (size_t i = 0; i < sparse.size(); ++i) plan.sparse.push_back({sparse[i], types.sparse[i]});
  for (size_t i = 0; i < ragged.size(); ++i) plan.ragged.push_back({ragged[i], types.ragged[i]});
  for (size_t i = 0; i < dense.size(); ++i) {
    ASSIGN_OR_RETURN(DenseFeature feature, dense_feature(dense[i], types.dense[i], types.shapes[i]));
    plan.dense.push_back(std::move(feature));
  }
  return plan;
}

/// The messages of a step, taken apart.
class ParsedExamples {
 public:
  ParsedExamples(KernelContext& c, const ExamplePlan& plan) : c_(c), plan_(plan) {}

  Status run() {
    const Tensor& serialized = c_.input(0);
    rows_.resize(static_cast<size_t>(serialized.num_elements()));
    for (size_t i = 0; i < rows_.size(); ++i) {
      const std::string& message = serialized.data<std::string>()[i];
      if (!read_example(message, rows_[i]))
        return invalid_argument(cat("Could not parse example input, value: '", message.substr(0, 200), "'"));
    }
    for (size_t i = 0; i < plan_.sparse.size(); ++i) RETURN_IF_ERROR(put_sparse(i));
    for (size_t i = 0; i < plan_.dense.size(); ++i) RETURN_IF_ERROR(put_dense(i));
    for (size_t i = 0; i < plan_.ragged.size(); ++i) RETURN_IF_ERROR(put_ragged(i));
    return ok_status();
  }

 private:
  std::string name_of(size_t row) const {
    const Tensor* names = plan_.first_default > 1 ? &c_.input(1) : nullptr;
    const bool named = names && static_cast<size_t>(names->num_elements()) > row;
    return named ? names->data<std::string>()[row] : "<unknown>";
  }
  Status failure(size_t row, const WantedFeature& feature, std::string_view what) const {
    return invalid_argument(cat("Name: ", name_of(row), ", Key: ", feature.key, ", Index: ", row, ".  ", what));
  }

  /// Appends what the message of that row has of the feature. How many elements; nothing: it is not there.
  Result<std::optional<int64_t>> take(size_t row, const WantedFeature& wanted, ExampleValues& values) const {
    const auto found = rows_[row].find(wanted.key);
    if (found == rows_[row].end() || found->second.type == DType::kInvalid) return std::optional<int64_t>();
    if (found->second.type != wanted.type)
      return failure(row, wanted,
                     cat("Data types don't match. Data type: ", dtype_tf_name(found->second.type),
                         " but expected type: ", dtype_tf_name(wanted.type)));
    const int64_t before = values.size();
    if (!values.append(found->second.list)) return failure(row, wanted, "Can't parse serialized Example.");
    return std::optional<int64_t>(values.size() - before);
  }

  Status put(int output, const Shape& shape, const ExampleValues& values) {
    RETURN_IF_ERROR(ensure_output(c_, output, shape));
    values.copy_to(c_.output(output));
    return ok_status();
  }

  Status put_sparse(size_t i) {
    ExampleValues values(plan_.sparse[i].type);
    std::vector<int64_t> lengths;
    for (size_t row = 0; row < rows_.size(); ++row) {
      ASSIGN_OR_RETURN(const std::optional<int64_t> n, take(row, plan_.sparse[i], values));
      lengths.push_back(n.value_or(0));
    }
    const int64_t rank = plan_.single ? 1 : 2;
    const int64_t widest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
    const int indices = plan_.sparse_output(0, i), shape = plan_.sparse_output(2, i);
    RETURN_IF_ERROR(ensure_output(c_, indices, Shape{values.size(), rank}));
    int64_t* place = c_.out<int64_t>(indices);
    for (size_t row = 0; row < lengths.size(); ++row) {
      for (int64_t at = 0; at < lengths[row]; ++at) {
        if (!plan_.single) *place++ = static_cast<int64_t>(row);
        *place++ = at;
      }
    }
    RETURN_IF_ERROR(put(plan_.sparse_output(1, i), Shape{values.size()}, values));
    RETURN_IF_ERROR(ensure_output(c_, shape, Shape{rank}));
    if (!plan_.single) c_.out<int64_t>(shape)[0] = static_cast<int64_t>(lengths.size());
    c_.out<int64_t>(shape)[rank - 1] = widest;
    return ok_status();
  }

  Status put_dense(size_t i) {
    const DenseFeature& wanted = plan_.dense[i];
    const Tensor& filling = c_.input(plan_.first_default + static_cast<int>(i));
    if (filling.dtype() != wanted.type || (wanted.open && filling.num_elements() > 1) ||
        (!wanted.open && filling.num_elements() > 0 && !(filling.shape() == wanted.shape)))
      return invalid_argument(cat("dense_defaults[", i, "] of '", wanted.key, "' has shape ",
                                  filling.shape().to_string(), ", dense_shapes says ", wanted.shape.to_string()));
    std::vector<ExampleValues> rows(rows_.size(), ExampleValues(wanted.type));
    int64_t most = 0;  // strides in a row
    for (size_t row = 0; row < rows.size(); ++row) {
      ASSIGN_OR_RETURN(const std::optional<int64_t> n, take(row, wanted, rows[row]));
      if (n && (wanted.open ? wanted.stride == 0 || *n % wanted.stride != 0 : *n != wanted.stride))
        return failure(row, wanted,
                       cat("Number of ", dtype_tf_name(wanted.type), " values != expected.  Values size: ", *n,
                           " but output shape: ", wanted.shape.to_string()));
      if (!n && !wanted.open && filling.num_elements() == 0)
        return invalid_argument(cat("Name: ", name_of(row), ", Feature: ", wanted.key, " (data type: ",
                                    dtype_tf_name(wanted.type), ") is required but could not be found."));
      if (!n && !wanted.open) rows[row].append(filling);
      if (n && wanted.open) most = std::max(most, *n / wanted.stride);
    }
    Shape shape = plan_.single ? Shape{} : Shape{static_cast<int64_t>(rows.size())};
    for (int d = 0; d < wanted.shape.rank(); ++d) shape.add_dim(d == 0 && wanted.open ? most : wanted.shape.dim(d));
    return put_rows(plan_.dense_output(i), shape, wanted, rows, most, filling);
  }

  Status put_rows(int output, const Shape& shape, const DenseFeature& wanted, std::vector<ExampleValues>& rows,
                  int64_t most, const Tensor& filling) {
    RETURN_IF_ERROR(ensure_output(c_, output, shape));
    Tensor& to = c_.output(output);
    int64_t at = 0;
    for (ExampleValues& row : rows) {
      const int64_t missing = wanted.open ? most * wanted.stride - row.size() : 0;
      Tensor zero;
      if (missing > 0 && filling.num_elements() == 0) {
        ASSIGN_OR_RETURN(zero, Tensor::allocate(wanted.type, Shape{}));
        Sequential here;
        fill_zeros(here, zero);
      }
      if (missing > 0) row.append(filling.num_elements() == 0 ? zero : filling, missing);
      Tensor part = Tensor::wrap(to.dtype(), Shape{row.size()}, element_at(to, at));
      row.copy_to(part);
      at += row.size();
    }
    return ok_status();
  }

  Status put_ragged(size_t i) {
    ExampleValues values(plan_.ragged[i].type);
    const int output = plan_.ragged_output(1, i);
    const auto rows = static_cast<int64_t>(rows_.size());
    RETURN_IF_ERROR(ensure_output(c_, output, Shape{plan_.single ? 0 : rows + 1}));
    std::vector<int64_t> ends{0};
    for (size_t row = 0; row < rows_.size(); ++row) {
      RETURN_IF_ERROR(take(row, plan_.ragged[i], values).take_status());
      ends.push_back(values.size());
    }
    with_index(c_.output(output).dtype(), [&]<class I>(I) {
      for (int64_t at = 0; at < c_.output(output).num_elements(); ++at)
        c_.out<I>(output)[at] = static_cast<I>(ends[static_cast<size_t>(at)]);
    });
    return put(plan_.ragged_output(0, i), Shape{values.size()}, values);
  }

  KernelContext& c_;
  const ExamplePlan& plan_;
  std::vector<ExampleFeatures> rows_;  // views into the serialized messages
};

class ParseExampleV2 final : public Kernel {
 public:
  explicit ParseExampleV2(const KernelInit& init) : types_(init.attrs) {}
  Status run(KernelContext& c) override {
    if (c.input(0).shape().rank() > 1)
      return invalid_argument(
          cat("Expected serialized to be a scalar or vector, got shape: ", c.input(0).shape().to_string()));
    ASSIGN_OR_RETURN(ExamplePlan plan,
                     make_plan(types_, texts_of(c.input(2)), texts_of(c.input(3)), texts_of(c.input(4))));
    plan.first_default = 5;
    plan.single = c.input(0).shape().rank() == 0;
    return ParsedExamples(c, plan).run();
  }

 private:
  ExampleTypes types_;
};

class ParseExample final : public Kernel {
 public:
  explicit ParseExample(const KernelInit& init)
      : types_(init.attrs),
        num_sparse_(static_cast<int>(init.attrs.integer("Nsparse"))),
        num_dense_(static_cast<int>(init.attrs.integer("Ndense"))) {}
  Status run(KernelContext& c) override {
    if (c.input(0).shape().rank() != 1)
      return invalid_argument(cat("Expected serialized to be a vector, got shape: ", c.input(0).shape().to_string()));
    const auto keys = [&](int first, int count) {
      std::vector<std::string> out;
      for (int i = first; i < first + count; ++i) out.push_back(*c.in<std::string>(i));
      return out;
    };
    const int behind_keys = 2 + num_sparse_ + num_dense_;
    for (int i = 2; i < behind_keys; ++i) {
      if (c.input(i).num_elements() != 1) return invalid_argument("a key of ParseExample must be a scalar");
    }
    ASSIGN_OR_RETURN(ExamplePlan plan, make_plan(types_, keys(2, num_sparse_), keys(2 + num_sparse_, num_dense_), {}));
    plan.first_default = behind_keys;
    return ParsedExamples(c, plan).run();
  }

 private:
  ExampleTypes types_;
  int num_sparse_, num_dense_;
};

class ParseSingleExample final : public Kernel {
 public:
  explicit ParseSingleExample(const KernelInit& init)
      : plan_(
            make_plan(ExampleTypes(init.attrs), init.attrs.texts("sparse_keys"), init.attrs.texts("dense_keys"), {})) {
    if (!plan_.ok()) return;
    plan_->first_default = 1;
    plan_->single = true;
  }
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(plan_.status());
    if (c.input(0).shape().rank() != 0)
      return invalid_argument(cat("Expected serialized to be a scalar, got shape: ", c.input(0).shape().to_string()));
    return ParsedExamples(c, *plan_).run();
  }

 private:
  Result<ExamplePlan> plan_;
};

/// `rows`: what stands before the dimensions of dense values; `rank`: of a place among sparse ones.
Status set_example_shapes(ShapeContext& c, const Shape& rows, int64_t rank) {
  RETURN_IF_ERROR(check_counts(c.attrs()));
  const auto sparse = static_cast<int>(c.attrs().types("sparse_types").size());
  const std::vector<Shape>& dense = c.attrs().shapes("dense_shapes");
  int output = 0;
  for (int i = 0; i < sparse; ++i) c.set_output(output++, Shape{-1, rank});
  for (int i = 0; i < sparse; ++i) c.set_output(output++, Shape{-1});
  for (int i = 0; i < sparse; ++i) c.set_output(output++, Shape{rank});
  for (const Shape& shape : dense) c.set_output(output++, concat_shapes(rows, shape));
  const int ragged = (c.num_outputs() - output) / 2;
  for (int i = 0; i < ragged; ++i) c.set_output(output++, Shape{-1});
  const int64_t count = rows.rank_known() && rows.rank() == 1 && rows.dim(0) >= 0 ? rows.dim(0) + 1 : -1;
  for (int i = 0; i < ragged; ++i) c.set_output(output++, Shape{rows.rank_known() && rows.rank() == 0 ? 0 : count});
  return ok_status();
}

Status parse_example_v2_shape(ShapeContext& c) {
  const Shape& serialized = c.input(0);
  if (serialized.rank_known() && serialized.rank() > 1)
    return invalid_argument(cat("Shape must be at most rank 1 but is rank ", serialized.rank()));
  return set_example_shapes(c, serialized, serialized.rank_known() ? serialized.rank() + 1 : -1);
}
Status parse_example_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape serialized, c.with_rank(0, 1));
  return set_example_shapes(c, serialized, 2);
}
Status parse_single_example_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 0).take_status());
  return set_example_shapes(c, Shape{}, 1);
}

}  // namespace

OpDef parse_example_op() {
  return OpDef("ParseExample")
      .doc("The features of Example messages as sparse and dense tensors, a row for each message.")
      .shape(parse_example_shape)
      .cpu(make<ParseExample>)
      .not_differentiable();
}
OpDef parse_example_v2_op() {
  return OpDef("ParseExampleV2")
      .doc("The features of Example messages, or of one, as sparse, dense and ragged tensors.")
      .shape(parse_example_v2_shape)
      .cpu(make<ParseExampleV2>)
      .not_differentiable();
}
OpDef parse_single_example_op() {
  return OpDef("ParseSingleExample")
      .doc("The features of one Example message as sparse and dense tensors.")
      .shape(parse_single_example_shape)
      .cpu(make<ParseSingleExample>)
      .not_differentiable();
}

}  // namespace emplace
