// ParseSequenceExample, ParseSequenceExampleV2, ParseSingleSequenceExample: tensors of SequenceExample messages, which
// have features and lists of features: a row for each message, or one message alone.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/text/sequence_tensors.h"

namespace emplace {
namespace {

/// The attrs of one of the two kinds; names begin with `prefix`.
struct FeatureAttrs {
  FeatureAttrs(const Attrs& attrs, const std::string& prefix)
      : sparse(attrs.types(prefix + "sparse_types")),
        dense(attrs.types(prefix == "context_" ? "Tcontext_dense" : prefix + "dense_types")),
        shapes(attrs.shapes(prefix + "dense_shapes")) {
    if (attrs.find(prefix + "ragged_value_types")) {
      ragged = attrs.types(prefix + "ragged_value_types");
      splits = attrs.types(prefix + "ragged_split_types");
    }
    const auto count = [&](const std::string& name, size_t otherwise) {
      return attrs.find(name) ? attrs.integer(name) : static_cast<int64_t>(otherwise);
    };
    num_sparse = count("N" + prefix + "sparse", sparse.size());
    num_dense = count("N" + prefix + "dense", dense.size());
  }
  std::vector<DType> sparse, dense, ragged, splits;
  std::vector<Shape> shapes;
  int64_t num_sparse = 0, num_dense = 0;

  /// Outputs are numbered by these lists, so they have to be as long as each other.
  Status check(std::string_view prefix) const {
    if (num_sparse != static_cast<int64_t>(sparse.size()))
      return invalid_argument(cat("len(", prefix, "sparse_keys) != len(", prefix, "sparse_types)"));
    if (num_dense != static_cast<int64_t>(dense.size()) || dense.size() != shapes.size())
      return invalid_argument(cat("len(", prefix, "dense_keys), the types and the shapes differ: ", num_dense, ", ",
                                  dense.size(), ", ", shapes.size()));
    if (ragged.size() != splits.size())
      return invalid_argument(cat("len(", prefix, "ragged_value_types) != len(", prefix, "ragged_split_types)"));
    return ok_status();
  }

  Result<WantedFeatures> wanted(const std::vector<std::string>& sparse_keys, const std::vector<std::string>& dense_keys,
                                const std::vector<std::string>& ragged_keys) const {
    if (sparse_keys.size() != sparse.size() || dense_keys.size() != dense.size() || ragged_keys.size() != ragged.size())
      return invalid_argument(cat("there are ", sparse_keys.size(), ", ", dense_keys.size(), " and ",
                                  ragged_keys.size(), " keys of sparse, dense and ragged features, and types of ",
                                  sparse.size(), ", ", dense.size(), " and ", ragged.size()));
    WantedFeatures all;
    for (size_t i = 0; i < sparse.size(); ++i) all.sparse.push_back({sparse_keys[i], sparse[i]});
    for (size_t i = 0; i < ragged.size(); ++i) all.ragged.push_back({ragged_keys[i], ragged[i]});
    for (size_t i = 0; i < dense.size(); ++i) {
      if (!shapes[i].rank_known() || !shapes[i].fully_known())
        return invalid_argument(cat("Shape ", shapes[i].to_string(), " of '", dense_keys[i], "' is not fully defined"));
      const std::optional<int64_t> size = shapes[i].checked_num_elements();
      if (!size)
        return invalid_argument(cat("Shape ", shapes[i].to_string(), " of '", dense_keys[i], "' is too large"));
      all.dense.push_back({{dense_keys[i], dense[i]}, shapes[i], *size, {}, false});
    }
    return all;
  }
};

/// No key may be asked for in two ways.
Status check_keys(const WantedFeatures& wanted, std::string_view what) {
  std::set<std::string_view> sparse, dense;
  for (const NamedFeature& f : wanted.sparse) sparse.insert(f.key);
  for (const ShapedFeature& f : wanted.dense) {
    if (sparse.contains(f.key)) return invalid_argument(cat(what, " ", f.key, " cannot be both dense and sparse"));
    dense.insert(f.key);
  }
  for (const NamedFeature& f : wanted.ragged) {
    if (sparse.contains(f.key)) return invalid_argument(cat(what, " ", f.key, " cannot be both ragged and sparse"));
    if (dense.contains(f.key)) return invalid_argument(cat(what, " ", f.key, " cannot be both ragged and dense"));
  }
  return ok_status();
}

std::vector<std::string> texts_in(const Tensor& t) {
  return {t.data<std::string>(), t.data<std::string>() + t.num_elements()};
}

Status run_sequences(KernelContext& c, int first_filling, WantedFeatures context, const WantedFeatures& lists) {
  if (c.input(0).shape().rank() > 1)
    return invalid_argument(
        cat("Expected serialized to be a scalar or vector, got shape: ", c.input(0).shape().to_string()));
  for (size_t i = 0; i < context.dense.size(); ++i)
    context.dense[i].filling = c.input(first_filling + static_cast<int>(i));
  RETURN_IF_ERROR(check_keys(context, "Context feature"));
  RETURN_IF_ERROR(check_keys(lists, "Sequence feature"));
  return put_sequences(c, c.input(0).shape().rank() == 1, &c.input(1), context, lists, true);
}

class ParseSequenceExample final : public Kernel {
 public:
  explicit ParseSequenceExample(const KernelInit& init)
      : context_(FeatureAttrs(init.attrs, "context_")
                     .wanted(init.attrs.texts("context_sparse_keys"), init.attrs.texts("context_dense_keys"), {})),
        lists_(FeatureAttrs(init.attrs, "feature_list_")
                   .wanted(init.attrs.texts("feature_list_sparse_keys"), init.attrs.texts("feature_list_dense_keys"),
                           {})) {
    if (!lists_.ok()) return;
    for (const std::string& key : init.attrs.texts("feature_list_dense_missing_assumed_empty")) {
      for (ShapedFeature& f : lists_->dense) f.may_be_missing = f.may_be_missing || f.key == key;
    }
  }
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(context_.status());
    RETURN_IF_ERROR(lists_.status());
    return run_sequences(c, 2, *context_, *lists_);
  }

 private:
  Result<WantedFeatures> context_, lists_;
};

class ParseSequenceExampleV2 final : public Kernel {
 public:
  explicit ParseSequenceExampleV2(const KernelInit& init)
      : context_(init.attrs, "context_"), lists_(init.attrs, "feature_list_") {}
  Status run(KernelContext& c) override {
    const auto keys = [&](int i) { return texts_in(c.input(i)); };
    ASSIGN_OR_RETURN(WantedFeatures context, context_.wanted(keys(2), keys(3), keys(4)));
    ASSIGN_OR_RETURN(WantedFeatures lists, lists_.wanted(keys(5), keys(6), keys(7)));
    if (c.input(8).num_elements() != static_cast<int64_t>(lists.dense.size()))
      return invalid_argument(cat("feature_list_dense_missing_assumed_empty has ", c.input(8).num_elements(),
                                  " elements, expected ", lists.dense.size()));
    for (size_t i = 0; i < lists.dense.size(); ++i) lists.dense[i].may_be_missing = c.in<bool>(8)[i];
    return run_sequences(c, 9, std::move(context), lists);
  }

 private:
  FeatureAttrs context_, lists_;
};

class ParseSingleSequenceExample final : public Kernel {
 public:
  explicit ParseSingleSequenceExample(const KernelInit& init)
      : context_(init.attrs, "context_"), lists_(init.attrs, "feature_list_") {}
  Status run(KernelContext& c) override {
    if (c.input(0).shape().rank() != 0)
      return invalid_argument(cat("Expected serialized to be a scalar, got shape: ", c.input(0).shape().to_string()));
    if (c.input(1).shape().rank() != 1)
      return invalid_argument(cat("Expected feature_list_dense_missing_assumed_empty to be a vector, got shape: ",
                                  c.input(1).shape().to_string()));
    const Tensor& name = c.input(c.num_inputs() - 1);
    if (name.shape().rank() != 0)
      return invalid_argument(cat("Expected debug_name to be a scalar, got shape: ", name.shape().to_string()));
    int at = 2;
    const auto keys = [&](size_t count) -> Result<std::vector<std::string>> {
      std::vector<std::string> all;
      for (size_t i = 0; i < count; ++i, ++at) {
        if (c.input(at).shape().rank() != 0)
          return invalid_argument(cat("Expected a key to be a scalar, got shape: ", c.input(at).shape().to_string()));
        all.push_back(*c.in<std::string>(at));
      }
      return all;
    };
    ASSIGN_OR_RETURN(const std::vector<std::string> context_sparse, keys(context_.sparse.size()));
    ASSIGN_OR_RETURN(const std::vector<std::string> context_dense, keys(context_.dense.size()));
    ASSIGN_OR_RETURN(const std::vector<std::string> list_sparse, keys(lists_.sparse.size()));
    ASSIGN_OR_RETURN(const std::vector<std::string> list_dense, keys(lists_.dense.size()));
    ASSIGN_OR_RETURN(WantedFeatures context, context_.wanted(context_sparse, context_dense, {}));
    ASSIGN_OR_RETURN(WantedFeatures lists, lists_.wanted(list_sparse, list_dense, {}));
    const std::vector<std::string> missing = texts_in(c.input(1));
    for (ShapedFeature& f : lists.dense)
      f.may_be_missing = std::find(missing.begin(), missing.end(), f.key) != missing.end();
    for (size_t i = 0; i < context.dense.size(); ++i) context.dense[i].filling = c.input(at + static_cast<int>(i));
    return put_sequences(c, false, &name, context, lists, false);
  }

 private:
  FeatureAttrs context_, lists_;
};

/// Sets the shapes of outputs one after the other.
class SequenceShapes {
 public:
  /// `rows`: the form of the messages, one for all or a vector.
  SequenceShapes(ShapeContext& c, Shape rows) : c_(c), rows_(std::move(rows)) {}

  void sparse(size_t count, int64_t more) {
    const int64_t rank = rows_.rank_known() ? rows_.rank() + more : -1;
    set(count, Shape{-1, rank});
    set(count, Shape{-1});
    set(count, Shape{rank});
  }
  void dense(const std::vector<Shape>& shapes, bool list) {
    for (const Shape& shape : shapes) {
      const Shape own = list ? concat_shapes(Shape{-1}, shape) : shape;
      set(1, concat_shapes(rows_, own));
    }
  }
  void set(size_t count, const Shape& shape) {
    for (size_t i = 0; i < count; ++i) c_.set_output(next_++, shape);
  }

 private:
  ShapeContext& c_;
  const Shape rows_;
  int next_ = 0;
};

Status set_sequence_shapes(ShapeContext& c, const Shape& rows, bool has_lengths) {
  const FeatureAttrs context(c.attrs(), "context_"), lists(c.attrs(), "feature_list_");
  RETURN_IF_ERROR(context.check("context_"));
  RETURN_IF_ERROR(lists.check("feature_list_"));
  SequenceShapes shapes(c, rows);
  shapes.sparse(context.sparse.size(), 1);
  shapes.dense(context.shapes, false);
  const bool one = rows.rank_known() && rows.rank() == 0;
  const int64_t count = rows.rank_known() && rows.rank() == 1 && rows.dim(0) >= 0 ? rows.dim(0) + 1 : -1;
  const Shape splits = one ? Shape{} : rows.rank_known() ? Shape{count} : Shape::unknown();
  shapes.set(context.ragged.size(), Shape{-1});
  shapes.set(context.ragged.size(), splits);
  shapes.sparse(lists.sparse.size(), 2);
  shapes.dense(lists.shapes, true);
  if (has_lengths) shapes.set(lists.dense.size(), rows);
  shapes.set(lists.ragged.size(), Shape{-1});
  shapes.set(lists.ragged.size(), splits);
  shapes.set(lists.ragged.size(), Shape{-1});
  return ok_status();
}

Status parse_sequence_example_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape serialized, c.with_rank(0, 1));
  return set_sequence_shapes(c, serialized, true);
}
Status parse_sequence_example_v2_shape(ShapeContext& c) {
  const Shape& serialized = c.input(0);
  if (serialized.rank_known() && serialized.rank() > 1)
    return invalid_argument(cat("Shape must be at most rank 1 but is rank ", serialized.rank()));
  return set_sequence_shapes(c, serialized, true);
}
Status parse_single_sequence_example_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 0).take_status());
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  return set_sequence_shapes(c, Shape{}, false);
}

}  // namespace

OpDef parse_sequence_example_op() {
  return OpDef("ParseSequenceExample")
      .doc("The features and lists of features of SequenceExample messages as sparse and dense tensors.")
      .shape(parse_sequence_example_shape)
      .cpu(make<ParseSequenceExample>);
}
OpDef parse_sequence_example_v2_op() {
  return OpDef("ParseSequenceExampleV2")
      .doc("The features and lists of features of SequenceExample messages as sparse, dense and ragged tensors.")
      .shape(parse_sequence_example_v2_shape)
      .cpu(make<ParseSequenceExampleV2>);
}
OpDef parse_single_sequence_example_op() {
  return OpDef("ParseSingleSequenceExample")
      .doc("The features and lists of features of one SequenceExample message as sparse and dense tensors.")
      .shape(parse_single_sequence_example_shape)
      .cpu(make<ParseSingleSequenceExample>);
}

}  // namespace emplace
