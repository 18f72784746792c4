/// Copies of one text, which take more than the file that names them: counted before they are made.
#pragma once

#include <string>

#include "core/base/status.h"

namespace emplace {

class Tensor;

/// The elements from number `first` on become `text`. ResourceExhausted: the limit of host memory does not allow what
/// the copies take beside the tensor's own size. REQUIRES: strings, of Tensor::allocate().
Status repeat_text(Tensor& strings, int64_t first, const std::string& text);

}  // namespace emplace
