#include "core/ops/kit/nd_index.h"

#include "core/base/cat.h"
#include "core/ops/kit/index_text.h"

namespace emplace {

namespace {

// The first `outer` dimensions of `indices` count tuples of `depth` entries.
Result<NdIndex> make_index(const Tensor& indices, const Shape& into, int outer, int64_t depth) {
  if (depth > into.rank()) {
    return invalid_argument(
        cat("index innermost dimension length must be <= params rank; saw: ", depth, " vs. ", into.rank()));
  }
  NdIndex index{
      &indices, into, Shape(indices.shape().dims().first(static_cast<size_t>(outer))), static_cast<int>(depth), 1, 1};
  index.tuples = index.outer.num_elements();
  uint64_t slice = 1;  // may wrap where another dimension is 0: then nothing is reached
  for (int i = index.depth; i < into.rank(); ++i) slice *= static_cast<uint64_t>(into.dim(i));
  index.slice = static_cast<int64_t>(slice);
  return index;
}

}  // namespace

Result<NdIndex> NdIndex::of(const Tensor& indices, const Shape& into) {
  const Shape& s = indices.shape();
  if (s.rank() < 1) return invalid_argument("indices must be at least a vector");
  return make_index(indices, into, s.rank() - 1, s.dim_from_end(1));
}

Result<NdIndex> NdIndex::of_scatter(const Tensor& indices, const Shape& into) {
  if (indices.shape().rank() == 1) return make_index(indices, into, 1, 1);
  return of(indices, into);
}

int64_t NdIndex::offset(int64_t tuple) const {
  int64_t at = 0;
  for (int d = 0; d < depth; ++d) {
    int64_t i = index_at(*indices, tuple * depth + d), size = into.dim(d);
    if (i < 0 || i >= size) return -1;
    at = at * size + i;
  }
  return at * slice;
}

std::string NdIndex::out_of_range(int64_t tuple, std::string_view what) const {
  return cat("indices", place_text(outer, outer.rank(), tuple), " = [", index_text(*indices, tuple * depth, depth),
             "] does not index into ", what, into.to_string());
}

}  // namespace emplace
