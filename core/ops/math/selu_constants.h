/// Constants of self-normalizing networks (Klambauer et al., 2017), as TensorFlow has them.
#pragma once

namespace emplace {

inline constexpr double kSeluScale = 1.0507009873554804934193349852946;
inline constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

}  // namespace emplace
