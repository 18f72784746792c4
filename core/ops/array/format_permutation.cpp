#include "core/ops/array/format_permutation.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {
namespace {

Result<FormatPermutation> permutation(std::string_view from, std::string_view to) {
  const auto wrong = [&] {
    return invalid_argument(cat("Destination and source format must determine a permutation, got ", from, " and ", to));
  };
  if (from.size() != to.size()) return wrong();
  FormatPermutation p;
  p.size = static_cast<int>(from.size());
  for (int i = 0; i < p.size; ++i) {
    const char dimension = from[static_cast<size_t>(i)];
    const size_t at = to.find(dimension);
    if (at == std::string_view::npos || std::count(from.begin(), from.end(), dimension) > 1) return wrong();
    p.place[static_cast<size_t>(i)] = static_cast<int>(at);
    p.source[at] = i;
  }
  return p;
}

/// Depth, height and width alone.
std::string spatial(std::string_view format) {
  std::string kept;
  std::copy_if(format.begin(), format.end(), std::back_inserter(kept),
               [](char d) { return d == 'D' || d == 'H' || d == 'W'; });
  return kept;
}

}  // namespace

Result<FormatPermutation> FormatPermutation::of(const Attrs& attrs) {
  const std::string &from = attrs.text("src_format"), &to = attrs.text("dst_format");
  const auto is_format = [](const std::string& f) { return f.size() == 4 || f.size() == 5; };
  if (!is_format(from))
    return invalid_argument(cat("Source format must be of length 4 or 5, received src_format = ", from));
  if (!is_format(to))
    return invalid_argument(cat("Destination format must be of length 4 or 5, received dst_format = ", to));
  return permutation(from, to);
}

Result<FormatPermutation> FormatPermutation::of_rows(const Attrs& attrs, const Shape& shape) const {
  if (shape.rank() != 1 && shape.rank() != 2)
    return invalid_argument(cat("input must be a vector or 2D tensor, but got shape ", shape.to_string()));
  const int64_t rows = shape.dim(0);
  const int least = size - 2;
  if (rows != size && rows != least) {
    return invalid_argument(cat(shape.rank() == 1 ? "1D input" : "First dimension of 2D input", " must be of size ",
                                least, " or ", size, ", but got shape ", shape.to_string()));
  }
  if (shape.rank() == 2 && shape.dim(1) != 2) {
    return invalid_argument(cat("Second dimension of 2D input must be of size 2, but got shape ", shape.to_string()));
  }
  if (rows == size) return *this;
  const std::string from = spatial(attrs.text("src_format")), to = spatial(attrs.text("dst_format"));
  const auto wanted = static_cast<size_t>(least);
  if (from.size() != wanted || to.size() != wanted) {
    return invalid_argument(cat("Format specifier must contain ", least == 2 ? "H and W for 2D" : "D, H and W for 3D",
                                " case, got ", attrs.text("src_format"), " and ", attrs.text("dst_format")));
  }
  return permutation(from, to);
}

}  // namespace emplace
