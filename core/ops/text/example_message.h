/// Example messages (tensorflow/core/example/example.proto): named features, each a list of numbers or of texts.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/dtype.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// A list as it stands in a message, whose bytes it points into.
struct ExampleFeature {
  DType type = DType::kInvalid;  // kFloat, kInt64 or kString; kInvalid: the feature is there without a list
  std::string_view list;
};

using ExampleFeatures = std::unordered_map<std::string_view, ExampleFeature>;

/// False if the bytes are no Example. Of features of one name the last one counts.
bool read_example(std::string_view message, ExampleFeatures& features);

/// A list of features of one name, in order.
using ExampleFeatureLists = std::unordered_map<std::string_view, std::vector<ExampleFeature>>;

/// False if the bytes are no SequenceExample. Of features and lists of one name the last one counts.
bool read_sequence_example(std::string_view message, ExampleFeatures& context, ExampleFeatureLists& lists);

/// Elements of several lists of one type, one behind the other.
class ExampleValues {
 public:
  explicit ExampleValues(DType type) : type_(type) {}
  DType type() const { return type_; }
  int64_t size() const;
  /// False if the list is damaged. REQUIRES: it is of that type.
  bool append(std::string_view list);
  /// The elements of `t`, so many times.
  void append(const Tensor& t, int64_t times = 1);
  /// REQUIRES: `t` has that type and size().
  void copy_to(Tensor& t) const;

 private:
  DType type_;
  std::vector<float> floats_;
  std::vector<int64_t> ints_;
  std::vector<std::string> texts_;
};

}  // namespace emplace
