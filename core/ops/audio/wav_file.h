/// Sound files of the kind WAV: samples of 16 bits, not compressed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

/// What a file's headers say. The samples lie in the file.
struct WavFile {
  uint16_t channels = 0;
  uint32_t sample_rate = 0;  // Hz
  int64_t frames = 0;        // samples of a channel
  std::string_view samples;  // frames x channels, two bytes each, little endian
};

/// InvalidArgument, in TensorFlow's words. The result points into `file`.
Result<WavFile> read_wav(std::string_view file);
/// From -1 to less than 1.
float wav_sample(const WavFile& file, int64_t i);

/// `samples`: frames x channels. InvalidArgument, in TensorFlow's words.
Result<std::string> write_wav(const float* samples, int64_t frames, int64_t channels, int64_t sample_rate);

}  // namespace emplace
