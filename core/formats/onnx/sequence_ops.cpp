// Part of core/formats/onnx/op_table.h: sequences. Those whose lengths are known before the run are the lists of their
// tensors, and take no node; the others are TensorLists.
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/sequence_list.h"
#include "core/formats/onnx/tensor.h"

namespace emplace {
namespace {

constexpr int64_t kMostParts = 4096;  // that are nodes of their own

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

/// Such a position in a list of `length`, where only the run knows them: counted from 0.
Endpoint list_place(OnnxBlock& b, size_t input, Endpoint length) {
  Endpoint at = b.cast(b.input(input), DType::kInt64);
  if (!b.shape(at).rank_known() || b.rank(at) != 0) at = b.reshape(at, Ints{});
  return b.select(b.make("Less", {at, b.int64(0)}), b.add(at, length), at);
}

/// Is every position that matters known before the run?
bool is_fixed(OnnxBlock& b, const OnnxSequence& s, size_t position) {
  return !s.is_list() && (!b.has(position) || b.known(b.input(position)));
}

/// `count` elements of a list, those at `place(in, i)`. `probed`: a place that there must be.
OnnxSequence picked(OnnxBlock& b, OnnxSequence s, Endpoint list, Endpoint count, Endpoint probed,
                    const std::function<Endpoint(OnnxBlock& in, Endpoint i, const OnnxOutside& outside)>& place) {
  const Endpoint probe =
      b.make("Size", {onnx_list_item(b, list, probed, s.type, s.element)}, {{"out_type", attr_of(DType::kInt64)}});
  count = b.add(count, b.mul(probe, b.int64(0)));
  s.list = onnx_mapped_list(b, count, s.type, [&](OnnxBlock& in, Endpoint i, const OnnxOutside& outside) {
    return onnx_list_item(in, outside(list), place(in, i, outside), s.type, s.element);
  });
  s.tensors.clear();
  return s;
}

Shape common_element(OnnxBlock& b, const OnnxSequence& s, Endpoint e) {
  const bool none = !s.is_list() && s.tensors.empty();
  return none || s.element == b.shape(e) ? b.shape(e) : Shape::unknown();
}

bool is_of_type(OnnxBlock& b, const OnnxSequence& s, Endpoint e) {
  if (b.failed() || b.type(e) == s.type) return !b.failed();
  return b.fail(cat("a tensor of ", dtype_name(b.type(e)), " in a sequence of ", dtype_name(s.type))), false;
}

Endpoints sequence_construct(OnnxBlock& b) {
  OnnxSequence s{.tensors = b.inputs()};
  if (s.tensors.empty()) return {b.fail("no tensors")};
  s.type = b.type(s.tensors[0]), s.element = b.shape(s.tensors[0]);
  for (Endpoint e : s.tensors) {
    if (!is_of_type(b, s, e)) return {Endpoint{}};
    s.element = common_element(b, s, e);
  }
  b.make_sequence(std::move(s));
  return {};
}

Endpoints sequence_empty(OnnxBlock& b) {
  const std::optional<DType> type = onnx_dtype(b.integer("dtype", 1));
  if (!type) return {b.fail("of a type that is not read")};
  b.make_sequence({.type = *type});
  return {};
}

Endpoints sequence_insert(OnnxBlock& b) {
  OnnxSequence s = b.sequence(0);
  const Endpoint tensor = b.input(1);
  if (b.failed()) return {};
  s.element = common_element(b, s, tensor);
  if (!is_of_type(b, s, tensor)) return {Endpoint{}};
  if (is_fixed(b, s, 2)) {
    const size_t n = s.tensors.size();
    const std::optional<size_t> at = sequence_place(b, 2, n, n, n);
    if (!at) return {};
    s.tensors.insert(s.tensors.begin() + static_cast<std::ptrdiff_t>(*at), tensor);
    b.make_sequence(std::move(s));
    return {};
  }
  const Endpoint list = onnx_list(b, s, s.type), longer = onnx_pushed(b, list, tensor);
  if (!b.has(2)) {
    s.list = longer;
    b.make_sequence(std::move(s));
    return {};
  }
  const Endpoint last = onnx_list_length(b, list), at = list_place(b, 2, last);
  b.make_sequence(
      picked(b, s, longer, b.add(last, b.int64(1)), at, [&](OnnxBlock& in, Endpoint i, const OnnxOutside& outside) {
        const Endpoint here = outside(at), before = in.make("Less", {i, here});
        const Endpoint behind = in.select(in.make("Equal", {i, here}), outside(last), in.sub(i, in.int64(1)));
        return in.select(before, i, behind);
      }));
  return {};
}

Endpoints sequence_erase(OnnxBlock& b) {
  OnnxSequence s = b.sequence(0);
  if (is_fixed(b, s, 1)) {
    const size_t n = s.tensors.size();
    if (n == 0) return {b.fail("an empty sequence")};
    const std::optional<size_t> at = sequence_place(b, 1, n - 1, n - 1, n);
    if (!at) return {};
    s.tensors.erase(s.tensors.begin() + static_cast<std::ptrdiff_t>(*at));
    b.make_sequence(std::move(s));
    return {};
  }
  const Endpoint list = onnx_list(b, s, s.type), length = onnx_list_length(b, list);
  const Endpoint left = b.sub(length, b.int64(1)), at = b.has(1) ? list_place(b, 1, length) : left;
  b.make_sequence(picked(b, s, list, left, at, [&](OnnxBlock& in, Endpoint i, const OnnxOutside& outside) {
    return in.add(i, in.cast(in.make("GreaterEqual", {i, outside(at)}), DType::kInt64));
  }));
  return {};
}

Endpoints sequence_at(OnnxBlock& b) {
  const OnnxSequence s = b.sequence(0);
  if (is_fixed(b, s, 1)) {
    if (s.tensors.empty()) return {b.fail("an empty sequence")};
    const std::optional<size_t> at = sequence_place(b, 1, s.tensors.size() - 1, 0, s.tensors.size());
    return {at ? s.tensors[*at] : Endpoint{}};
  }
  const Endpoint list = onnx_list(b, s, s.type);
  return {onnx_list_item(b, list, list_place(b, 1, onnx_list_length(b, list)), s.type, s.element)};
}

Endpoints sequence_length(OnnxBlock& b) {
  const OnnxSequence s = b.sequence(0);
  return {s.is_list() ? onnx_list_length(b, s.list) : b.int64(static_cast<int64_t>(s.tensors.size()))};
}

/// Every element with its dimensions in another order.
Endpoint transposed_list(OnnxBlock& b, Endpoint list, DType type, const Shape& element, const Ints& perm) {
  return onnx_mapped_list(b, onnx_list_length(b, list), type,
                          [&](OnnxBlock& in, Endpoint i, const OnnxOutside& outside) {
                            return in.transpose(onnx_list_item(in, outside(list), i, type, element), perm);
                          });
}

/// Dimension `axis` first, or the first at `axis`.
Ints axis_first(int axis, int rank) {
  Ints perm{axis};
  for (int d = 0; d < rank; ++d) {
    if (d != axis) perm.push_back(d);
  }
  return perm;
}
Ints axis_back(int axis, int rank) {
  Ints perm;
  for (int d = 1; d < rank; ++d) perm.push_back(d);
  perm.insert(perm.begin() + axis, 0);
  return perm;
}

Endpoint concat_of_list(OnnxBlock& b, const OnnxSequence& s, int64_t axis, bool new_axis) {
  const int rank = s.element.rank_known() ? s.element.rank() + (new_axis ? 1 : 0) : 0;
  if (axis != 0 && rank == 0) return b.fail("an axis of tensors whose rank is not known");
  const int own = axis == 0 ? 0 : b.axis(axis, rank);
  const auto type = attr_of(s.type);
  if (b.failed()) return {};
  if (new_axis) {
    const Endpoint all =
        b.make("TensorListStack", {s.list, onnx_element_shape(b, s.element)}, {{"element_dtype", type}});
    return own == 0 ? all : b.transpose(all, axis_back(own, rank));
  }
  const Endpoint list = own == 0 ? s.list : transposed_list(b, s.list, s.type, s.element, axis_first(own, rank));
  const Endpoint all = b.make_many("TensorListConcatV2", {list, b.int32(-1), b.ints({})}, 2,
                                   {{"element_dtype", type}, {"shape_type", attr_of(DType::kInt32)}})[0];
  if (rank > 0 && !b.failed()) b.edit().known().set_shape(all, Shape::unknown_dims(rank));
  return own == 0 ? all : b.transpose(all, axis_back(own, rank));
}

Endpoints concat_from_sequence(OnnxBlock& b) {
  const OnnxSequence s = b.sequence(0);
  const int64_t axis = b.integer("axis", 0);
  const bool new_axis = b.integer("new_axis", 0) != 0;
  if (s.is_list()) return {concat_of_list(b, s, axis, new_axis)};
  if (s.tensors.empty()) return {b.fail("an empty sequence")};
  if (new_axis) return {b.make("Pack", s.tensors, {{"axis", attr_of(axis)}})};
  return {b.concat(s.tensors, axis)};
}

/// Sizes of parts that only the run knows, int64.
Endpoint open_parts(OnnxBlock& b, Endpoint x, int axis) {
  const Endpoint size = b.dim_of(x, axis);
  if (!b.has(1)) return b.make("Fill", {size, b.int64(1)});
  const Endpoint given = b.cast(b.input(1), DType::kInt64);
  if (b.rank(given) > 0) return given;
  const Endpoint all = b.squeeze(size, {0});
  const Endpoint count = b.math("FloorDiv", {b.add(all, b.sub(given, b.int64(1))), given});
  const Endpoint begins = b.mul(b.make("Range", {b.int64(0), count, b.int64(1)}), given);
  return b.math("Minimum", {b.sub(all, begins), given});
}

Endpoints split_to_list(OnnxBlock& b, Endpoint x, int axis) {
  const int rank = b.rank(x);
  const Endpoint turned = b.transpose(x, axis_first(axis, rank));
  OnnxSequence s{.type = b.type(x), .element = b.shape(x)};
  if (b.failed()) return {};
  if (!b.has(1) && b.integer("keepdims", 1) == 0) {
    const std::span<const int64_t> dims = b.shape(turned).dims().subspan(1);
    s.element = Shape(std::vector<int64_t>(dims.begin(), dims.end()));
    s.list = b.make("TensorListFromTensor", {turned, onnx_element_shape(b, s.element)});
  } else {
    Shape part = b.shape(turned);
    part.dim(0) = s.element.dim(axis) = -1;
    s.list = b.make("TensorListSplit", {turned, onnx_element_shape(b, part), open_parts(b, x, axis)});
    if (axis != 0) s.list = transposed_list(b, s.list, s.type, part, axis_back(axis, rank));
  }
  b.make_sequence(std::move(s));
  return {};
}

Endpoints split_to_sequence(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int axis = b.axis(b.integer("axis", 0), b.rank(x));
  const int64_t size = b.dim(x, axis);
  if (b.failed() || size < 0 || size > kMostParts || (b.has(1) && !b.known(b.input(1))))
    return split_to_list(b, x, axis);
  Ints parts;
  if (!b.has(1)) {
    parts.assign(static_cast<size_t>(size), 1);
  } else if (const Ints given = b.wanted(b.input(1), "sizes"); b.rank(b.input(1)) > 0) {
    parts = given;
  } else if (!given.empty() && given[0] > 0) {
    for (int64_t left = size; left > 0; left -= given[0]) parts.push_back(std::min(left, given[0]));
  }
  int64_t sum = 0, begin = 0;
  for (int64_t p : parts) sum += p;
  if (b.failed() || sum != size) return {b.fail("sizes that do not fit")};
  OnnxSequence s{.type = b.type(x)};
  for (int64_t p : parts) {
    Endpoint part = b.slice(x, axis, begin, begin + p);
    if (!b.has(1) && b.integer("keepdims", 1) == 0) part = b.squeeze(part, {axis});
    s.element = common_element(b, s, part);
    s.tensors.push_back(part);
    begin += p;
  }
  b.make_sequence(std::move(s));
  return {};
}

Endpoints identity(OnnxBlock& b) {
  if (!b.is_sequence(0)) return {b.make("Identity", {b.input(0)})};
  b.make_sequence(b.sequence(0));
  return {};
}

/// An optional value that is there is the value itself.
Endpoints optional_value(OnnxBlock& b) {
  if (b.is_sequence(0)) return b.make_sequence(b.sequence(0)), Endpoints{};
  if (b.has(0)) return {b.input(0)};
  const OnnxAttribute* type = b.attribute("type", OnnxAttributeType::kUndefined);
  if (!type) return {b.fail("neither a value nor a type")};
  const OnnxValueInfo info = read_onnx_type(b.frame().all().w, type->of_type);
  OnnxSequence none{.type = info.type, .element = info.shape};
  if (info.type == DType::kInvalid) return {b.fail("of a type that is not read")};
  none.optional_tensor = info.kind == OnnxValueInfo::Kind::kTensor;
  if (!none.optional_tensor) none.given = b.scalar(DType::kBool, 0);
  b.make_sequence(std::move(none));
  return {};
}

Endpoints optional_get_element(OnnxBlock& b) {
  if (!b.is_sequence(0)) return {b.input(0)};
  OnnxSequence s = b.sequence(0);
  if (!s.optional_tensor) {
    s.given = {};
    b.make_sequence(std::move(s));
    return {};
  }
  if (!s.is_list()) return {s.tensors.empty() ? b.fail("an optional value that is not there") : s.tensors[0]};
  return {onnx_list_item(b, s.list, b.int32(0), s.type, s.element)};
}

Endpoints optional_has_element(OnnxBlock& b) {
  if (!b.is_sequence(0)) return {b.scalar(DType::kBool, b.has(0))};
  const OnnxSequence s = b.sequence(0);
  if (s.optional_tensor && s.is_list()) return {b.make("Greater", {onnx_list_length(b, s.list), b.int64(0)})};
  if (s.optional_tensor) return {b.scalar(DType::kBool, !s.tensors.empty())};
  return {s.given.node == kNoNode ? b.scalar(DType::kBool, 1) : s.given};
}

constexpr OnnxOp kSequenceOps[] = {
    {"ConcatFromSequence", 11, concat_from_sequence},
    {"Identity", 1, identity, true},
    {"Optional", 15, optional_value},
    {"OptionalGetElement", 15, optional_get_element},
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
