/// JPEG files, by libjpeg-turbo: what TensorFlow 2.21 reads and writes with version 2.1.4. Versions 2.1 and 3 decode to
/// the same numbers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/ops/image_file/picture.h"

namespace emplace {

struct JpegReading {
  int64_t channels = 0;  // 1, 3, or 0: as the file has them, 3 at most
  int64_t ratio = 1;     // 1, 2, 4, 8: the picture is smaller by that
  bool fancy_upscaling = true;
  bool recover_truncated = false;   // what is missing is as the row above
  float acceptable_fraction = 1;    // of the rows; the others are black
  bool accurate_transform = false;  // else the faster one
  bool crop = false;                // to the rows and columns below
  int64_t top = 0, left = 0, rows = 0, columns = 0;
};

class JpegReader {
 public:
  /// Reads the header. `file` is used until the end of this object. InvalidArgument, ResourceExhausted.
  static Result<std::unique_ptr<JpegReader>> open(std::string_view file, const JpegReading& how);
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  PictureSize size() const;
  /// What read() will take beside `out`, about: all coefficients of a file whose parts are told in several passes.
  int64_t scratch_bytes() const;
  /// Once. `out`: size() bytes.
  Status read(uint8_t* out);

 private:
  struct State;
  explicit JpegReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Of the picture that is in the file.
Result<PictureSize> jpeg_size(std::string_view file);

struct JpegWriting {
  int64_t quality = 95;
  bool progressive = false, optimize_size = false, chroma_downsampling = true;
  bool per_inch = true;  // else per centimetre
  int64_t x_density = 300, y_density = 300;
  std::string_view xmp_metadata;
};

/// Of one or three channels.
Result<std::string> write_jpeg(const uint8_t* picture, const PictureSize& size, const JpegWriting& how);

}  // namespace emplace
