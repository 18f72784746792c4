#include "core/ops/linear/einsum_equation.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/op/shape_context.h"

namespace emplace {
namespace {

Result<Labels> parse_labels(std::string_view text, const std::string& equation) {
  Labels labels;
  bool ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "...") {
      if (ellipsis) return invalid_argument(cat("Found multiple ellipses in einsum equation: ", equation));
      ellipsis = true;
      labels.push_back(kEllipsis);
      i += 2;
    } else if (text[i] == '.' || text[i] == '-' || text[i] == '>') {
      return invalid_argument(cat("Unexpected character '", text.substr(i, 1), "' in einsum equation: ", equation));
    } else {
      labels.push_back(static_cast<unsigned char>(text[i]));
    }
  }
  return labels;
}

// The ellipsis spelled out as `rank` labels.
Labels spell_out(const Labels& labels, int rank) {
  Labels all;
  for (Label label : labels) {
    if (label != kEllipsis)
      all.push_back(label);
    else
      for (int i = rank; i-- > 0;) all.push_back(kEllipsis + i);
  }
  return all;
}

}  // namespace

Result<EinsumEquation> EinsumEquation::parse(const std::string& text) {
  size_t arrow = text.find("->");
  if (arrow == std::string::npos || text.find("->", arrow + 2) != std::string::npos) {
    return invalid_argument(cat("Expecting exactly one '->' in einsum equation: ", text));
  }
  EinsumEquation e;
  std::string_view left(text.data(), arrow);
  for (size_t begin = 0; begin <= left.size();) {
    size_t end = std::min(left.find(',', begin), left.size());
    ASSIGN_OR_RETURN(auto labels, parse_labels(left.substr(begin, end - begin), text));
    e.inputs.push_back(std::move(labels));
    begin = end + 1;
  }
  if (e.inputs.size() > 2)
    return invalid_argument(
        cat("Expecting 1 or 2 input subscripts in equation '", text, "' but got: ", e.inputs.size()));
  ASSIGN_OR_RETURN(e.output, parse_labels(std::string_view(text).substr(arrow + 2), text));
  for (Label label : e.output) {
    bool known = std::any_of(e.inputs.begin(), e.inputs.end(),
                             [&](const auto& in) { return std::find(in.begin(), in.end(), label) != in.end(); });
    if (!known && label != kEllipsis) {
      return invalid_argument(cat("Label '", std::string(1, static_cast<char>(label)),
                                  "' of the output is in no input of einsum equation: ", text));
    }
  }
  return e;
}

Result<EinsumDims> EinsumDims::of(const EinsumEquation& equation, std::span<const Shape> operands) {
  if (operands.size() != equation.inputs.size()) {
    return invalid_argument(
        cat("Expected ", equation.inputs.size(), " inputs for the equation but got: ", operands.size()));
  }
  EinsumDims dims;
  int broadcast = 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    const auto& labels = equation.inputs[k];
    bool ellipsis = std::find(labels.begin(), labels.end(), kEllipsis) != labels.end();
    int named = static_cast<int>(labels.size()) - (ellipsis ? 1 : 0), rank = operands[k].rank();
    if (ellipsis ? rank < named : rank != named) {
      return invalid_argument(
          cat("Expected input ", k, " to have rank ", ellipsis ? "at least " : "", named, " but got: ", rank));
    }
    if (ellipsis) broadcast = std::max(broadcast, rank - named);
    dims.inputs.push_back(spell_out(labels, rank - named));
    for (int i = 0; i < rank; ++i)
      RETURN_IF_ERROR(dims.merge(dims.inputs[k][static_cast<size_t>(i)], operands[k].dim(i)));
  }
  dims.output = spell_out(equation.output, broadcast);
  bool keeps = std::find(equation.output.begin(), equation.output.end(), kEllipsis) != equation.output.end();
  if (broadcast > 0 && !keeps)
    return invalid_argument("The output of an einsum equation must have the ellipsis of its inputs");
  if (std::max(dims.output.size(), dims.sizes_.size()) > static_cast<size_t>(kMaxRank))
    return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
  return dims;
}

// A label means one size; of an ellipsis, sizes of 1 are stretched.
Status EinsumDims::merge(Label label, int64_t dim) {
  for (auto& [known, size] : sizes_) {
    if (known != label) continue;
    if (label >= kEllipsis && (dim == 1 || size == 1)) {
      size = dim == 1 ? size : dim;
      return ok_status();
    }
    if (size >= 0 && dim >= 0 && size != dim) {
      return invalid_argument(cat("Expected dimension ", size, " at axis labelled '",
                                  label < kEllipsis ? std::string(1, static_cast<char>(label)) : "...", "', but got ",
                                  dim));
    }
    size = std::max(size, dim);
    return ok_status();
  }
  sizes_.emplace_back(label, dim);
  return ok_status();
}

int64_t EinsumDims::size(Label label) const {
  auto found = std::find_if(sizes_.begin(), sizes_.end(), [&](const auto& entry) { return entry.first == label; });
  return found == sizes_.end() ? 1 : found->second;
}

Shape EinsumDims::shape(const Labels& labels) const {
  Shape s;
  for (Label label : labels) s.add_dim(size(label));
  return s;
}

}  // namespace emplace
