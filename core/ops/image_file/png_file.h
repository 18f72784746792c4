/// PNG files, by libpng.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/ops/image_file/picture.h"

namespace emplace {

class PngReader {
 public:
  /// Reads what stands before the picture. `channels`: 1 to 4, or 0: as the file has them; `bits`: 8 or 16, of each
  /// number. `file` is used until the end of this object. InvalidArgument.
  static Result<std::unique_ptr<PngReader>> open(std::string_view file, int64_t channels, int bits);
  ~PngReader();
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  PictureSize size() const;
  /// Once. `out`: size() numbers.
  Status read(void* out);

 private:
  struct State;
  explicit PngReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// One to four channels, of 8 or 16 bits; `compression` as zlib has it, -1: its default. Internal, as TensorFlow.
Result<std::string> write_png(const void* picture, const PictureSize& size, int bits, int64_t compression);

}  // namespace emplace
