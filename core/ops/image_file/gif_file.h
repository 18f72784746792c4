/// GIF files: moving pictures of up to 256 colours a frame.
#pragma once

#include <string_view>

#include "core/base/scratch_vector.h"
#include "core/base/status.h"
#include "core/ops/image_file/picture.h"

namespace emplace {

/// One picture of the file, and where it lies in the whole.
struct GifFrame {
  int64_t left, top, width, height;
  bool interlaced;          // its rows come in four passes
  int transparent;          // the colour that leaves what was there before, or -1
  std::string_view colors;  // three bytes each; empty: there are none
  int code_bits;            // of a colour among the codes
  std::string_view codes;   // in blocks, behind each byte that says how long one is
};

struct GifFile {
  ScratchVector<GifFrame> frames;
  int64_t width = 0, height = 0;  // of the largest frame
};

/// Reads the file and looks whether its frames can be decoded: those before the first that cannot count, if there is
/// one. InvalidArgument in TensorFlow's words. The result points into `file`.
Result<GifFile> read_gif(std::string_view file);
/// The first `count` frames, red, green and blue. `out`: count * height * width * 3 bytes.
Status decode_gif(const GifFile& file, int64_t count, uint8_t* out);

}  // namespace emplace
