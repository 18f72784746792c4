#include "core/formats/onnx/byte_moves.h"

#include <algorithm>
#include <cstring>

#include "core/formats/onnx/layout.h"

namespace emplace {
namespace {

// Between these (byte - zero) * scale / scale is the byte, and the order of bytes is that of their reals.
constexpr float kLeastScale = 1e-30F, kMostScale = 1e30F;

bool same_constants(OnnxBlock& b, Endpoint x, Endpoint y) {
  if (x == y) return true;
  if (x.node == kNoNode || y.node == kNoNode) return false;
  const Tensor *left = b.value(x), *right = b.value(y);
  return left && right && left->dtype() == right->dtype() && left->num_elements() == 1 && right->num_elements() == 1 &&
         std::memcmp(left->raw(), right->raw(), dtype_size(left->dtype())) == 0;
}

}  // namespace

const OnnxByteView* movable_bytes(OnnxBlock& b, Endpoint x) {
  if (b.failed() || x.node == kNoNode) return nullptr;
  const OnnxByteView* view = b.frame().body().byte_views().find(x);
  if (!view || view->axis >= 0) return nullptr;
  const DType type = b.type(view->bytes);
  const Tensor* scale = b.value(view->scale);
  if ((type != DType::kInt8 && type != DType::kUInt8) || !scale || scale->dtype() != DType::kFloat) return nullptr;
  const float s = scale->num_elements() == 1 ? scale->data<float>()[0] : 0;
  return s >= kLeastScale && s <= kMostScale ? view : nullptr;
}

Endpoint reals_of(OnnxBlock& b, const OnnxByteView& view) {
  if (b.failed() || view.bytes.node == kNoNode) return {};
  const auto single = [&](Endpoint e) {
    const Endpoint real = b.cast(e, DType::kFloat);
    return b.rank(real) == 0 ? real : b.reshape(real, Ints{});
  };
  const bool turned = is_turned(b, view.bytes);
  Endpoint y = b.cast(turned ? channels_last(b, view.bytes) : view.bytes, DType::kFloat);
  if (view.zero.node != kNoNode) y = b.sub(y, single(view.zero));
  y = b.mul(y, single(view.scale));
  if (turned) y = channels_first(b, y);
  if (!b.failed()) b.frame().body().byte_views().reals[{y.node, y.slot}] = view;
  return y;
}

std::optional<Endpoints> translate_as_bytes(OnnxBlock& b, const OnnxOp& op) {
  const OnnxNode& node = b.node();
  if (!op.moves || !b.has(0) || std::count(node.inputs.begin(), node.inputs.end(), node.inputs[0]) > 1)
    return std::nullopt;
  const OnnxByteView* found = movable_bytes(b, b.input(0));
  if (!found) return std::nullopt;
  const OnnxByteView view = *found;
  OnnxFrame inner(b.frame().all(), b.frame().body(), nullptr, b.frame().prefix());
  for (size_t i = 0; i < b.num_inputs(); ++i) {
    if (b.has(i)) inner.bind(node.inputs[i], i == 0 ? view.bytes : b.input(i));
  }
  if (b.failed()) return Endpoints();
  OnnxBlock block(inner, node, b.opsets(), b.prefix());
  Endpoints made = op.translate(block);
  if (block.failed()) b.stop();
  for (Endpoint& e : made) {
    const bool moved = !b.failed() && e.node != kNoNode && b.type(e) == b.type(view.bytes);  // else it is where from
    if (moved) e = reals_of(b, {e, view.scale, view.zero});
  }
  return made;
}

std::optional<Endpoint> same_bytes(OnnxBlock& b, Endpoint reals, Endpoint scale, Endpoint zero) {
  const OnnxByteView* view = movable_bytes(b, reals);
  if (!view || !same_constants(b, view->scale, scale) || !same_constants(b, view->zero, zero)) return std::nullopt;
  if (!is_turned(b, view->bytes)) return view->bytes;
  return channels_first(b, b.make("Identity", {channels_last(b, view->bytes)}));
}

}  // namespace emplace
