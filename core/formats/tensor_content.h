/// The bytes of a tensor as TensorProto.tensor_content has them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace emplace {

/// TensorFlow packs strings as their lengths (varints), then their bytes. False if they do not fit.
bool unpack_strings(std::string_view content, std::string* out, size_t count);

}  // namespace emplace
