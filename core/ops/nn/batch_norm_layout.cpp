// Part of core/ops/nn/batch_norm.h: which dimensions are batch, channels and pixels.
#include "core/base/cat.h"
#include "core/ops/nn/batch_norm.h"

namespace emplace {

NormFormat NormFormat::of(const Attrs& attrs) {
  const std::string& format = attrs.text("data_format");
  int rank = format.size() == 5 ? 5 : 4;
  return {rank, format.ends_with("C") ? rank - 1 : 1};
}

NormLayout NormFormat::layout(const Tensor& image) const {
  const Shape& s = image.shape();
  if (image.num_elements() == 0) return {0, s.dim(channels), 0};
  NormLayout l{1, s.dim(channels), 1};
  for (int i = 0; i < channels; ++i) l.outer *= s.dim(i);
  for (int i = channels + 1; i < rank; ++i) l.inner *= s.dim(i);
  return l;
}

Result<int64_t> merge_channels(const ShapeContext& c, int64_t channels, int first, int last) {
  for (int i = first; i < last; ++i) {
    ASSIGN_OR_RETURN(Shape vector, c.with_rank(i, 1));
    ASSIGN_OR_RETURN(channels, ShapeContext::merge_dim(channels, vector.dim(0)));
  }
  return channels;
}

Status check_channel_vectors(const KernelContext& c, int64_t channels, int first, int last) {
  for (int i = first; i < last; ++i) {
    if (c.input(i).shape() == Shape{channels}) continue;
    return invalid_argument(cat("input ", i, " must have the same number of elements as the channels of x, got ",
                                c.input(i).shape().to_string(), " and ", channels));
  }
  return ok_status();
}

}  // namespace emplace
