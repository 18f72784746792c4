/// What stands in the boxes of a picture, in every form that pictures have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/report/draw/picture.h"

namespace emplace {

/// printable(), and at most `most` characters: "layer1/co…/kernel".
std::string short_text(std::string_view text, size_t most);

/// By device: "G0" for GPU:0; "#2" where several devices would share one.
std::vector<std::string> device_badges(const DeviceSet& devices);

/// "float32[2,3]", "float32[2,3] +1" of two outputs; empty without one.
std::string tensor_text(const Graph& graph, NodeId node);

/// The node's op and its output, of that many characters at most: if need be, the op is cut.
std::string op_line(const Graph& graph, NodeId node, size_t most);

/// "tower_0/c:0", "^x" of a control edge.
std::string copied_tensor(const Graph& graph, const Copy& copy);
/// "16 B"; "?" where it is not known; empty for a control edge.
std::string copied_bytes(const Copy& copy);

/// What is written at an edge: "512 B", "2 copies, at least 512 B", "size unknown"; empty without a copy.
std::string copies_text(const CopyTotal& copies);
/// What is written in a closed scope: "3 copies inside, 4.0 MiB", "... ≥ 4.0 MiB"; empty without one.
std::string copies_inside(const CopyTotal& copies);

/// What nodes and scopes are coloured by, if that is time or memory: a sum over nodes.
struct Heat {
  double sum = 0;
  bool known = false;  // of some node at least
};
Heat heat_of(const PictureNode& node, DrawColor color);
/// "3.3 us", "1.0 MiB", "?".
std::string heat_text(const Heat& heat, DrawColor color);
/// 0 (nothing, or not known) to 4 (at least half of `most`).
int heat_level(const Heat& heat, double most);

/// Lists of "GPU:0 12, CPU:0 3" by device: how many nodes are there.
std::string device_counts(const DeviceSet& devices, const std::vector<uint32_t>& nodes_on);

/// Fills of boxes by device, in light and in dark surroundings; text on all of them has a contrast of at least 4.5.
struct Fill {
  std::string_view light, dark;
};
inline constexpr Fill kDeviceFills[] = {{"#cfe3f7", "#1f4e79"}, {"#f9d9b0", "#7a4300"}, {"#cdebc5", "#1f5a2a"},
                                        {"#f6c9d0", "#7d2438"}, {"#dcd3f2", "#4b3a86"}, {"#f3ecaa", "#5c5200"},
                                        {"#c3ecec", "#0b5656"}, {"#e3d5c8", "#5b4230"}};
inline constexpr Fill kHeatFills[] = {{"#eeeeee", "#333a42"},
                                      {"#fdf0d5", "#4a3a20"},
                                      {"#fbd49a", "#6b4510"},
                                      {"#f7ae5c", "#8a4f08"},
                                      {"#f08c4a", "#a03c00"}};

}  // namespace emplace
