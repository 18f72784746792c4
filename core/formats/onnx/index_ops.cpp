// Part of core/formats/onnx/op_table.h: gather, scatter, selection by value, and tensors made of positions.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/tensor.h"
#include "core/tensor/tensor.h"

namespace emplace {
namespace {

/// Indices count from the end where they are negative; `size` is a scalar or vector of their type.
Endpoint from_start(OnnxBlock& b, Endpoint indices, Endpoint size) {
  if (const std::optional<Ints> known = b.known(indices)) {
    if (std::none_of(known->begin(), known->end(), [](int64_t i) { return i < 0; })) return indices;
  }
  const Endpoint negative = b.make("Less", {indices, b.like(indices, 0)});
  return b.select(negative, b.make("AddV2", {indices, size}), indices);
}

Endpoint scalar_dim(OnnxBlock& b, Endpoint x, int axis, DType type) {
  if (const int64_t known = b.dim(x, axis); known >= 0) return b.scalar(type, static_cast<double>(known));
  return b.cast(b.squeeze(b.dim_of(x, axis), {0}), type);
}

Endpoints gather(OnnxBlock& b) {
  const Endpoint x = b.input(0), indices = b.input(1);
  const int axis = b.axis(b.integer("axis", 0), b.rank(x));
  return {b.make("GatherV2", {x, from_start(b, indices, scalar_dim(b, x, axis, b.type(indices))), b.int32(axis)})};
}

Endpoints gather_nd(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  Endpoint indices = b.input(1);
  const auto batch = static_cast<int>(std::clamp<int64_t>(b.integer("batch_dims", 0), 0, kMaxRank));
  const int64_t depth = b.dim(indices, b.rank(indices) - 1);
  if (depth < 0) return {b.fail("indices of a number that is not known")};
  indices = from_start(b, indices, b.slice(b.shape_of(x), 0, batch, batch + depth));
  if (batch == 0) return {b.make("GatherNd", {x, indices})};
  // Positions in the batch stand before the others.
  Endpoints parts;
  const int rank = b.rank(indices);
  const Endpoint like = b.slice(indices, rank - 1, 0, 1);
  for (int i = 0; i < batch; ++i) {
    Ints dims(static_cast<size_t>(rank), 1);
    if (b.failed()) return {};
    dims[static_cast<size_t>(std::min(i, rank - 1))] = -1;
    const Endpoint row = b.make("Range", {b.int64(0), scalar_dim(b, x, i, DType::kInt64), b.int64(1)});
    parts.push_back(b.broadcast(b.reshape(row, dims), b.shape_of(like)));
  }
  parts.push_back(indices);
  return {b.make("GatherNd", {x, b.concat(parts, rank - 1)})};
}

/// For each element of `indices` its place in x: its own, but along `axis`, where the index says it. [..., rank].
Endpoint places_along(OnnxBlock& b, Endpoint x, Endpoint indices, int axis) {
  const int rank = b.rank(indices);
  indices = b.cast(from_start(b, indices, scalar_dim(b, x, axis, b.type(indices))), DType::kInt64);
  Endpoints parts;
  for (int i = 0; i < rank && !b.failed(); ++i) {
    if (i == axis) {
      parts.push_back(indices);
      continue;
    }
    Ints dims(static_cast<size_t>(rank), 1);
    dims[static_cast<size_t>(i)] = -1;
    const Endpoint row = b.make("Range", {b.int64(0), scalar_dim(b, indices, i, DType::kInt64), b.int64(1)});
    parts.push_back(b.broadcast(b.reshape(row, dims), b.shape_of(indices)));
  }
  return parts.size() == 1 ? b.expand(parts[0], -1) : b.make("Pack", parts, {{"axis", attr_of(int64_t{rank})}});
}

Endpoints gather_elements(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int axis = b.axis(b.integer("axis", 0), b.rank(x));
  return {b.make("GatherNd", {x, places_along(b, x, b.input(1), axis)})};
}

/// Updates at tuples: in place of what is there, or together with it. Those of max, min and mul by the segments of
/// x's flat elements.
Endpoint scattered(OnnxBlock& b, Endpoint x, Endpoint places, Endpoint updates, const std::string& how) {
  if (how == "none") return b.math("TensorScatterUpdate", {x, places, updates});
  if (how == "add") return b.math("TensorScatterAdd", {x, places, updates});
  const bool known = how == "max" || how == "min" || how == "mul";
  if (!known) return b.fail(cat("reduction '", how, "'"), "none, add, mul, max or min");
  const DType own = b.type(x);
  // A place for each element, x's own first.
  const Endpoint count = b.make("Size", {x}, {{"out_type", attr_of(DType::kInt64)}});
  const Endpoint numbers = b.reshape_to(b.make("Range", {b.int64(0), count, b.int64(1)}), b.shape_of(x));
  const Endpoint at = b.reshape(b.make("GatherNd", {numbers, places}), Ints{-1});
  const Endpoint all_at = b.concat({b.reshape(numbers, Ints{-1}), at}, 0);
  const Endpoint all = b.concat({b.reshape(x, Ints{-1}), b.reshape(updates, Ints{-1})}, 0);
  const char* op = how == "max" ? "UnsortedSegmentMax" : how == "min" ? "UnsortedSegmentMin" : "UnsortedSegmentProd";
  return b.cast(b.reshape_to(b.math(op, {all, all_at, count}), b.shape_of(x)), own);
}

Endpoints scatter_elements(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int axis = b.axis(b.integer("axis", 0), b.rank(x));
  const Endpoint places = places_along(b, x, b.input(1), axis);
  return {scattered(b, x, places, b.input(2), b.text("reduction", "none"))};
}

Endpoints scatter_nd(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  Endpoint places = b.input(1);
  const int64_t depth = b.dim(places, b.rank(places) - 1);
  if (depth < 0) return {b.fail("indices of a number that is not known")};
  places = from_start(b, places, b.slice(b.shape_of(x), 0, 0, depth));
  return {scattered(b, x, places, b.input(2), b.text("reduction", "none"))};
}

Endpoints non_zero(OnnxBlock& b) {
  Endpoint x = b.input(0);
  if (b.rank(x) == 0) x = b.reshape(x, Ints{1});
  return {b.transpose(b.make("Where", {x}), {1, 0})};
}

/// As int32, which TensorFlow's ops count in. What is too large for that stays so, and what is negative.
Endpoint as_count(OnnxBlock& b, Endpoint n) {
  n = b.make("Minimum", {b.cast(n, DType::kInt64), b.int64(INT32_MAX)});
  return b.cast(b.make("Maximum", {n, b.int64(-1)}), DType::kInt32);
}

/// Off the end in both directions is nothing.
Endpoints one_hot(OnnxBlock& b) {
  Endpoint indices = b.input(0), depth = b.input(1);
  const Endpoint values = b.input(2);
  if (b.rank(depth) > 0) depth = b.reshape(depth, Ints{});
  if (const int64_t n = b.dim(values, 0); b.rank(values) != 1 || (n >= 0 && n != 2))
    return {b.fail(cat("values of shape ", b.shape(values).to_string(), "; wanted two: off and on"))};
  depth = b.cast(depth, DType::kInt64);
  if (const std::optional<Ints> n = b.known(depth); n && !n->empty() && ((*n)[0] < 1 || (*n)[0] > INT32_MAX))
    return {b.fail(cat("a depth of ", (*n)[0], "; wanted 1 to ", INT32_MAX))};
  indices = b.cast(indices, DType::kInt64);
  indices = from_start(b, indices, depth);
  const int64_t axis = b.integer("axis", -1);
  const int rank = b.rank(indices) + 1;
  const Endpoint on = b.squeeze(b.slice(values, 0, 1, 2), {0}), off = b.squeeze(b.slice(values, 0, 0, 1), {0});
  const int at = b.axis(axis, rank);
  return {
      b.make("OneHot", {indices, as_count(b, depth), on, off}, {{"axis", attr_of(int64_t{at == rank - 1 ? -1 : at})}})};
}

Endpoints range(OnnxBlock& b) {
  const DType own = b.type(b.input(0));
  const DType used = own == DType::kInt16 ? DType::kInt32 : own;
  return {b.cast(b.make("Range", {b.cast(b.input(0), used), b.cast(b.input(1), used), b.cast(b.input(2), used)}), own)};
}

Endpoints top_k(OnnxBlock& b) {
  Endpoint x = b.input(0);
  const int rank = b.rank(x), axis = b.axis(b.integer("axis", -1), rank);
  Endpoint k = b.version() < 10 ? b.int64(b.integer("k", 1)) : b.input(1);
  if (b.rank(k) > 0) k = b.reshape(k, Ints{});
  Ints perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (b.failed()) return {};
  if (const std::optional<Ints> n = b.known(k); n && !n->empty() && ((*n)[0] < 0 || (*n)[0] > INT32_MAX))
    return {b.fail(cat("k is ", (*n)[0], "; wanted at most the ", b.dim(x, axis), " there are"))};
  k = as_count(b, k);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  x = b.transpose(x, perm);
  const DType own = b.type(x);
  const bool smallest = b.integer("largest", 1) == 0;
  // Turned around, the order of all types is kept, and the first of equals stays the first.
  const auto turned = [&](Endpoint e) {
    return is_floating(own) ? b.math("Neg", {e}) : b.math("Sub", {b.like(e, -1), e});
  };
  Endpoints found = b.make_many("TopKV2", {smallest ? turned(x) : x, k}, 2, {{"index_type", attr_of(DType::kInt64)}});
  if (smallest) found[0] = turned(found[0]);
  return {b.transpose(found[0], perm), b.transpose(found[1], perm)};
}

Endpoints trilu(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const bool upper = b.integer("upper", 1) != 0;
  const Endpoint k = b.has(1) ? b.reshape(b.input(1), Ints{}) : b.int64(0);
  const int rank = b.rank(x);
  if (rank < 2) return {b.fail("wanted a matrix")};
  // Rows and columns by number: element [i,j] stays where j - i is at most, or at least, k.
  const auto line = [&](int axis) {
    return b.make("Range", {b.int64(0), scalar_dim(b, x, axis, DType::kInt64), b.int64(1)});
  };
  const Endpoint distance = b.sub(line(rank - 1), b.expand(line(rank - 2), 1));
  const Endpoint keeps = b.make(upper ? "GreaterEqual" : "LessEqual", {distance, k});
  return {b.select(keeps, x, b.like(x, 0))};
}

Endpoints eye_like(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const std::optional<DType> stated = onnx_dtype(b.integer("dtype", 0));
  const DType type = stated ? *stated : b.type(x);
  const auto line = [&](int axis) {
    return b.make("Range", {b.int64(0), scalar_dim(b, x, axis, DType::kInt64), b.int64(1)});
  };
  if (b.rank(x) != 2) return {b.fail("wanted a matrix")};
  const Endpoint distance = b.sub(line(1), b.expand(line(0), 1));
  return {b.cast(b.make("Equal", {distance, b.int64(b.integer("k", 0))}), type)};
}

Endpoints reverse_sequence(OnnxBlock& b) {
  return {
      b.make("ReverseSequence", {b.input(0), b.input(1)},
             {{"batch_dim", attr_of(b.integer("batch_axis", 1))}, {"seq_dim", attr_of(b.integer("time_axis", 0))}})};
}

/// The slices whose condition holds; conditions that are missing do not.
Endpoints compress(OnnxBlock& b) {
  Endpoint x = b.input(0);
  int axis = 0;
  if (b.has_attribute("axis")) {
    axis = b.axis(b.integer("axis", 0), b.rank(x));
  } else {
    x = b.reshape(x, Ints{-1});
  }
  const Endpoint at = b.squeeze(b.make("Where", {b.input(1)}), {1});
  return {b.make("GatherV2", {x, at, b.int32(axis)})};
}

/// A cache with updates behind what is there, at a place for each of the batch; a full ring begins again.
Endpoints tensor_scatter(OnnxBlock& b) {
  const Endpoint past = b.input(0), update = b.input(1);
  const int rank = b.rank(update), axis = b.axis(b.integer("axis", -2), rank);
  const bool ring = b.text("mode", "linear") == "circular";
  Endpoints parts;
  for (int i = 0; i < rank && !b.failed(); ++i) {
    Ints dims(static_cast<size_t>(rank), 1);
    dims[static_cast<size_t>(i)] = -1;
    const Endpoint count = scalar_dim(b, update, i, DType::kInt64);
    Endpoint line = b.reshape(b.make("Range", {b.int64(0), count, b.int64(1)}), dims);
    if (i == axis && b.has(2)) {
      Ints of_batch(static_cast<size_t>(rank), 1);
      of_batch[0] = -1;
      line = b.add(line, b.reshape(b.cast(b.input(2), DType::kInt64), of_batch));
    }
    if (i == axis && ring) line = b.make("FloorMod", {line, scalar_dim(b, past, axis, DType::kInt64)});
    parts.push_back(b.broadcast(line, b.shape_of(update)));
  }
  const Endpoint places = b.make("Pack", parts, {{"axis", attr_of(int64_t{rank})}});
  return {b.math("TensorScatterUpdate", {past, places, update})};
}

/// Positions of boxes by class and batch, [batch, class, box], the best first; TensorFlow's op box list by box list.
Endpoints non_max_suppression(OnnxBlock& b) {
  Endpoint boxes = b.input(0);
  const Endpoint scores = b.input(1);
  const int64_t batches = b.dim(scores, 0), classes = b.dim(scores, 1);
  if (batches < 0 || classes < 0 || batches > 4096 || classes > 4096)
    return {b.fail("batches or classes of a number that is not known")};
  const auto scalar = [&](size_t i, DType type, Endpoint otherwise) {
    return b.has(i) ? b.cast(b.reshape(b.input(i), Ints{}), type) : otherwise;
  };
  // "All of them" is often written as the largest number of 64 bits.
  const Endpoint given = scalar(2, DType::kInt64, b.int64(0));
  const Endpoint most =
      b.cast(b.make("Minimum", {b.make("Maximum", {given, b.int64(0)}), b.int64(INT32_MAX)}), DType::kInt32);
  const Endpoint overlap = scalar(3, DType::kFloat, b.scalar(DType::kFloat, 0));
  const Endpoint least = scalar(4, DType::kFloat, b.scalar(DType::kFloat, -std::numeric_limits<float>::infinity()));
  if (b.integer("center_point_box", 0) != 0) {
    const Endpoint centre = b.slice(boxes, 2, 0, 2), half = b.mul(b.slice(boxes, 2, 2, 4), b.like(boxes, 0.5));
    boxes = b.concat({b.sub(centre, half), b.add(centre, half)}, 2);
  }
  Endpoints found;
  for (int64_t n = 0; n < batches && !b.failed(); ++n) {
    const Endpoint own = b.squeeze(b.slice(boxes, 0, n, n + 1), {0});
    for (int64_t c = 0; c < classes && !b.failed(); ++c) {
      const Endpoint score = b.squeeze(b.slice(b.slice(scores, 0, n, n + 1), 1, c, c + 1), {0, 1});
      Endpoint at = b.make("NonMaxSuppressionV3", {own, score, most, overlap, least});
      at = b.expand(b.cast(at, DType::kInt64), 1);
      const Endpoint place = b.broadcast(b.ints({n, c}), b.concat({b.dim_of(at, 0), b.ints({2})}, 0));
      found.push_back(b.concat({place, at}, 1));
    }
  }
  if (found.empty()) return {b.constant(allocated(DType::kInt64, Shape{0, 3}))};
  return {b.concat(found, 0)};
}

constexpr OnnxOp kIndexOps[] = {
    {"Compress", 9, compress},
    {"EyeLike", 9, eye_like},
    {"Gather", 1, gather},
    {"GatherElements", 11, gather_elements},
    {"GatherND", 11, gather_nd},
    {"NonMaxSuppression", 10, non_max_suppression},
    {"NonZero", 9, non_zero},
    {"OneHot", 9, one_hot},
    {"Range", 11, range},
    {"ReverseSequence", 10, reverse_sequence},
    {"Scatter", 9, scatter_elements},
    {"ScatterElements", 11, scatter_elements},
    {"ScatterND", 11, scatter_nd},
    {"TensorScatter", 24, tensor_scatter},
    {"TopK", 1, top_k},
    {"Trilu", 14, trilu},
};

}  // namespace

std::span<const OnnxOp> onnx_index_ops() { return kIndexOps; }

}  // namespace emplace
