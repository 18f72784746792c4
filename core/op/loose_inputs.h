/// Inputs that kernels read wherever they lie: a large constant stays where its file has it, at an address that need
/// not suit its elements, if all who read it can.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/dtype.h"

namespace emplace {

/// Do the op's CPU kernels for elements of type `type` read its input `input` byte by byte, as std::memcpy does, or in
/// code that makes no more of its address? Of a large input, at least 1 MiB: small ones may go other ways.
bool reads_loose(std::string_view op, size_t input, DType type);

}  // namespace emplace
