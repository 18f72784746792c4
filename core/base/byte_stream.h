/// ByteStream: bytes from front to back, however they are kept: in memory, or packed with deflate and unpacked piece by
/// piece as they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/input_file.h"

namespace emplace {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// The next n bytes; fewer at the end, where the packed bytes are damaged, or when asked to stop.
  virtual size_t read(void* to, size_t n) = 0;
  /// The rest, if it lies in memory as it is. Does not take it.
  virtual std::string_view in_memory() const { return {}; }
};

enum class Packing { kNone, kDeflate, kGzip };

/// `file`, where given, holds the bytes: it forgets pages that were read.
std::unique_ptr<ByteStream> open_stream(std::string_view bytes, Packing packing, const InputFile* file = nullptr);

}  // namespace emplace
