#include "core/ops/image_file/picture.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace emplace {

PictureKind picture_kind(std::string_view file) {
  using namespace std::string_view_literals;
  const auto begins = [&](std::string_view bytes) { return file.substr(0, bytes.size()) == bytes; };
  if (begins("\xff\xd8\xff")) return PictureKind::kJpeg;
  if (begins("\x89PNG\r\n\x1a\n")) return PictureKind::kPng;
  if (begins("GIF8")) return PictureKind::kGif;
  if (begins("BM")) return PictureKind::kBmp;
  if (begins("RIFF") && file.size() > 12 && file.substr(8, 4) == "WEBP") return PictureKind::kWebP;
  if (begins("\xff\x0a") || begins("\0\0\0\x0cJXL \r\n\x87\n"sv)) return PictureKind::kJpegXl;
  return PictureKind::kUnknown;
}

WrittenBytes::~WrittenBytes() { std::free(data_); }

bool WrittenBytes::append(const void* bytes, size_t count) {
  if (count == 0) return true;
  if (count > capacity_ - size_) {
    const size_t capacity = std::max(size_ + count, capacity_ + capacity_ / 2);
    void* const larger = std::realloc(data_, capacity);
    if (larger == nullptr) return false;
    data_ = static_cast<char*>(larger);
    capacity_ = capacity;
  }
  std::memcpy(data_ + size_, bytes, count);
  size_ += count;
  return true;
}

}  // namespace emplace
