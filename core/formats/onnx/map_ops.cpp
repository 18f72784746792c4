// Part of core/formats/onnx/op_table.h: maps of ai.onnx.ml. A map is two tensors, its keys and its values, in one
// order; a sequence of maps with the same keys (ZipMap) is the keys, and a row of values for each map.
#include "core/base/cat.h"
#include "core/formats/onnx/learning.h"
#include "core/formats/onnx/op_table.h"

namespace emplace {
namespace {

constexpr int64_t kMostKeys = 65536;  // each is compared with each of the map's

Endpoints zip_map(OnnxBlock& b) {
  const std::optional<Endpoint> keys = onnx_class_labels(b, "classlabels_int64s", "classlabels_strings");
  Endpoint x = b.input(0);
  if (!keys || b.failed()) return {Endpoint{}};
  if (b.rank(x) == 1) x = b.expand(x, 0);
  const int64_t there = b.dim(x, 1), given = b.dim(*keys, 0);
  if (b.rank(x) != 2 || (there >= 0 && there != given)) return {b.fail(cat(given, " labels for ", there, " columns"))};
  if (there < 0) x = b.reshape_to(x, b.concat({b.dim_of(x, 0), b.ints({given})}, 0));
  if (b.wants(0)) b.frame().bind_keys(b.node().outputs[0], *keys);
  return {x};
}

/// Nothing for a type that no map has.
Endpoint empty_value(OnnxBlock& b, DType type) {
  return type == DType::kString ? b.constant(Tensor::scalar(std::string())) : b.scalar(type, 0);
}

struct OnnxMap {
  Endpoint keys, values;
};

OnnxMap map_input(OnnxBlock& b) {
  if (!b.has(0)) return {b.fail("input 0 is missing"), {}};
  const Endpoint keys = b.frame().find_keys(b.node().inputs[0]);
  if (keys.node == kNoNode) return {b.fail("input 0 is not a map"), {}};
  const Endpoint values = b.input(0);
  if (b.rank(values) != 1) return {b.fail("input 0 is a sequence of maps"), {}};
  return {keys, values};
}

/// [1,wanted]: the values of these keys, 0 or an empty string for those that the map lacks.
Endpoint values_of(OnnxBlock& b, const OnnxMap& map, Endpoint wanted) {
  if (b.failed()) return {};
  if (b.type(wanted) != b.type(map.keys))
    return b.fail(cat("keys of ", dtype_name(b.type(wanted)), " for a map of ", dtype_name(b.type(map.keys))));
  if (b.dim(wanted, 0) < 1 || b.dim(wanted, 0) > kMostKeys)
    return b.fail(cat(b.dim(wanted, 0), " keys; 1 to ", kMostKeys, " are read"));
  // One more key, so that there is one; what stands for it is nothing.
  const Endpoint nothing = empty_value(b, b.type(map.values));
  const Endpoint keys = b.concat({map.keys, b.expand(empty_value(b, b.type(map.keys)), 0)}, 0);
  const Endpoint values = b.concat({map.values, b.expand(nothing, 0)}, 0);
  const Endpoint same = b.make("Equal", {b.expand(wanted, 1), keys});
  const Endpoint found = b.make("Any", {same, b.ints32({1})});
  const Endpoint at =
      b.make("ArgMax", {b.cast(same, DType::kInt32), b.int32(1)}, {{"output_type", attr_of(DType::kInt64)}});
  return b.expand(b.select(found, onnx_labels_at(b, values, at), nothing), 0);
}

Endpoints dict_vectorizer(OnnxBlock& b) {
  const std::optional<Ints> numbers = b.integers("int64_vocabulary");
  const std::optional<Endpoint> texts = onnx_string_list(b, "string_vocabulary");
  if (!numbers && !texts) return {b.fail("neither int64_vocabulary nor string_vocabulary")};
  return {values_of(b, map_input(b), texts ? *texts : b.ints(*numbers))};
}

Endpoint cast_values(OnnxBlock& b, Endpoint x) {
  const std::string to = b.text("cast_to", "TO_FLOAT");
  const bool text = b.type(x) == DType::kString;
  if (to == "TO_STRING") return text ? x : b.make("AsString", {x});
  if (to != "TO_FLOAT" && to != "TO_INT64") return b.fail(cat("cast_to '", to, "'"), "TO_FLOAT, TO_INT64 or TO_STRING");
  const DType type = to == "TO_FLOAT" ? DType::kFloat : DType::kInt64;
  return text ? b.make("StringToNumber", {x}, {{"out_type", attr_of(type)}}) : b.cast(x, type);
}

/// A row of the values in the order of their keys, or each at the place that its key is.
Endpoints cast_map(OnnxBlock& b) {
  OnnxMap map = map_input(b);
  const std::string form = b.text("map_form", "DENSE");
  if (!b.failed() && b.type(map.keys) != DType::kInt64) return {b.fail("a map whose keys are not int64")};
  map.values = cast_values(b, map.values);
  if (form == "DENSE") {
    const Endpoint count = b.make("Size", {map.keys});
    const Endpoints sorted = b.make_many("TopKV2", {b.make("Neg", {map.keys}), count}, 2);
    return {b.failed() ? Endpoint{} : b.expand(onnx_labels_at(b, map.values, sorted[1]), 0)};
  }
  if (form != "SPARSE") return {b.fail(cat("map_form '", form, "'"), "DENSE or SPARSE")};
  const int64_t most = b.integer("max_map", 1);
  if (most < 1 || most > kMostKeys) return {b.fail(cat("max_map ", most, "; wanted 1 to ", kMostKeys))};
  Ints places;
  for (int64_t i = 0; i < most; ++i) places.push_back(i);
  return {values_of(b, map, b.ints(places))};
}

constexpr OnnxOp kMapOps[] = {
    {"ai.onnx.ml.CastMap", 1, cast_map},
    {"ai.onnx.ml.DictVectorizer", 1, dict_vectorizer},
    {"ai.onnx.ml.ZipMap", 1, zip_map},
};

}  // namespace

std::span<const OnnxOp> onnx_map_ops() { return kMapOps; }

}  // namespace emplace
