#include "core/ops/kit/vector_math.h"

namespace emplace {

const ArgumentBounds kBounds{
    .exp_low = -104.0f,
    .exp_high = 89.0f,
    .expm1_low = -60.0f,
    .sigmoid_low = -87.0f,
    .sigmoid_high = 88.8f,
    .softplus_low = -88.0f,
    .erf_high = 4.0f,
};

}  // namespace emplace
