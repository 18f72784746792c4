/// RescaledSink: sums of bytes as bytes again: times a scale, rounded to even, moved by the zero point, kept in the
/// byte's range.
#pragma once

#include "core/ops/conv/byte_sink.h"

namespace emplace {

struct Rescaling {
  const float* scales;  // by channel
  const int32_t* bias;  // likewise
  float low, high;      // before the zero point is added
  int32_t zero;
};

/// Y: int8_t or uint8_t. `out`: pixels of `channels`; `how` lives as long.
template <class Y>
class RescaledSink final : public ByteSink {
 public:
  RescaledSink(Y* out, int64_t channels, const Rescaling& how);
  void take(const ByteSums& sums) const override;

 private:
  Y* out_;
  int64_t channels_;
  const Rescaling& how_;
  void (*code_)(const ByteSums&, const Rescaling&, Y*, int64_t);
};

extern template class RescaledSink<int8_t>;
extern template class RescaledSink<uint8_t>;

}  // namespace emplace
