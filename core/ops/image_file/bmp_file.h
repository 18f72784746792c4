/// BMP files of 8, 24 or 32 bits a point, without compression.
#pragma once

#include <string_view>

#include "core/base/status.h"
#include "core/ops/image_file/picture.h"

namespace emplace {

struct BmpFile {
  PictureSize size;       // channels: of what is wanted
  int64_t file_channels;  // 1, 3, 4
  bool top_down;
  int64_t row_bytes;
  std::string_view points;  // blue before green before red
};

/// `channels`: 3, 4, or 0: as the file has them. The result points into `file`. InvalidArgument as TensorFlow.
Result<BmpFile> read_bmp(std::string_view file, int64_t channels);
/// `out`: file.size bytes.
void decode_bmp(const BmpFile& file, uint8_t* out);

}  // namespace emplace
