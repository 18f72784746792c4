#include "core/report/bench/flops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace emplace {
namespace {

/// The shapes around one node.
class NodeShapes {
 public:
  NodeShapes(const Graph& graph, NodeId node, const SeenShapes* seen) : graph_(graph), node_(node), seen_(seen) {}

  size_t num_inputs() const { return graph_.inputs(node_).size(); }
  const Shape& input(size_t i) const { return best_known_shape(graph_, graph_.inputs(node_)[i], seen_); }
  const Shape& output() const { return best_known_shape(graph_, {node_, 0}, seen_); }
  const std::string* text_attr(std::string_view name) const {
    const AttrValue* value = graph_.attrs(node_).find(name);
    return value ? value->get_if<std::string>() : nullptr;
  }
  /// The sizes of what a gradient is of, as numbers.
  bool is_sizes(size_t i) const {
    const DType type = graph_.output_type(graph_.inputs(node_)[i]);
    return (type == DType::kInt32 || type == DType::kInt64) && input(i).rank_known() && input(i).rank() == 1;
  }

 private:
  const Graph& graph_;
  const NodeId node_;
  const SeenShapes* seen_;
};

double count_of(const Shape& shape) { return static_cast<double>(*shape.checked_num_elements()); }
bool is_known(const Shape& shape) { return shape.checked_num_elements().has_value(); }

/// [.., m, k] x [.., k, n] = [.., m, n], either of them transposed: the last two sizes of each, mk * kn / mn, are k
/// squared.
std::optional<double> matmul_flops(const NodeShapes& s) {
  const std::array<const Shape*, 3> all = {&s.input(0), &s.input(1), &s.output()};
  std::array<double, 3> matrix{};
  for (size_t i = 0; i < all.size(); ++i) {
    if (!is_known(*all[i]) || all[i]->rank() < 2) return {};
    matrix[i] = static_cast<double>(all[i]->dim(all[i]->rank() - 1) * all[i]->dim(all[i]->rank() - 2));
  }
  if (matrix[2] == 0) return 0;
  return 2 * count_of(s.output()) * std::sqrt(matrix[0] * matrix[1] / matrix[2]);
}

/// "...ab,bc->...ac": a product for each combination of what letters stand for; what dots do, the output has.
std::optional<double> einsum_flops(const NodeShapes& s, std::string_view equation) {
  std::array<double, 128> sizes{};
  sizes.fill(1);
  size_t operand = 0;
  double in_output = 1;
  for (std::string_view rest = equation; operand <= s.num_inputs(); ++operand) {
    const size_t end = std::min(rest.find_first_of(",-"), rest.size());
    const std::string_view term = rest.substr(0, end);
    const Shape& shape = operand < s.num_inputs() ? s.input(operand) : s.output();
    if (!is_known(shape)) return {};
    int axis = 0;
    const auto letters = std::count_if(term.begin(), term.end(), [](char c) { return c != '.' && c != ' '; });
    for (size_t i = 0; i < term.size(); ++i) {
      if (term[i] == '.') axis = shape.rank() - static_cast<int>(letters) + axis, i = std::min(i + 2, term.size() - 1);
      if (term[i] == '.' || term[i] == ' ') continue;
      if (axis < 0 || axis >= shape.rank()) return {};
      double& size = sizes[static_cast<size_t>(term[i]) % sizes.size()];
      size = std::max(size, static_cast<double>(shape.dim(axis++)));
      if (operand == s.num_inputs()) in_output *= size;
    }
    if (end >= rest.size()) break;
    rest.remove_prefix(rest.substr(end).starts_with("->") ? end + 2 : end + 1);
  }
  double products = 1;
  for (const double size : sizes) products *= size;
  const double out = count_of(s.output());
  return out == 0 ? 0 : 2 * products * out / in_output;
}

/// Each element of a convolution's result takes a window of the filter: filter / channels of the result. Gradients have
/// the same three tensors in other places.
std::optional<double> convolution_flops(const NodeShapes& s) {
  const Shape *filter = nullptr, *result = &s.output();
  if (s.num_inputs() > 2 && (s.is_sizes(0) || s.is_sizes(1))) {
    result = &s.input(2);
    filter = s.is_sizes(0) ? &s.input(1) : &s.output();
  }
  for (size_t i = 1; i < s.num_inputs() && !filter; ++i) {  // zero points and scales may come before it
    if (s.input(i).rank_known() && s.input(i).rank() > 2) filter = &s.input(i);
  }
  if (!filter || !is_known(*filter) || !is_known(*result) || result->rank() < 3) return {};
  const std::string* format = s.text_attr("data_format");
  const auto channels = result->dim(format && format->starts_with("NC") ? 1 : result->rank() - 1);
  return channels == 0 ? 0 : 2 * count_of(*result) * count_of(*filter) / static_cast<double>(channels);
}

}  // namespace

const Shape& best_known_shape(const Graph& graph, Endpoint output, const SeenShapes* seen) {
  const Shape& planned = graph.output_shape(output);
  const Shape* met = seen && !planned.fully_known() ? seen->find(output) : nullptr;
  return met ? *met : planned;
}

std::optional<int64_t> flops_of(const Graph& graph, NodeId node, const SeenShapes* seen) {
  if (graph.num_outputs(node) == 0) return {};
  const NodeShapes shapes(graph, node, seen);
  const Work work = graph.traits(node).work;
  if (work == Work::kElements || shapes.num_inputs() < 2) return shapes.output().checked_num_elements();
  const std::string* equation = shapes.text_attr("equation");
  const std::optional<double> flops = work == Work::kConvolution ? convolution_flops(shapes)
                                      : equation                 ? einsum_flops(shapes, *equation)
                                                                 : matmul_flops(shapes);
  if (!flops || *flops > 9e18) return {};
  return std::llround(*flops);
}

}  // namespace emplace
