/// The equation of an Einsum: "bij,bjk->bik", "...ij->...ji". Letters name dimensions; an ellipsis stands for any number
/// of dimensions, which broadcast.
#pragma once

#include <string>
#include <vector>

#include "core/base/shape.h"
#include "core/base/status.h"

namespace emplace {

/// Letters (any character but the punctuation) are their code; the dimensions of an ellipsis are numbers from kEllipsis on, the last one kEllipsis.
using Label = int;
inline constexpr Label kEllipsis = 256;

struct EinsumEquation {
  static Result<EinsumEquation> parse(const std::string& text);

  /// One list per operand, and the output's. An ellipsis is one kEllipsis.
  std::vector<std::vector<Label>> inputs;
  std::vector<Label> output;
};

/// An equation applied to operands of known ranks: ellipses are spelled out, every label has a size (-1: not known).
struct EinsumDims {
  static Result<EinsumDims> of(const EinsumEquation& equation, const std::vector<Shape>& operands);

  int64_t size(Label label) const;
  Shape shape(const std::vector<Label>& labels) const;

  std::vector<std::vector<Label>> inputs;
  std::vector<Label> output;

 private:
  Status merge(Label label, int64_t dim);
  std::vector<std::pair<Label, int64_t>> sizes_;
};

}  // namespace emplace
