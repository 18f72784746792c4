#include "core/ops/linear/einsum_gradient.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/cat.h"

namespace emplace {
namespace {

constexpr std::string_view kDots = "...";

/// The operands' letters, then the output's; nothing if the equation has no "->".
std::vector<std::string> split_equation(const std::string& equation) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < equation.size(); ++i) {
    if (equation[i] == ',' || equation.substr(i, 2) == "->") {
      i += equation[i] == '-';
      parts.emplace_back();
    } else if (equation[i] != ' ') {
      parts.back() += equation[i];
    }
  }
  return parts;
}

bool has(std::string_view letters, char c) { return letters.find(c) != std::string_view::npos; }
bool has_ellipsis(std::string_view letters) { return letters.find(kDots) != std::string_view::npos; }

bool repeats(std::string letters) {
  std::sort(letters.begin(), letters.end());
  return std::adjacent_find(letters.begin(), letters.end()) != letters.end();
}

/// The letters of `of` that `others` have not, each once; and `of` without them.
std::pair<std::string, std::string> summed_and_kept(std::string_view of, std::string_view others) {
  std::string summed, kept;
  for (char c : of) {
    if (c == '.' || has(others, c))
      kept += c;
    else if (!has(summed, c))
      summed += c;
  }
  return {summed, kept};
}

/// The axis of a letter's first place; behind the dots from the end, as they stand for any number of axes.
int64_t axis_of(std::string_view letters, char c) {
  const auto at = static_cast<int64_t>(letters.find(c));
  const auto dots = letters.find(kDots);
  return dots == std::string_view::npos || at < static_cast<int64_t>(dots) ? at
                                                                           : at - static_cast<int64_t>(letters.size());
}

Value einsum(GradientContext& g, const std::vector<Value>& operands, const std::string& equation) {
  return g.add("Einsum", operands, {{"equation", AttrValue::of(equation)}});
}

/// The gradient of x in Einsum(x, "own->kept"), where `summed` are the letters that went: dy is the same all along
/// them, on the diagonal if one stands there twice.
Value spread(GradientContext& g, Value dy, const std::string& kept, const std::string& own, const std::string& summed,
             Value x) {
  Value shape = g.shape_of(x);
  std::string rest;
  std::vector<int64_t> axes;
  for (char c : own) {
    if (!has(summed, c)) rest += c;
  }
  for (char c : summed) axes.push_back(axis_of(own, c));
  if (rest == kept && !repeats(own) && !repeats(kept)) {
    return g.add("BroadcastTo", {g.reshape(dy, g.reduced_shape(shape, g.ints(axes))), shape});
  }
  std::vector<Value> sizes;
  sizes.reserve(axes.size());
  for (int64_t axis : axes) sizes.push_back(g.element(shape, axis));
  Value dims = g.shape_of(dy);
  Value ones = g.ones(g.ints({static_cast<int64_t>(axes.size())}, "ones/packed"), DType::kInt32);
  Value wide = g.add("BroadcastTo", {g.reshape(dy, g.concat({ones, dims})), g.concat({g.pack(sizes), dims})});
  return einsum(g, {wide}, cat(summed, kept, "->", own));
}

/// Of one of two operands, in whose dots nothing was broadcast.
Value wanted_by(GradientContext& g, int i, const std::string& own, const std::string& other,
                const std::string& output) {
  auto [summed, kept] = summed_and_kept(own, output + other);
  Value dy = einsum(g, {g.grad(0), g.input(1 - i)}, cat(output, ",", other, "->", kept));
  return summed.empty() ? dy : spread(g, dy, kept, own, summed, g.input(i));
}

/// The axes that the dots stand for: the first, and how many come behind the last.
struct DotAxes {
  int64_t begin, behind;
  explicit DotAxes(const std::string& letters)
      : begin(static_cast<int64_t>(letters.find(kDots))),
        behind(static_cast<int64_t>(letters.size() - kDots.size()) - begin) {}
  Value of(GradientContext& g, Value shape) const {
    return g.slice(shape, begin, behind > 0 ? std::optional<int64_t>(-behind) : std::nullopt);
  }
  Shape of(const Shape& shape) const {
    Shape dots;
    for (int64_t k = begin; k < shape.rank() - behind; ++k) dots.add_dim(shape.dim(static_cast<int>(k)));
    return dots;
  }
};

/// Sums what broadcasting spread in the dots of two operands; nothing is built where static shapes tell that nothing
/// was.
void sum_over_dots(GradientContext& g, const std::vector<std::string>& parts, Value (&gradients)[2]) {
  const DotAxes axes[] = {DotAxes(parts[0]), DotAxes(parts[1])};
  const Shape &x = g.shape(g.input(0)), &y = g.shape(g.input(1));
  if (x.fully_known() && y.fully_known() && axes[0].of(x) == axes[1].of(y)) return;
  Value shapes[] = {g.shape_of(g.input(0)), g.shape_of(g.input(1))};
  Value reduced = g.add("BroadcastGradientArgs", {axes[0].of(g, shapes[0]), axes[1].of(g, shapes[1])});
  for (uint32_t i = 0; i < 2; ++i) {
    Value behind_begin = g.add("AddV2", {g.index(axes[i].begin, "add/x"), reduced.output(i)}, {}, "add");
    gradients[i] = g.reshape(g.sum(gradients[i], behind_begin), shapes[i]);
  }
}

}  // namespace

Status einsum_gradient(GradientContext& g) {
  std::vector<std::string> parts = split_equation(g.attrs().text("equation"));
  if (static_cast<int>(parts.size()) != g.num_inputs() + 1 || g.num_inputs() > 2)
    return unimplemented("the gradient of Einsum wants an equation with '->'");
  const std::string output = parts.back();
  if (g.num_inputs() == 1) {
    auto [summed, kept] = summed_and_kept(parts[0], output);
    g.set(0, summed.empty() ? einsum(g, {g.grad(0)}, cat(output, "->", parts[0]))
                            : spread(g, g.grad(0), output, parts[0], summed, g.input(0)));
    return g.status();
  }
  const bool dots = has_ellipsis(output);
  for (size_t i = 0; i < 2; ++i) {
    if (dots && !has_ellipsis(parts[i])) parts[i] += kDots;  // of no axis, but the gradient's equation needs them
  }
  Value gradients[] = {wanted_by(g, 0, parts[0], parts[1], output), wanted_by(g, 1, parts[1], parts[0], output)};
  if (dots) sum_over_dots(g, parts, gradients);
  g.set(0, gradients[0]);
  g.set(1, gradients[1]);
  return g.status();
}

}  // namespace emplace
