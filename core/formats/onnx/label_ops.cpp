// Part of core/formats/onnx/op_table.h: ops of ai.onnx.ml that look values up in a list of labels.
#include "core/base/cat.h"
#include "core/formats/onnx/learning.h"
#include "core/formats/onnx/op_table.h"

namespace emplace {
namespace {

constexpr int64_t kMostLabels = 65536;  // each element is compared with each

/// Keys or values of a LabelEncoder: a list of one of the types, or a tensor.
std::optional<Endpoint> labels(OnnxBlock& b, const std::string& kind) {
  if (std::optional<Endpoint> texts = onnx_string_list(b, kind + "_strings")) return texts;
  if (const std::optional<Ints> ints = b.integers(kind + "_int64s")) return b.ints(*ints);
  if (std::optional<Endpoint> floats = onnx_float_list(b, kind + "_floats")) return floats;
  if (b.has_attribute(kind + "_tensor")) {
    if (std::optional<Tensor> t = b.tensor(kind + "_tensor")) return b.reshape(b.constant(std::move(*t)), Ints{-1});
  }
  return std::nullopt;
}

Endpoint default_label(OnnxBlock& b, Endpoint values) {
  if (b.has_attribute("default_tensor")) {
    if (std::optional<Tensor> t = b.tensor("default_tensor")) return b.reshape(b.constant(std::move(*t)), Ints{});
  }
  if (b.type(values) == DType::kString) return b.constant(Tensor::scalar(b.text("default_string", "_Unused")));
  if (b.type(values) == DType::kInt64) return b.int64(b.integer("default_int64", -1));
  return b.like(values, b.number("default_float", -0.0F));
}

Endpoint looked_up(OnnxBlock& b, Endpoint keys, Endpoint values) {
  if (b.failed()) return {};
  if (b.dim(keys, 0) != b.dim(values, 0)) return b.fail("wanted as many keys as values");
  const OnnxListPlace at = onnx_find_in_list(b, b.input(0), keys);
  return b.select(at.found, onnx_labels_at(b, values, at.place), default_label(b, values));
}

Endpoints label_encoder(OnnxBlock& b) {
  const std::optional<Endpoint> keys = labels(b, "keys"), values = labels(b, "values");
  if (!keys || !values) return {b.fail("wanted as many keys as values")};
  return {looked_up(b, *keys, *values)};
}

/// From texts to numbers, or the other way round, as the input has it.
Endpoint looked_up_either_way(OnnxBlock& b, Endpoint texts, Endpoint numbers) {
  const bool text = b.type(b.input(0)) == DType::kString;
  return text ? looked_up(b, texts, numbers) : looked_up(b, numbers, texts);
}

/// Before version 2: texts, and their places in the list.
Endpoints old_label_encoder(OnnxBlock& b) {
  const std::optional<Endpoint> texts = onnx_string_list(b, "classes_strings");
  if (!texts) return {b.fail("no classes_strings")};
  Ints places;
  for (int64_t i = 0; i < b.dim(*texts, 0); ++i) places.push_back(i);
  return {looked_up_either_way(b, *texts, b.ints(places))};
}

Endpoints category_mapper(OnnxBlock& b) {
  const std::optional<Endpoint> texts = onnx_string_list(b, "cats_strings");
  const std::optional<Ints> numbers = b.integers("cats_int64s");
  if (!texts || !numbers) return {b.fail("wanted cats_strings and cats_int64s")};
  return {looked_up_either_way(b, *texts, b.ints(*numbers))};
}

/// A new last axis with a 1 at the category's last place; without `zeros` an unknown one ends the run.
Endpoints one_hot_encoder(OnnxBlock& b) {
  const std::optional<Ints> numbers = b.integers("cats_int64s");
  const std::optional<Endpoint> categories = numbers ? b.ints(*numbers) : onnx_string_list(b, "cats_strings");
  if (!categories) return {b.fail("neither cats_int64s nor cats_strings")};
  const Endpoint x = numbers && b.type(b.input(0)) != DType::kString ? b.cast(b.input(0), DType::kInt64) : b.input(0);
  // The last of equal categories counts.
  const int64_t count = b.dim(*categories, 0);
  const Endpoint backwards = b.make("ReverseV2", {*categories, b.ints32({0})});
  const OnnxListPlace at = onnx_find_in_list(b, x, backwards);
  if (b.failed()) return {Endpoint{}};
  Ints places;
  for (int64_t i = count - 1; i >= 0; --i) places.push_back(i);
  const bool zeros = b.integer("zeros", 1) != 0;
  Endpoint place = b.select(at.found, at.place, b.like(at.place, static_cast<double>(count)));
  if (zeros) places.push_back(-1);  // OneHot's word for none
  place = onnx_labels_at(b, b.ints(places), place);
  return {b.make("OneHot", {place, b.int32(count), b.scalar(DType::kFloat, 1), b.scalar(DType::kFloat, 0)})};
}

constexpr OnnxOp kLabelOps[] = {
    {"ai.onnx.ml.CategoryMapper", 1, category_mapper},
    {"ai.onnx.ml.LabelEncoder", 1, old_label_encoder},
    {"ai.onnx.ml.LabelEncoder", 2, label_encoder},
    {"ai.onnx.ml.OneHotEncoder", 1, one_hot_encoder},
};

}  // namespace

OnnxListPlace onnx_find_in_list(OnnxBlock& b, Endpoint element, Endpoint keys) {
  if (b.dim(keys, 0) < 1 || b.dim(keys, 0) > kMostLabels)
    return {b.fail(cat(b.dim(keys, 0), " keys; 1 to ", kMostLabels, " are read")), {}};
  if (b.type(element) != b.type(keys))
    return {b.fail(cat("keys of ", dtype_name(b.type(keys)), " for ", dtype_name(b.type(element)))), {}};
  const Endpoint x = b.expand(element, -1);
  Endpoint same = b.make("Equal", {x, keys});
  if (is_floating(b.type(x)) && b.version() >= 4)
    same = b.make("LogicalOr", {same, b.make("LogicalAnd", {b.make("IsNan", {x}), b.make("IsNan", {keys})})});
  return {b.make("Any", {same, b.ints32({-1})}),
          b.make("ArgMax", {b.cast(same, DType::kInt32), b.int32(-1)}, {{"output_type", attr_of(DType::kInt64)}})};
}

std::span<const OnnxOp> onnx_label_ops() { return kLabelOps; }

}  // namespace emplace
