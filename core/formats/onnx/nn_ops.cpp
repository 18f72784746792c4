// Part of core/formats/onnx/op_table.h: convolutions, products, dropout and losses.
#include <algorithm>
#include <numeric>

#include "core/base/cat.h"
#include "core/formats/onnx/byte_products.h"
#include "core/formats/onnx/layout.h"
#include "core/formats/onnx/products.h"

namespace emplace {
namespace {

// Each is a node or more.
constexpr int64_t kMostGroups = 65536, kMostDepths = 4096;

/// [N,H,W,C] by [M,C/group,h,w].
Endpoint conv_with_channels_last(OnnxBlock& b, Endpoint x, Endpoint filter, const OnnxWindow& w, int64_t group) {
  const int64_t in = b.dim(x, 3), per_group = b.dim(filter, 1), out = b.dim(filter, 0);
  const Endpoint turned = b.transpose(filter, {2, 3, 1, 0});
  if (group > 1 && per_group == 1 && in == group && out > 0 && w.strides[0] == w.strides[1]) {
    const Endpoint each = b.reshape(turned, {w.kernel[0], w.kernel[1], in, out / in});
    return b.math("DepthwiseConv2dNative", {x, each}, conv_attrs(w));
  }
  return b.math("Conv2D", {x, turned}, conv_attrs(w));
}

/// [N,C,H,W] by [M,C/group,h,w].
Endpoint conv_2d(OnnxBlock& b, Endpoint x, Endpoint filter, const OnnxWindow& w, int64_t group, Endpoint bias = {}) {
  Endpoint y = conv_with_channels_last(b, channels_last(b, x), filter, w, group);
  if (bias.node != kNoNode) y = is_floating(b.type(y)) ? b.math("BiasAdd", {y, bias}) : b.add(y, bias);
  return channels_first(b, y);
}

/// Depth by depth of the filter: images of all depths of x at once.
Endpoint conv_3d(OnnxBlock& b, Endpoint x, Endpoint filter, const OnnxWindow& w, int64_t group) {
  if (w.kernel[0] > kMostDepths) return b.fail(cat("a filter of more than ", kMostDepths, " depths"));
  OnnxWindow depth = w;
  for (size_t i = 1; i < 3; ++i) depth.before[i] = depth.after[i] = 0;
  const Endpoint padded = with_border(b, x, depth, 0);
  Endpoint sum;
  const OnnxWindow image = flat_window(w);
  for (int64_t k = 0; k < w.kernel[0] && !b.failed(); ++k) {
    const Endpoint cells = b.transpose(window_cells(b, padded, w, 0, k), {0, 2, 1, 3, 4});
    const Endpoint images = b.reshape(cells, {-1, b.dim(x, 1), b.dim(x, 3), b.dim(x, 4)});
    const Endpoint part = conv_2d(b, images, b.squeeze(b.slice(filter, 2, k, k + 1), {2}), image, group);
    sum = k == 0 ? part : b.add(sum, part);
    if (k + 1 < w.kernel[0]) continue;
    sum = b.reshape(sum, {-1, b.dim(cells, 1), b.dim(sum, 1), b.dim(sum, 2), b.dim(sum, 3)});
  }
  return b.transpose(sum, {0, 2, 1, 3, 4});
}

Ints filter_sizes(OnnxBlock& b, Endpoint filter) {
  Ints sizes;
  for (int i = 2; i < b.rank(filter); ++i) sizes.push_back(b.dim(filter, i));
  return sizes;
}

/// Filters of [M,C/group,...] over C channels: what does not fit, nothing if all does.
std::string groups_that_do_not_fit(OnnxBlock& b, Endpoint x, Endpoint filter, int64_t group) {
  const int64_t in = b.dim(x, 1), out = b.dim(filter, 0), per_group = b.dim(filter, 1);
  if (group < 1 || group > kMostGroups) return cat("group ", group, "; wanted 1 to ", kMostGroups);
  if (out >= 0 && out % group != 0) return cat("group ", group, " of ", out, " filters");
  if (in < 0 || per_group < 0 || (in % group == 0 && in / group == per_group)) return {};
  return cat("filters of ", per_group, " channels and group ", group, " over ", in, " channels");
}

Endpoint biased(OnnxBlock& b, Endpoint y, Endpoint bias) {
  return bias.node == kNoNode ? y : b.add(y, b.per_channel(bias, b.rank(y)));
}

Endpoints conv(OnnxBlock& b) {
  const Endpoint x = b.input(0), filter = b.input(1);
  // Behind branches of different ranks; the op itself tells in the run where it is another.
  if (!b.failed() && !b.shape(x).rank_known()) b.edit().known().set_shape(x, Shape::unknown_dims(b.rank(filter)));
  const std::optional<OnnxWindow> w = onnx_window(b, x, filter_sizes(b, filter));
  const Endpoint bias = b.input_or(2, {});
  if (!w) return {Endpoint{}};
  const Endpoint y = onnx_convolution(b, x, filter, *w, b.integer("group", 1), bias);
  note_byte_convolution(b, y, x, filter, bias, *w, b.integer("group", 1));
  return {y};
}

/// The window of a ConvTranspose: the border is cut off the result. `shape`: that of the result, if it is given.
bool cut_border(OnnxBlock& b, Endpoint x, OnnxWindow& w, const Ints& more) {
  const std::optional<Ints> shape = b.integers("output_shape");
  const std::string automatic = b.text("auto_pad", "NOTSET");
  const size_t n = w.kernel.size();
  if (more.size() != n || (shape && shape->size() < n))
    return b.fail("output_padding or output_shape that do not fit"), false;
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  for (size_t i = 0; i < n && (shape || same); ++i) {
    const int64_t size = b.dim(x, static_cast<int>(i) + 2);
    if (size < 0) return b.fail("a size that is not known"), false;
    const int64_t wanted = shape ? (*shape)[shape->size() - n + i] : size * w.strides[i];
    const int64_t border = (size - 1) * w.strides[i] + more[i] + w.reach(i) - wanted;
    const int64_t half = border / 2;
    w.before[i] = automatic == "SAME_LOWER" ? border - half : half;
    w.after[i] = border - w.before[i];
  }
  return true;
}

/// Of dimension i of the result, before the border is cut off; a vector of one element.
Endpoint transposed_size(OnnxBlock& b, Endpoint x, const OnnxWindow& w, size_t i, int64_t more) {
  const int axis = static_cast<int>(i) + 2;
  const int64_t rest = w.reach(i) + more - w.strides[i];
  if (const int64_t size = b.dim(x, axis); size >= 0) return b.ints32({size * w.strides[i] + rest});
  const Endpoint size = b.cast(b.dim_of(x, axis), DType::kInt32);
  return b.add(b.mul(size, b.int32(w.strides[i])), b.int32(rest));
}

Endpoint transposed_2d(OnnxBlock& b, Endpoint x, Endpoint filter, const OnnxWindow& w, const Ints& more) {
  Endpoints sizes{b.cast(b.dim_of(x, 0), DType::kInt32)};
  for (size_t i = 0; i < 2; ++i) sizes.push_back(transposed_size(b, x, w, i, more[i]));
  sizes.push_back(b.ints32({b.dim(filter, 1)}));
  OnnxWindow whole = w;
  whole.before = whole.after = {0, 0};
  whole.same_upper = false;
  const Endpoints read{b.concat(sizes, 0), b.transpose(filter, {2, 3, 1, 0}), channels_last(b, x)};
  Endpoint y = b.math("Conv2DBackpropInput", read, conv_attrs(whole));
  for (size_t i = 0; i < 2; ++i) {
    const int axis = static_cast<int>(i) + 1;
    if (w.before[i] < 0 || w.after[i] < 0) {
      Ints rows(8, 0);
      rows[2 + 2 * i] = std::max<int64_t>(-w.before[i], 0), rows[3 + 2 * i] = std::max<int64_t>(-w.after[i], 0);
      y = b.make("Pad", {y, b.reshape(b.ints(rows), Ints{4, 2})});
    }
    const int64_t begin = std::max<int64_t>(w.before[i], 0);
    if (begin > 0 || w.after[i] > 0) y = b.slice(y, axis, begin, w.after[i] > 0 ? -w.after[i] : INT64_MAX);
  }
  return channels_first(b, y);
}

/// Filters with zeros between their values, for ops that know no dilation.
Endpoint spread(OnnxBlock& b, Endpoint filter, OnnxWindow& w) {
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    const int64_t step = w.dilations[i];
    if (step == 1) continue;
    const int axis = static_cast<int>(i) + 2;
    Ints rows(2 * static_cast<size_t>(b.rank(filter)) + 2, 0);
    rows[2 * (i + 3) + 1] = step - 1;
    const Endpoint apart = b.make("Pad", {b.expand(filter, axis + 1), b.reshape(b.ints(rows), Ints{-1, 2})});
    Ints dims;
    for (int a = 0; a < b.rank(filter); ++a) dims.push_back(a == axis ? w.kernel[i] * step : b.dim(filter, a));
    const int64_t reach = w.reach(i);
    filter = b.slice(b.reshape(apart, dims), axis, 0, reach);
    w.kernel[i] = reach, w.dilations[i] = 1;
  }
  return filter;
}

/// [N,C,D,H,W]: depth by depth, each shifted to its place.
Endpoint transposed_3d(OnnxBlock& b, Endpoint x, Endpoint filter, const OnnxWindow& w, const Ints& more) {
  const int64_t depth = b.dim(x, 2), whole = (depth - 1) * w.strides[0] + w.kernel[0] + more[0];
  if (depth <= 0 || b.dim(x, 1) < 0 || b.dim(x, 3) < 0 || b.dim(x, 4) < 0) return b.fail("a size that is not known");
  const OnnxWindow image = flat_window(w);
  Endpoint sum;
  for (int64_t k = 0; k < w.kernel[0] && !b.failed(); ++k) {
    const Endpoint images = b.reshape(b.transpose(x, {0, 2, 1, 3, 4}), {-1, b.dim(x, 1), b.dim(x, 3), b.dim(x, 4)});
    Endpoint y = transposed_2d(b, images, b.squeeze(b.slice(filter, 2, k, k + 1), {2}), image, {more[1], more[2]});
    y = b.reshape(y, {-1, depth, 1, b.dim(y, 1), b.dim(y, 2), b.dim(y, 3)});
    Ints rows(12, 0);
    rows[5] = w.strides[0] - 1;
    y = b.make("Pad", {y, b.reshape(b.ints(rows), Ints{6, 2})});
    y = b.reshape(y, {-1, depth * w.strides[0], b.dim(y, 3), b.dim(y, 4), b.dim(y, 5)});
    y = b.slice(y, 1, 0, (depth - 1) * w.strides[0] + 1);
    Ints shift(10, 0);
    shift[2] = k, shift[3] = whole - k - ((depth - 1) * w.strides[0] + 1);
    y = b.make("Pad", {y, b.reshape(b.ints(shift), Ints{5, 2})});
    sum = k == 0 ? y : b.add(sum, y);
  }
  sum = b.transpose(sum, {0, 2, 1, 3, 4});
  return w.before[0] == 0 && w.after[0] == 0 ? sum : b.slice(sum, 2, w.before[0], whole - w.after[0]);
}

Endpoint transposed(OnnxBlock& b, Endpoint x, Endpoint filter, const OnnxWindow& w, const Ints& more) {
  if (w.rank() == 2) return transposed_2d(b, x, filter, w, more);
  if (w.rank() == 3) return transposed_3d(b, x, filter, w, more);
  if (w.rank() != 1) return b.fail(cat("windows of ", w.rank(), " dimensions"));
  return b.squeeze(transposed_2d(b, b.expand(x, 2), b.expand(filter, 2), flat_window(w), {0, more[0]}), {2});
}

Endpoints conv_transpose(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  Endpoint filter = b.input(1);
  std::optional<OnnxWindow> w = onnx_window(b, x, filter_sizes(b, filter));
  if (!w) return {};
  const Ints more = b.integers("output_padding", Ints(w->kernel.size(), 0));
  if (!cut_border(b, x, *w, more)) return {};
  w->same_upper = false;
  filter = spread(b, filter, *w);
  const int64_t group = b.integer("group", 1), channels = b.dim(x, 1);
  if (group < 1 || group > kMostGroups || (group > 1 && (channels < 0 || channels % group != 0)))
    return {b.fail("groups that do not fit")};
  Endpoints parts;
  for (int64_t g = 0; g < group && !b.failed(); ++g) {
    const int64_t each = channels / group;
    parts.push_back(group == 1 ? transposed(b, x, filter, *w, more)
                               : transposed(b, b.slice(x, 1, g * each, (g + 1) * each),
                                            b.slice(filter, 0, g * each, (g + 1) * each), *w, more));
  }
  return {biased(b, b.concat(parts, 1), b.input_or(2, {}))};
}

Endpoints mat_mul(OnnxBlock& b) {
  const Endpoint y = onnx_product(b, b.input(0), b.input(1));
  note_byte_product(b, y, b.input(0), b.input(1));
  return {y};
}

Endpoints gemm(OnnxBlock& b) {
  const Endpoint x = b.input(0), y = b.input(1);
  Endpoint out = b.math(
      "MatMul", {x, y},
      {{"transpose_a", attr_of(b.integer("transA", 0) != 0)}, {"transpose_b", attr_of(b.integer("transB", 0) != 0)}});
  const float alpha = b.number("alpha", 1), beta = b.number("beta", 1);
  if (alpha != 1) out = b.mul(out, b.like(out, alpha));
  const Endpoint c = b.has(2) && beta != 0 ? b.input(2) : Endpoint{};
  if (c.node != kNoNode) out = b.add(out, beta == 1 ? c : b.mul(c, b.like(c, beta)));
  if (alpha == 1 && (beta == 1 || c.node == kNoNode) && b.integer("transA", 0) == 0)
    note_byte_product(b, out, x, y, c, b.integer("transB", 0) != 0);
  return {out};
}

/// Without "->" the result has the labels that stand once, in their order.
Endpoints einsum(OnnxBlock& b) {
  std::string equation = b.text("equation", "");
  std::erase(equation, ' ');
  if (equation.find("->") == std::string::npos) {
    std::string out = equation.find("...") == std::string::npos ? "" : "...";
    for (char c = 'A'; c <= 'z'; ++c) {
      if (std::isalpha(static_cast<unsigned char>(c)) && std::count(equation.begin(), equation.end(), c) == 1) out += c;
    }
    equation += "->" + out;
  }
  return {b.math("Einsum", b.inputs(), {{"equation", attr_of(equation)}})};
}

/// In training what a random number below the ratio falls on is dropped.
Endpoints dropout(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const Tensor* off = b.version() >= 12 && b.has(2) ? b.value(b.input(2)) : nullptr;
  const bool training = b.version() >= 12 && b.has(2) && !(off && off->num_elements() == 1 && !*off->data<bool>());
  if (!training) {
    const Endpoint one = b.wants(1) ? b.scalar(b.version() < 10 ? b.type(x) : DType::kBool, 1) : Endpoint{};
    return b.wants(1) ? Endpoints{x, b.make("Fill", {b.shape_of(x), one})} : Endpoints{x};
  }
  const Endpoint ratio = b.has(1) ? b.cast(b.reshape(b.input(1), Ints{}), DType::kFloat) : b.scalar(DType::kFloat, 0.5);
  const Endpoint random = b.make("RandomUniform", {b.shape_of(x)},
                                 {{"dtype", attr_of(DType::kFloat)}, {"seed", attr_of(b.integer("seed", 0))}});
  const Endpoint idle = b.make("LogicalNot", {b.reshape(b.input(2), Ints{})});
  const Endpoint mask = b.make("LogicalOr", {b.make("GreaterEqual", {random, ratio}), idle});
  const Endpoint one = b.scalar(DType::kFloat, 1);
  const Endpoint scale = b.select(idle, one, b.div(one, b.sub(one, ratio)));
  return {b.select(mask, b.mul(x, b.cast(scale, b.type(x))), b.like(x, 0)), mask};
}

/// -w[t] x[t] of each place, and w[t]; places of the class that is ignored weigh nothing.
Endpoint class_loss(OnnxBlock& b, Endpoint x, Endpoint target, Endpoint weights) {
  const std::string reduction = b.text("reduction", "mean");
  const int rank = b.rank(x);
  const bool ignores = b.has_attribute("ignore_index");
  const Endpoint counted =
      ignores ? b.make("NotEqual", {target, b.like(target, static_cast<double>(b.integer("ignore_index", 0)))})
              : Endpoint{};
  if (ignores) target = b.select(counted, target, b.like(target, 0));
  const int64_t classes = b.dim(x, 1);
  if (classes < 0) return b.fail("classes of a number that is not known");
  const Endpoint hot = b.make("OneHot", {target, b.int32(classes), b.like(x, 1), b.like(x, 0)},
                              {{"axis", attr_of(int64_t{rank == 2 ? -1 : 1})}});
  const Endpoint chosen = b.make("SelectV2", {b.make("Equal", {hot, b.like(x, 1)}), x, b.like(x, 0)});
  Endpoint loss = b.math("Neg", {b.reduce("Sum", chosen, {1}, false)});
  Endpoint weight;
  if (weights.node != kNoNode) weight = b.make("GatherV2", {weights, target, b.int32(0)});
  if (ignores) {
    const Endpoint one = weight.node == kNoNode ? b.like(x, 1) : weight;
    weight = b.select(counted, one, b.like(x, 0));
  }
  if (weight.node != kNoNode) loss = b.mul(loss, weight);
  if (reduction == "none") return loss;
  Ints all(static_cast<size_t>(std::max(rank - 1, 0)));
  std::iota(all.begin(), all.end(), 0);
  if (reduction == "sum") return b.reduce("Sum", loss, all, false);
  if (weight.node == kNoNode) return b.reduce("Mean", loss, all, false);
  return b.div(b.reduce("Sum", loss, all, false), b.reduce("Sum", weight, all, false));
}

Endpoints negative_log_likelihood(OnnxBlock& b) {
  return {class_loss(b, b.input(0), b.input(1), b.has(2) ? b.input(2) : Endpoint{})};
}

Endpoints softmax_cross_entropy(OnnxBlock& b) {
  Endpoint x = b.input(0);
  const int rank = b.rank(x);
  Ints perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (rank < 2) return {b.fail("scores without classes")};
  std::swap(perm[1], perm.back());
  const Endpoint logs = b.transpose(b.math("LogSoftmax", {b.transpose(x, perm)}), perm);
  return {class_loss(b, logs, b.input(1), b.has(2) ? b.input(2) : Endpoint{}), logs};
}

constexpr OnnxOp kNnOps[] = {
    {"Conv", 1, conv},
    {"ConvTranspose", 1, conv_transpose},
    {"Dropout", 1, dropout},
    {"Einsum", 12, einsum},
    {"Gemm", 1, gemm},
    {"MatMul", 1, mat_mul},
    {"NegativeLogLikelihoodLoss", 12, negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy},
};

}  // namespace

OnnxWindow flat_window(const OnnxWindow& w) {
  OnnxWindow out = w;
  for (Ints* v : {&out.kernel, &out.strides, &out.dilations}) {
    if (v->size() == 1) v->insert(v->begin(), 1);
    v->erase(v->begin(), v->end() - 2);
  }
  for (Ints* v : {&out.before, &out.after, &out.extra}) {
    if (v->size() == 1) v->insert(v->begin(), 0);
    v->erase(v->begin(), v->end() - 2);
  }
  return out;
}

OnnxAttrs conv_attrs(const OnnxWindow& w) {
  const bool plain = !w.padded();
  OnnxAttrs attrs{{"strides", attr_of(of_image(w.strides, true))},
                  {"dilations", attr_of(of_image(w.dilations, true))},
                  {"data_format", attr_of("NHWC")}};
  if (w.same_upper) {
    attrs.add("padding", attr_of("SAME"));
  } else {
    attrs.add("padding", attr_of(plain ? "VALID" : "EXPLICIT"));
    if (!plain)
      attrs.add("explicit_paddings", attr_of(Ints{0, 0, w.before[0], w.after[0], w.before[1], w.after[1], 0, 0}));
  }
  return attrs;
}

bool onnx_convolution_fits(OnnxBlock& b, Endpoint x, Endpoint filter, const OnnxWindow& w, int64_t group) {
  if (std::string found = groups_that_do_not_fit(b, x, filter, group); !found.empty())
    return b.fail(std::move(found)), false;
  const Ints sizes = filter_sizes(b, filter);
  for (size_t i = 0; i < sizes.size() && i < w.kernel.size(); ++i) {
    if (sizes[i] >= 0 && sizes[i] != w.kernel[i])
      return b.fail(cat("kernel_shape ", w.kernel[i], " of a filter of size ", sizes[i])), false;
  }
  return true;
}

Endpoint onnx_convolution(OnnxBlock& b, Endpoint x, Endpoint filter, const OnnxWindow& w, int64_t group,
                          Endpoint bias) {
  if (!onnx_convolution_fits(b, x, filter, w, group)) return {};
  if (w.rank() == 2) return conv_2d(b, x, filter, w, group, bias);
  if (w.rank() == 3) return biased(b, conv_3d(b, x, filter, w, group), bias);
  if (w.rank() != 1) return b.fail(cat("windows of ", w.rank(), " dimensions"));
  return b.squeeze(conv_2d(b, b.expand(x, 2), b.expand(filter, 2), flat_window(w), group, bias), {2});
}

Endpoint onnx_product(OnnxBlock& b, Endpoint x, Endpoint y) {
  const int rx = b.rank(x), ry = b.rank(y);
  if (rx == 2 && ry == 2) return b.math("MatMul", {x, y});
  if (rx == 0 || ry == 0) return b.fail("a scalar");
  if (rx == 1) x = b.expand(x, 0);
  if (ry == 1) y = b.expand(y, 1);
  Endpoint out = b.math(rx <= 2 && ry <= 2 ? "MatMul" : "BatchMatMulV2", {x, y});
  const int rank = std::max({rx, ry, 2});
  Ints gone;
  if (rx == 1) gone.push_back(rank - 2);
  if (ry == 1) gone.push_back(rank - 1);
  return b.squeeze(out, gone);
}

std::span<const OnnxOp> onnx_nn_ops() { return kNnOps; }

}  // namespace emplace
