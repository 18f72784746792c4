#include "core/ops/image_file/bmp_file.h"

#include <cstdlib>
#include <limits>

#include "core/base/cat.h"

namespace emplace {
namespace {

template <class T>
T number_at(std::string_view file, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= uint32_t{static_cast<unsigned char>(file[at + i])} << (8 * i);
  return static_cast<T>(value);
}

}  // namespace

Result<BmpFile> read_bmp(std::string_view file, int64_t channels) {
  if (file.size() < 32) {
    return invalid_argument(
        cat("Incomplete bmp content, requires at least 32 bytes to find the header size, width, height, "
            "and bpp, got ",
            file.size(), " bytes"));
  }
  const int64_t header = number_at<int32_t>(file, 10), width = number_at<int32_t>(file, 18),
                height = number_at<int32_t>(file, 22), file_channels = number_at<int16_t>(file, 28) / 8;
  if (file_channels != 1 && file_channels != 3 && file_channels != 4)
    return invalid_argument(cat("Number of channels inherent in the image must be 1, 3 or 4, was ", file_channels));
  if (width <= 0) return invalid_argument(cat("Width must be positive, got ", width));
  if (height == 0) return invalid_argument("Height must be nonzero");
  if (header < 0) return invalid_argument(cat("header size must be nonnegative, got ", header));
  const int64_t rows = std::abs(height), row_bytes = (file_channels * width + 3) / 4 * 4;
  if (width * rows >= std::numeric_limits<int32_t>::max() / 8) {
    return invalid_argument(
        cat("Total possible pixel bytes must be less than 2^30, got ", rows, " rows of ", width, " pixels"));
  }
  const auto bytes = static_cast<int64_t>(file.size());
  if (header + row_bytes * rows != bytes) {
    return invalid_argument(cat("Input size should match (header_size + row_size * abs_height) but they differ by ",
                                bytes - header - row_bytes * rows));
  }
  return BmpFile{{rows, width, channels > 0 ? channels : file_channels},
                 file_channels,
                 height < 0,
                 row_bytes,
                 file.substr(static_cast<size_t>(header))};
}

void decode_bmp(const BmpFile& file, uint8_t* out) {
  const PictureSize& size = file.size;
  for (int64_t y = 0; y < size.height; ++y) {
    const int64_t row = file.top_down ? y : size.height - 1 - y;
    const auto* from = reinterpret_cast<const uint8_t*>(file.points.data()) + row * file.row_bytes;
    for (int64_t x = 0; x < size.width; ++x, from += file.file_channels, out += size.channels) {
      if (file.file_channels == 1) {
        for (int64_t i = 0; i < (size.channels == 1 ? 1 : 3); ++i) out[i] = from[0];
      } else {
        for (int64_t i = 0; i < 3; ++i) out[i] = from[2 - i];
      }
      if (size.channels == 4) out[3] = file.file_channels == 4 ? from[3] : UINT8_MAX;
    }
  }
}

}  // namespace emplace
