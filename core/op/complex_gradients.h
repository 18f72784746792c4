/// Which ops pass gradients of complex numbers on.
#pragma once

#include <string_view>

namespace emplace {

/// Is the op's gradient function right for complex numbers too? That of a product, say, is not: it would have to take
/// the conjugate of the other factor. Gradients end at ops that are not listed.
bool has_complex_gradient(std::string_view op);

}  // namespace emplace
