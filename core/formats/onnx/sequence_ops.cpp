// Part of core/formats/onnx/op_table.h: sequences whose lengths are known before the run: each is the list of its
// tensors, and takes no node.
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/tensor.h"

namespace emplace {
namespace {

/// Position `input`, or `otherwise`; counted from the end if negative. Nothing, and the block fails, if it is none of
/// [0, most].
std::optional<size_t> sequence_place(OnnxBlock& b, size_t input, size_t most, size_t otherwise, size_t length) {
  if (!b.has(input)) return otherwise;
  const Ints given = b.wanted(b.input(input), "positions");
  if (b.failed() || given.size() != 1) return b.fail("wanted one position"), std::nullopt;
  const int64_t at = given[0] < 0 ? given[0] + static_cast<int64_t>(length) : given[0];
  if (at < 0 || at > static_cast<int64_t>(most))
    return b.fail(cat("position ", given[0], " of a sequence of ", length)), std::nullopt;
  return static_cast<size_t>(at);
}

Endpoints sequence_construct(OnnxBlock& b) {
  b.make_sequence(b.inputs());
  return {};
}

Endpoints sequence_empty(OnnxBlock& b) {
  b.make_sequence({});
  return {};
}

Endpoints sequence_insert(OnnxBlock& b) {
  Endpoints all = b.sequence(0);
  const Endpoint tensor = b.input(1);
  const std::optional<size_t> at = sequence_place(b, 2, all.size(), all.size(), all.size());
  if (!at) return {};
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(*at), tensor);
  b.make_sequence(std::move(all));
  return {};
}

Endpoints sequence_erase(OnnxBlock& b) {
  Endpoints all = b.sequence(0);
  if (all.empty()) return {b.fail("an empty sequence")};
  const std::optional<size_t> at = sequence_place(b, 1, all.size() - 1, all.size() - 1, all.size());
  if (!at) return {};
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(*at));
  b.make_sequence(std::move(all));
  return {};
}

Endpoints sequence_at(OnnxBlock& b) {
  const Endpoints all = b.sequence(0);
  if (all.empty()) return {b.fail("an empty sequence")};
  const std::optional<size_t> at = sequence_place(b, 1, all.size() - 1, 0, all.size());
  return {at ? all[*at] : Endpoint{}};
}

Endpoints sequence_length(OnnxBlock& b) { return {b.int64(static_cast<int64_t>(b.sequence(0).size()))}; }

Endpoints concat_from_sequence(OnnxBlock& b) {
  const Endpoints all = b.sequence(0);
  if (all.empty()) return {b.fail("an empty sequence")};
  const int64_t axis = b.integer("axis", 0);
  if (b.integer("new_axis", 0) != 0) return {b.make("Pack", all, {{"axis", attr_of(axis)}})};
  return {b.concat(all, axis)};
}

/// Sizes that only the run knows; how many there are is known.
Endpoints split_by_input(OnnxBlock& b, Endpoint x, int axis) {
  const int64_t parts = b.dim(b.input(1), 0);
  if (parts < 1 || parts > 65536) return {b.fail("parts whose number is not known")};
  b.make_sequence(b.make_many("SplitV", {x, b.input(1), b.int32(axis)}, static_cast<size_t>(parts),
                              {{"num_split", attr_of(parts)}}));
  return {};
}

Endpoints split_to_sequence(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int axis = b.axis(b.integer("axis", 0), b.rank(x));
  if (b.has(1) && b.rank(b.input(1)) == 1 && !b.known(b.input(1))) return split_by_input(b, x, axis);
  const int64_t size = b.dim(x, axis);
  if (size < 0) return {b.fail("a size that is not known")};
  Ints parts;
  if (!b.has(1)) {
    parts.assign(static_cast<size_t>(std::min<int64_t>(size, 65536)), 1);
  } else if (const Ints given = b.wanted(b.input(1), "sizes"); b.rank(b.input(1)) > 0) {
    parts = given;
  } else if (!given.empty() && given[0] > 0) {
    for (int64_t left = size; left > 0 && parts.size() < 65536; left -= given[0])
      parts.push_back(std::min(left, given[0]));
  }
  int64_t sum = 0;
  for (int64_t p : parts) sum += p;
  if (b.failed() || sum != size) return {b.fail("sizes that do not fit")};
  Endpoints out;
  int64_t begin = 0;
  for (int64_t p : parts) {
    Endpoint part = b.slice(x, axis, begin, begin + p);
    if (!b.has(1) && b.integer("keepdims", 1) == 0) part = b.squeeze(part, {axis});
    out.push_back(part);
    begin += p;
  }
  b.make_sequence(std::move(out));
  return {};
}

/// An optional value that is there is the value itself.
Endpoints optional_value(OnnxBlock& b) { return {b.input(0)}; }

Endpoints optional_has_element(OnnxBlock& b) { return {b.scalar(DType::kBool, b.has(0))}; }

constexpr OnnxOp kSequenceOps[] = {
    {"ConcatFromSequence", 11, concat_from_sequence},
    {"Optional", 15, optional_value},
    {"OptionalGetElement", 15, optional_value},
    {"OptionalHasElement", 15, optional_has_element},
    {"SequenceAt", 11, sequence_at},
    {"SequenceConstruct", 11, sequence_construct},
    {"SequenceEmpty", 11, sequence_empty},
    {"SequenceErase", 11, sequence_erase},
    {"SequenceInsert", 11, sequence_insert},
    {"SequenceLength", 11, sequence_length},
    {"SplitToSequence", 11, split_to_sequence},
};

}  // namespace

std::span<const OnnxOp> onnx_sequence_ops() { return kSequenceOps; }

}  // namespace emplace
