// Part of core/formats/onnx/op_table.h: strings.
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"

namespace emplace {
namespace {

Endpoint text_scalar(OnnxBlock& b, std::string_view text) { return b.constant(Tensor::scalar(std::string(text))); }

Endpoint text_vector(OnnxBlock& b, const std::vector<std::string_view>& texts) {
  const std::vector<std::string> own(texts.begin(), texts.end());
  return b.constant(Tensor::of<std::string>(Shape{static_cast<int64_t>(own.size())}, own));
}

Endpoints string_concat(OnnxBlock& b) {
  Endpoint x = b.input(0), y = b.input(1);
  if (!b.has_shape(x) || !b.has_shape(y) || b.shape(x) != b.shape(y)) {
    const Endpoint both = b.make("BroadcastArgs", {b.shape_of(x), b.shape_of(y)});
    x = b.broadcast(x, both), y = b.broadcast(y, both);
  }
  return {b.make("StringJoin", {x, y}, {{"N", attr_of(int64_t{2})}})};
}

Endpoints regex_full_match(OnnxBlock& b) {
  return {b.make("StaticRegexFullMatch", {b.input(0)}, {{"pattern", attr_of(b.text("pattern", ""))}})};
}

/// Parts along a new last axis, filled up with empty strings; and how many there are. Between white space no part is
/// empty, but for a rest of nothing that TensorFlow's op gives where it has split as often as it may.
Endpoints string_split(OnnxBlock& b) {
  const Endpoint x = b.input(0), flat = b.reshape(x, Ints{-1}), shape = b.shape_of(x);
  const std::string delimiter = b.text("delimiter", "");
  const Endpoints parts = b.make_many("StringSplitV2", {flat, text_scalar(b, delimiter)}, 3,
                                      {{"maxsplit", attr_of(b.integer("maxsplit", -1))}});
  if (b.failed()) return {};
  Endpoint places = parts[0], texts = parts[1];
  if (delimiter.empty() && b.integer("maxsplit", -1) > 0) {
    const Endpoint full = b.make("Where", {b.make("NotEqual", {texts, text_scalar(b, "")})});
    places = b.make("GatherNd", {places, full}), texts = b.make("GatherNd", {texts, full});
  }
  const Endpoint rows = b.slice(parts[2], 0, 0, 1), row = b.squeeze(b.slice(places, 1, 0, 1), {1});
  const Endpoint counts = b.make("UnsortedSegmentSum", {b.make("OnesLike", {row}), row, b.squeeze(rows, {0})});
  const Endpoint most = b.reduce("Max", b.concat({counts, b.ints({0})}, 0), {0});
  const Endpoint dense = b.make("SparseToDense", {places, b.concat({rows, most}, 0), texts, text_scalar(b, "")});
  return {b.reshape_to(dense, b.concat({shape, most}, 0)), b.reshape_to(counts, shape)};
}

Endpoint in_case(OnnxBlock& b, Endpoint x, const std::string& action) {
  if (action == "NONE") return x;
  if (action == "LOWER" || action == "UPPER")
    return b.make(action == "LOWER" ? "StringLower" : "StringUpper", {x}, {{"encoding", attr_of("utf-8")}});
  return b.fail(cat("case_change_action '", action, "'"), "LOWER, UPPER or NONE");
}

/// Words that are no stopwords; a single empty one if there are none.
Endpoints string_normalizer(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const bool rows = b.rank(x) == 2, exact = b.integer("is_case_sensitive", 0) != 0;
  Endpoint words = b.reshape(x, Ints{-1});
  const OnnxAttribute* stop = b.attribute("stopwords", OnnxAttributeType::kStrings);
  if (stop && !stop->strings.empty()) {
    const Endpoint compared = exact ? words : in_case(b, words, "LOWER");
    const Endpoint all = text_vector(b, stop->strings);
    const Endpoint same = b.make("Equal", {b.expand(compared, 1), exact ? all : in_case(b, all, "LOWER")});
    const Endpoint left = b.make("LogicalNot", {b.make("Any", {same, b.ints32({1})})});
    words = b.make("GatherNd", {words, b.make("Where", {left})});
  }
  const Endpoint count = b.make("Size", {words}, {{"out_type", attr_of(DType::kInt64)}});
  const Endpoint padded = b.concat({words, text_vector(b, {""})}, 0);
  const Endpoint most = b.expand(b.make("Maximum", {count, b.int64(1)}), 0);
  const Endpoint y = in_case(b, b.make("Slice", {padded, b.ints({0}), most}), b.text("case_change_action", "NONE"));
  return {rows ? b.expand(y, 0) : y};
}

constexpr OnnxOp kTextOps[] = {
    {"RegexFullMatch", 20, regex_full_match},
    {"StringConcat", 20, string_concat},
    {"StringNormalizer", 10, string_normalizer},
    {"StringSplit", 20, string_split},
};

}  // namespace

std::span<const OnnxOp> onnx_text_ops() { return kTextOps; }

}  // namespace emplace
