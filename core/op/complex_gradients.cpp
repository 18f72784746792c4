#include "core/op/complex_gradients.h"

#include <algorithm>
#include <iterator>

namespace emplace {
namespace {

// Sorted. What moves numbers, adds them, takes them apart, and transforms.
constexpr std::string_view kOps[] = {"AddV2", "Angle",  "Complex", "Conj",  "FFT",     "FFT2D",    "FFT3D",
                                     "IFFT",  "IFFT2D", "IFFT3D",  "IRFFT", "IRFFT2D", "Identity", "Imag",
                                     "Neg",   "RFFT",   "RFFT2D",  "Real",  "Reshape", "Sub"};

}  // namespace

bool has_complex_gradient(std::string_view op) { return std::binary_search(std::begin(kOps), std::end(kOps), op); }

}  // namespace emplace
