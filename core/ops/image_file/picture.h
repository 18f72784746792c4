/// What files of images have in common: which kind one is, how large its picture is, and how code of C libraries is
/// left.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

enum class PictureKind : uint8_t { kUnknown, kJpeg, kPng, kGif, kBmp, kWebP, kJpegXl };

/// By the file's first bytes, as TensorFlow tells them apart.
PictureKind picture_kind(std::string_view file);

/// A picture is `height` rows of `width` points of `channels` numbers.
struct PictureSize {
  int64_t height = 0, width = 0, channels = 0;
};

/// Runs `step`, which calls a C library. False: the library's error handler jumped to `home`. `step` and what it calls
/// own nothing that would have to be destroyed: the jump passes over it.
template <class Step>
bool ran_through(jmp_buf& home, const Step& step) {
  if (setjmp(home) != 0) return false;  // NOLINT(cert-err52-cpp): the libraries know no other way out
  step();
  return true;
}

/// Bytes that a library's callback writes: grown by realloc(), as the callback cannot throw through the library.
class WrittenBytes {
 public:
  WrittenBytes() = default;
  ~WrittenBytes();
  WrittenBytes(const WrittenBytes&) = delete;
  WrittenBytes& operator=(const WrittenBytes&) = delete;

  /// False: there is no memory.
  bool append(const void* bytes, size_t count);
  std::string_view text() const { return {data_, size_}; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace emplace
