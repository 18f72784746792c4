#include "core/ops/text/sequence_tensors.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/text/example_message.h"

namespace emplace {
namespace {

/// What a message has of a feature: rows of elements; of the context one.
struct FoundRows {
  std::vector<int64_t> lengths;
  ExampleValues values;
};

class ParsedSequences {
 public:
  /// `batch`: a row for each message. `names`: of the messages, or null.
  ParsedSequences(KernelContext& c, bool batch, const Tensor* names) : c_(c), batch_(batch), names_(names) {}

  Status run(const WantedFeatures& context, const WantedFeatures& lists, bool has_lengths) {
    const int64_t messages = c_.input(0).num_elements();
    if (names_ && names_->num_elements() > 0 && names_->num_elements() != messages)
      return invalid_argument(cat("example_names must be empty or have the correct number of elements: there are ",
                                  names_->num_elements(), " for ", messages, " messages"));
    context_.resize(static_cast<size_t>(messages));
    lists_.resize(static_cast<size_t>(messages));
    for (size_t m = 0; m < context_.size(); ++m) {
      if (!read_sequence_example(c_.in<std::string>(0)[m], context_[m], lists_[m]))
        return invalid_argument(cat("Invalid protocol message input, example id: ", name_of(m)));
    }
    RETURN_IF_ERROR(put_sparse(context, false));
    for (const ShapedFeature& f : context.dense) RETURN_IF_ERROR(put_context_dense(f));
    RETURN_IF_ERROR(put_ragged(context, false));
    RETURN_IF_ERROR(put_sparse(lists, true));
    const int lengths = next_ + static_cast<int>(lists.dense.size());
    for (size_t i = 0; i < lists.dense.size(); ++i)
      RETURN_IF_ERROR(put_list_dense(lists.dense[i], has_lengths ? lengths + static_cast<int>(i) : -1));
    if (has_lengths) next_ += static_cast<int>(lists.dense.size());
    return put_ragged(lists, true);
  }

 private:
  std::string name_of(size_t message) const {
    return names_ && static_cast<size_t>(names_->num_elements()) > message ? names_->data<std::string>()[message]
                                                                           : "<unknown>";
  }

  Status append(size_t message, const NamedFeature& wanted, const ExampleFeature& feature, bool list,
                FoundRows& rows) const {
    const int64_t before = rows.values.size();
    const auto failure = [&](std::string_view what) {
      return invalid_argument(cat("Name: ", name_of(message), list ? ", Feature list: " : ", Context feature: ",
                                  wanted.key, list ? cat(", Index: ", rows.lengths.size()) : "", ".  ", what));
    };
    if (feature.type != DType::kInvalid && feature.type != wanted.type)
      return failure(cat("Data types don't match. Expected type: ", dtype_tf_name(wanted.type)));
    if (feature.type != DType::kInvalid && !rows.values.append(feature.list)) return failure("The list is damaged.");
    rows.lengths.push_back(rows.values.size() - before);
    return ok_status();
  }

  /// Appends the rows of that message. False: it has none of the feature.
  Result<bool> take(size_t message, const NamedFeature& wanted, bool list, FoundRows& rows) const {
    if (!list) {
      const auto found = context_[message].find(wanted.key);
      if (found == context_[message].end()) return false;
      RETURN_IF_ERROR(append(message, wanted, found->second, list, rows));
      return true;
    }
    const auto found = lists_[message].find(wanted.key);
    if (found == lists_[message].end()) return false;
    for (const ExampleFeature& feature : found->second) RETURN_IF_ERROR(append(message, wanted, feature, list, rows));
    return true;
  }

  Status put(int output, const Shape& shape, const ExampleValues& values) {
    RETURN_IF_ERROR(ensure_output(c_, output, shape));
    values.copy_to(c_.output(output));
    return ok_status();
  }

  Status put_sparse(const WantedFeatures& wanted, bool list) {
    const int count = static_cast<int>(wanted.sparse.size());
    for (int i = 0; i < count; ++i) {
      const NamedFeature& feature = wanted.sparse[static_cast<size_t>(i)];
      FoundRows rows{{}, ExampleValues(feature.type)};
      std::vector<int64_t> places;
      int64_t most_rows = 0, widest = 0;
      for (size_t m = 0; m < context_.size(); ++m) {
        const size_t before = rows.lengths.size();
        RETURN_IF_ERROR(take(m, feature, list, rows).take_status());
        for (size_t row = before; row < rows.lengths.size(); ++row) {
          for (int64_t k = 0; k < rows.lengths[row]; ++k) {
            if (batch_) places.push_back(static_cast<int64_t>(m));
            if (list) places.push_back(static_cast<int64_t>(row - before));
            places.push_back(k);
          }
          widest = std::max(widest, rows.lengths[row]);
        }
        most_rows = std::max(most_rows, static_cast<int64_t>(rows.lengths.size() - before));
      }
      std::vector<int64_t> sizes;
      if (batch_) sizes.push_back(static_cast<int64_t>(context_.size()));
      if (list) sizes.push_back(most_rows);
      sizes.push_back(widest);
      const auto rank = static_cast<int64_t>(sizes.size());
      RETURN_IF_ERROR(ensure_output(c_, next_ + i, Shape{rows.values.size(), rank}));
      std::copy(places.begin(), places.end(), c_.out<int64_t>(next_ + i));
      RETURN_IF_ERROR(put(next_ + count + i, Shape{rows.values.size()}, rows.values));
      RETURN_IF_ERROR(ensure_output(c_, next_ + 2 * count + i, Shape{rank}));
      std::copy(sizes.begin(), sizes.end(), c_.out<int64_t>(next_ + 2 * count + i));
    }
    next_ += 3 * count;
    return ok_status();
  }

  Shape with_rows(const Shape& shape) const {
    return batch_ ? concat_shapes(Shape{static_cast<int64_t>(context_.size())}, shape) : shape;
  }

  Status put_context_dense(const ShapedFeature& feature) {
    const Tensor& filling = feature.filling;
    if (filling.num_elements() > 0 && (filling.shape() != feature.shape || filling.dtype() != feature.type))
      return invalid_argument(cat("the default value of '", feature.key, "' has shape ", filling.shape().to_string(),
                                  ", context_dense_shapes says ", feature.shape.to_string()));
    FoundRows rows{{}, ExampleValues(feature.type)};
    int64_t most = filling.num_elements();
    for (size_t m = 0; m < context_.size(); ++m) {
      ASSIGN_OR_RETURN(const bool found, take(m, feature, false, rows));
      if (found) {
        most = std::max(most, rows.lengths.back());
        continue;
      }
      if (filling.num_elements() == 0)
        return invalid_argument(cat("Name: ", name_of(m), ", Feature: ", feature.key, " (data type: ",
                                    dtype_tf_name(feature.type), ") is required but could not be found."));
      rows.values.append(filling);
      rows.lengths.push_back(filling.num_elements());
    }
    if (most != feature.size)
      return invalid_argument(cat("Inconsistent max number of elements for feature ", feature.key, ": expected ",
                                  feature.size, ", but found ", most));
    for (size_t m = 0; m < context_.size(); ++m) {
      if (rows.lengths[m] != feature.size)
        return invalid_argument(cat("Unexpected number of elements in example ", name_of(m), ": feature ", feature.key,
                                    " has ", rows.lengths[m], ", expected ", feature.size));
    }
    return put(next_++, with_rows(feature.shape), rows.values);
  }

  Status put_list_dense(const ShapedFeature& feature, int lengths) {
    std::vector<FoundRows> all;
    int64_t most_rows = 0;
    for (size_t m = 0; m < context_.size(); ++m) {
      FoundRows& rows = all.emplace_back(FoundRows{{}, ExampleValues(feature.type)});
      ASSIGN_OR_RETURN(const bool found, take(m, feature, true, rows));
      if (!found && !feature.may_be_missing)
        return invalid_argument(cat("Name: ", name_of(m), ", Feature list '", feature.key,
                                    "' is required but could not be found; "
                                    "feature_list_dense_missing_assumed_empty says which may be missing"));
      for (size_t row = 0; row < rows.lengths.size(); ++row) {
        if (rows.lengths[row] != feature.size)
          return invalid_argument(cat("Name: ", name_of(m), ", Key: ", feature.key, ", Index: ", row,
                                      ".  Number of values != expected.  values size: ", rows.lengths[row],
                                      " but output shape: ", feature.shape.to_string()));
      }
      most_rows = std::max(most_rows, static_cast<int64_t>(rows.lengths.size()));
    }
    if (feature.size == 0 && lengths >= 0)  // TensorFlow divides by the elements of a row where it counts rows
      return invalid_argument(
          cat("Feature list '", feature.key, "' has rows without elements: ", feature.shape.to_string()));
    const int output = next_++;
    RETURN_IF_ERROR(ensure_output(c_, output, with_rows(concat_shapes(Shape{most_rows}, feature.shape))));
    Tensor& to = c_.output(output);
    fill_zeros(*c_.parallel_, to);
    if (lengths >= 0) RETURN_IF_ERROR(ensure_output(c_, lengths, with_rows(Shape{})));
    for (size_t m = 0; m < all.size(); ++m) {
      if (lengths >= 0) c_.out<int64_t>(lengths)[m] = static_cast<int64_t>(all[m].lengths.size());
      Tensor part = Tensor::wrap(to.dtype(), Shape{all[m].values.size()},
                                 element_at(to, static_cast<int64_t>(m) * most_rows * feature.size));
      all[m].values.copy_to(part);
    }
    return ok_status();
  }

  Status put_splits(int output, const std::vector<int64_t>& ends) {
    RETURN_IF_ERROR(ensure_output(c_, output, Shape{static_cast<int64_t>(ends.size())}));
    with_index(c_.output(output).dtype(), [&]<class I>(I) {
      for (size_t i = 0; i < ends.size(); ++i) c_.out<I>(output)[i] = static_cast<I>(ends[i]);
    });
    return ok_status();
  }
  /// Of a message alone, which has no rows: TensorFlow leaves this number open.
  Status put_no_splits(int output) {
    RETURN_IF_ERROR(ensure_output(c_, output, Shape{}));
    fill_zeros(*c_.parallel_, c_.output(output));
    return ok_status();
  }

  Status put_ragged(const WantedFeatures& wanted, bool list) {
    const int count = static_cast<int>(wanted.ragged.size());
    for (int i = 0; i < count; ++i) {
      const NamedFeature& feature = wanted.ragged[static_cast<size_t>(i)];
      FoundRows rows{{}, ExampleValues(feature.type)};
      std::vector<int64_t> outer{0}, inner{0};
      for (size_t m = 0; m < context_.size(); ++m) {
        RETURN_IF_ERROR(take(m, feature, list, rows).take_status());
        outer.push_back(list ? static_cast<int64_t>(rows.lengths.size()) : rows.values.size());
      }
      for (int64_t length : rows.lengths) inner.push_back(inner.back() + length);
      RETURN_IF_ERROR(put(next_ + i, Shape{rows.values.size()}, rows.values));
      RETURN_IF_ERROR(batch_ ? put_splits(next_ + count + i, outer) : put_no_splits(next_ + count + i));
      if (list) RETURN_IF_ERROR(put_splits(next_ + 2 * count + i, inner));
    }
    next_ += (list ? 3 : 2) * count;
    return ok_status();
  }

  KernelContext& c_;
  const bool batch_;
  const Tensor* const names_;
  int next_ = 0;                          // the output to write next
  std::vector<ExampleFeatures> context_;  // views into the serialized messages
  std::vector<ExampleFeatureLists> lists_;
};

}  // namespace

Status put_sequences(KernelContext& c, bool batch, const Tensor* names, const WantedFeatures& context,
                     const WantedFeatures& lists, bool has_lengths) {
  return ParsedSequences(c, batch, names).run(context, lists, has_lengths);
}

}  // namespace emplace
