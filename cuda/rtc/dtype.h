/// What kernels use of core/base/dtype.h, for NVRTC: halves as they are stored.
#pragma once

namespace emplace {

struct half {
  uint16_t bits = 0;
};
struct bfloat16 {
  uint16_t bits = 0;
};

}  // namespace emplace
