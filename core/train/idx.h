/// IDX files, the format of the MNIST database: a magic number with the element type and the number of dimensions, the
/// dimensions, then the elements, all big-endian (yann.lecun.com/exdb/mnist). Plain or compressed with gzip.
#pragma once

#include <string>
#include <string_view>

#include "core/base/input_file.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// Do these bytes begin such a file? Of a compressed one only gzip's mark can be seen.
bool looks_like_idx(std::string_view bytes);

/// `name` is for messages, `file`, where given, holds the bytes. Sizes are checked before anything is allocated.
Result<Tensor> parse_idx(std::string_view bytes, const std::string& name, const InputFile* file = nullptr);

}  // namespace emplace
