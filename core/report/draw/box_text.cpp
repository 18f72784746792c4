#include "core/report/draw/box_text.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/text_width.h"
#include "core/base/units.h"
#include "core/device/device_text.h"

namespace emplace {
namespace {

std::string total_size(const CopyTotal& copies, std::string_view at_least) {
  if (copies.unknown == 0) return size_text(copies.bytes);
  return copies.bytes > 0 ? cat(at_least, size_text(copies.bytes)) : "size unknown";
}

}  // namespace

std::string short_text(std::string_view text, size_t most) {
  std::string whole = printable(text);
  if (text_width(whole) <= most) return whole;
  const size_t tail = (most - 1) * 3 / 5;
  return elided(whole, most - 1 - tail, "\u2026", tail);
}

std::vector<std::string> device_badges(const DeviceSet& devices) {
  std::vector<std::string> badges;
  for (const Device& device : devices.devices)
    badges.push_back(cat(device.type.substr(0, 1), device.parsed.id.value_or(0)));
  if (std::set(badges.begin(), badges.end()).size() == badges.size()) return badges;
  for (size_t d = 0; d < badges.size(); ++d) badges[d] = cat('#', d);
  return badges;
}

std::string tensor_text(const Graph& graph, NodeId node) {
  const uint32_t outputs = graph.num_outputs(node);
  if (outputs == 0) return {};
  const Shape& shape = graph.output_shape({node, 0});
  return cat(dtype_name(graph.output_type({node, 0})), shape.rank_known() ? shape.to_string() : " ?",
             outputs > 1 ? cat(" +", outputs - 1) : "");
}

std::string op_line(const Graph& graph, NodeId node, size_t most) {
  const std::string tensor = tensor_text(graph, node);
  const std::string_view op = graph.op(node);
  if (tensor.empty() || op.size() + 1 + tensor.size() <= most || tensor.size() + 5 > most)
    return short_text(tensor.empty() ? op : cat(op, ' ', tensor), most);
  return cat(printable(op.substr(0, most - tensor.size() - 2)), "\u2026 ", tensor);
}

std::string copied_tensor(const Graph& graph, const Copy& copy) {
  const std::string_view name = graph.name(copy.tensor.node);
  return copy.control ? cat('^', name) : cat(name, ':', copy.tensor.slot);
}

std::string copied_bytes(const Copy& copy) {
  if (copy.control) return {};
  return copy.bytes ? size_text(*copy.bytes) : "?";
}

std::string copies_text(const CopyTotal& copies) {
  if (copies.count == 0) return {};
  return cat(copies.count > 1 ? cat(copies.count, " copies, ") : "", total_size(copies, "at least "));
}

std::string copies_inside(const CopyTotal& copies) {
  if (copies.count == 0) return {};
  return cat(copies.count, copies.count == 1 ? " copy" : " copies", " inside, ", total_size(copies, "\u2265 "));
}

Heat heat_of(const PictureNode& node, DrawColor color) {
  if (color == DrawColor::kTime) return {std::max(node.us, 0.0), node.us >= 0};
  return {static_cast<double>(std::max<int64_t>(node.bytes, 0)), node.bytes >= 0};
}

std::string heat_text(const Heat& heat, DrawColor color) {
  if (!heat.known) return "?";
  return color == DrawColor::kTime ? time_text(heat.sum * 1e-6) : size_text(static_cast<int64_t>(heat.sum));
}

int heat_level(const Heat& heat, double most) {
  if (!heat.known || heat.sum <= 0) return 0;
  const double share = heat.sum / most;
  return share >= 0.5 ? 4 : share >= 0.2 ? 3 : share >= 0.05 ? 2 : 1;
}

std::string device_counts(const DeviceSet& devices, const std::vector<uint32_t>& nodes_on) {
  std::string text;
  for (DeviceId d = 0; d < nodes_on.size(); ++d) {
    if (nodes_on[d] > 0) append(text, text.empty() ? "" : ", ", short_device_name(devices, d), ' ', nodes_on[d]);
  }
  return text;
}

}  // namespace emplace
