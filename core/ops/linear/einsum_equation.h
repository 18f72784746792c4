/// The equation of an Einsum: "bij,bjk->bik", "...ij->...ji". Letters name dimensions; an ellipsis stands for any
/// number of dimensions, which broadcast.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "core/base/scratch_vector.h"
#include "core/base/shape.h"
#include "core/base/status.h"

namespace emplace {

/// Letters (any character but the punctuation) are their code; the dimensions of an ellipsis are numbers from kEllipsis
/// on, the last one kEllipsis.
using Label = int;
using Labels = ScratchVector<Label>;
inline constexpr Label kEllipsis = 256;

struct EinsumEquation {
  static Result<EinsumEquation> parse(const std::string& text);

  /// One list per operand, and the output's. An ellipsis is one kEllipsis.
  ScratchVector<Labels> inputs;
  Labels output;
};

/// An equation applied to operands of known ranks: ellipses are spelled out, every label has a size (-1: not known).
struct EinsumDims {
  static Result<EinsumDims> of(const EinsumEquation& equation, std::span<const Shape> operands);

  int64_t size(Label label) const;
  Shape shape(const Labels& labels) const;

  ScratchVector<Labels> inputs;
  Labels output;

 private:
  Status merge(Label label, int64_t dim);
  ScratchVector<std::pair<Label, int64_t>> sizes_;
};

}  // namespace emplace
