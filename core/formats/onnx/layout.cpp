#include "core/formats/onnx/layout.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr int kImageRank = 4;

bool is_image(OnnxBlock& b, Endpoint e) {
  return e.node != kNoNode && b.shape(e).rank_known() && b.shape(e).rank() == kImageRank;
}

/// One element, which fits to a tensor of any layout.
bool is_single(OnnxBlock& b, Endpoint e) {
  const Shape& s = b.shape(e);
  if (!s.fully_known() || s.rank() > kImageRank) return false;
  return std::all_of(s.dims().begin(), s.dims().end(), [](int64_t d) { return d == 1; });
}

bool is_small_constant(OnnxBlock& b, Endpoint e) {
  return b.edit().graph().traits(e.node).constant && b.shape(e).rank_known() && b.shape(e).rank() < kImageRank;
}

bool fits_to_images(OnnxBlock& b, Endpoint e) { return is_single(b, e) || is_image(b, e) || is_small_constant(b, e); }

/// What is read beside an image, in the order of its dimensions. REQUIRES: it fits.
Endpoint beside_images(OnnxBlock& b, Endpoint e) {
  if (is_single(b, e)) return e;
  if (is_image(b, e)) return channels_last(b, e);
  const Tensor* value = b.value(e);
  Ints dims(static_cast<size_t>(kImageRank - value->shape().rank()), 1);
  dims.insert(dims.end(), value->shape().dims().begin(), value->shape().dims().end());
  return channels_last(b, b.constant(value->reshaped(Shape(dims))));
}

/// By a constant that all blocks share.
Endpoint turned_by(OnnxBlock& b, Endpoint e, Endpoint& shared, const Ints& order) {
  if (b.edit().graph().traits(e.node).constant) return b.transpose(e, order);
  if (shared.node == kNoNode) shared = b.ints32(order);
  return b.make("Transpose", {e, shared});
}

}  // namespace

Endpoint channels_last(OnnxBlock& b, Endpoint x) {
  if (b.failed() || x.node == kNoNode) return {};
  OnnxLayouts& layouts = b.frame().body().layouts();
  Endpoint& turned = layouts.last[{x.node, x.slot}];
  if (turned.node == kNoNode) turned = turned_by(b, x, layouts.to_last, {0, 2, 3, 1});
  return turned;
}

Endpoint channels_first(OnnxBlock& b, Endpoint y) {
  if (b.failed() || y.node == kNoNode) return {};
  OnnxLayouts& layouts = b.frame().body().layouts();
  const Endpoint x = turned_by(b, y, layouts.to_first, {0, 3, 1, 2});
  if (x.node != kNoNode) layouts.turned.insert({x.node, x.slot});
  return x;
}

bool is_turned(OnnxBlock& b, Endpoint x) { return b.frame().body().layouts().turned.contains({x.node, x.slot}); }

int axis_with_channels_last(int axis) { return axis == 1 ? 3 : axis > 1 ? axis - 1 : axis; }

Ints of_image(const Ints& height_width, bool last, int64_t other) {
  return last ? Ints{other, height_width[0], height_width[1], other}
              : Ints{other, other, height_width[0], height_width[1]};
}

std::optional<Endpoints> translate_channels_last(OnnxBlock& b, const OnnxOp& op) {
  const OnnxNode& node = b.node();
  if (node.domain.empty() && b.version() < 7) return std::nullopt;  // attributes said how shapes fit
  Endpoints read;
  for (size_t i = 0; i < b.num_inputs(); ++i) read.push_back(b.has(i) ? b.input(i) : Endpoint{});
  if (b.failed()) return std::nullopt;
  const auto fits = [&](Endpoint e) { return e.node == kNoNode || fits_to_images(b, e); };
  if (std::none_of(read.begin(), read.end(), [&](Endpoint e) { return is_turned(b, e); }) ||
      !std::all_of(read.begin(), read.end(), fits))
    return std::nullopt;
  const auto single = [&](Endpoint e) { return e.node == kNoNode || is_single(b, e); };
  if (op.with_singles && !std::all_of(read.begin() + 1, read.end(), single)) return std::nullopt;
  OnnxFrame inner(b.frame().all(), b.frame().body(), nullptr, b.frame().prefix());
  for (size_t i = 0; i < read.size(); ++i) {
    if (b.has(i)) inner.bind(node.inputs[i], beside_images(b, read[i]));
  }
  OnnxBlock block(inner, node, b.opsets(), b.prefix());
  Endpoints made = op.translate(block);
  if (block.failed()) b.stop();
  for (Endpoint& e : made) e = channels_first(b, e);
  return made;
}

}  // namespace emplace
