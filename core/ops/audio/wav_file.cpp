#include "core/ops/audio/wav_file.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/cat.h"

namespace emplace {
namespace {

/// Reads a file from its beginning; beyond its end it says so.
class WavReader {
 public:
  explicit WavReader(std::string_view file) : rest_(file) {}

  bool at_end() const { return rest_.empty(); }
  Result<std::string_view> text(size_t length) {
    if (length > rest_.size()) return invalid_argument("Data too short when trying to read string");
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }
  template <class T>
  Result<T> number() {
    if (sizeof(T) > rest_.size()) return invalid_argument("Data too short when trying to read value");
    uint32_t value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) value |= uint32_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(sizeof(T));
    return static_cast<T>(value);
  }
  Status expect(std::string_view wanted) {
    ASSIGN_OR_RETURN(const std::string_view found, text(wanted.size()));
    if (found == wanted) return ok_status();
    return invalid_argument(cat("Header mismatch: Expected ", wanted, " but found ", found));
  }
  void skip(size_t length) { rest_.remove_prefix(std::min(length, rest_.size())); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// What may stand before the format.
bool is_remark(std::string_view chunk) {
  constexpr std::string_view kRemarks[] = {"JUNK", "bext", "iXML", "qlty", "mext", "levl", "link", "axml"};
  return std::find(std::begin(kRemarks), std::end(kRemarks), chunk) != std::end(kRemarks);
}

Status find_format(WavReader& in) {
  RETURN_IF_ERROR(in.expect("RIFF"));
  RETURN_IF_ERROR(in.number<uint32_t>().take_status());
  RETURN_IF_ERROR(in.expect("WAVE"));
  ASSIGN_OR_RETURN(std::string_view chunk, in.text(4));
  while (chunk != "fmt ") {
    if (!is_remark(chunk)) return invalid_argument(cat("Unexpected field ", chunk));
    ASSIGN_OR_RETURN(const uint32_t size, in.number<uint32_t>());
    RETURN_IF_ERROR(in.text(size).take_status());
    ASSIGN_OR_RETURN(chunk, in.text(4));
  }
  return ok_status();
}

/// Returns the bytes of a frame.
Result<uint32_t> read_format(WavReader& in, WavFile& file) {
  ASSIGN_OR_RETURN(const uint32_t size, in.number<uint32_t>());
  if (size != 16 && size != 18)
    return invalid_argument(cat("Bad format chunk size for WAV: Expected 16 or 18, but got", size));
  ASSIGN_OR_RETURN(const uint16_t format, in.number<uint16_t>());
  if (format != 1) return invalid_argument(cat("Bad audio format for WAV: Expected 1 (PCM), but got", format));
  ASSIGN_OR_RETURN(file.channels, in.number<uint16_t>());
  if (file.channels < 1) {
    return invalid_argument(cat("Bad number of channels for WAV: Expected at least 1, but got ", file.channels));
  }
  ASSIGN_OR_RETURN(file.sample_rate, in.number<uint32_t>());
  ASSIGN_OR_RETURN(const uint32_t per_second, in.number<uint32_t>());
  ASSIGN_OR_RETURN(const uint16_t per_frame, in.number<uint16_t>());
  ASSIGN_OR_RETURN(const uint16_t bits, in.number<uint16_t>());
  if (bits != 16) return invalid_argument(cat("Can only read 16-bit WAV files, but received ", bits));
  const uint32_t wanted_per_frame = (uint32_t{bits} * file.channels + 7) / 8;
  if (per_frame != wanted_per_frame) {
    return invalid_argument(
        cat("Bad bytes per sample in WAV header: Expected ", wanted_per_frame, " but got ", per_frame));
  }
  const uint32_t wanted_per_second = per_frame * file.sample_rate;
  if (per_second != wanted_per_second) {
    return invalid_argument(cat("Bad bytes per second in WAV header: Expected ", wanted_per_second, " but got ",
                                per_second, " (sample_rate=", file.sample_rate, ", bytes_per_sample=", per_frame, ")"));
  }
  if (size == 18) in.skip(2);
  return uint32_t{per_frame};
}

int16_t sample_of(float x) {
  const float scaled = std::round(x * 32768.0f);
  return std::isnan(scaled) ? int16_t{0} : static_cast<int16_t>(std::clamp(scaled, -32768.0f, 32767.0f));
}

void put(std::string& out, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

}  // namespace

Result<WavFile> read_wav(std::string_view text) {
  WavReader in(text);
  WavFile file;
  RETURN_IF_ERROR(find_format(in));
  ASSIGN_OR_RETURN(const uint32_t per_frame, read_format(in, file));
  bool found = false;
  while (!in.at_end()) {
    ASSIGN_OR_RETURN(const std::string_view chunk, in.text(4));
    ASSIGN_OR_RETURN(const uint32_t size, in.number<uint32_t>());
    if (size > uint32_t{INT32_MAX}) {
      return invalid_argument(
          cat("WAV data chunk '", chunk, "' is too large: ", size, " bytes, but the limit is ", INT32_MAX));
    }
    if (chunk != "data") {
      in.skip(size);
      continue;
    }
    if (found) return invalid_argument("More than one data chunk found in WAV");
    found = true;
    file.frames = size / per_frame;
    ASSIGN_OR_RETURN(file.samples, in.text(static_cast<size_t>(file.frames) * per_frame));
  }
  if (!found) return invalid_argument("No data chunk found in WAV");
  return file;
}

float wav_sample(const WavFile& file, int64_t i) {
  const auto low = static_cast<unsigned char>(file.samples[static_cast<size_t>(2 * i)]),
             high = static_cast<unsigned char>(file.samples[static_cast<size_t>(2 * i + 1)]);
  return static_cast<float>(static_cast<int16_t>(low | high << 8)) * (1.0f / 32768.0f);
}

Result<std::string> write_wav(const float* samples, int64_t frames, int64_t channels, int64_t sample_rate) {
  // TensorFlow counts without signs.
  if (sample_rate <= 0 || sample_rate > int64_t{UINT32_MAX}) {
    return invalid_argument(cat("sample_rate must be in (0, 2^32), got: ", static_cast<uint64_t>(sample_rate)));
  }
  if (channels == 0 || channels > UINT16_MAX)
    return invalid_argument(cat("num_channels must be in (0, 2^16), got: ", channels));
  constexpr int64_t kHeader = 44, kBytes = 2;
  const int64_t per_frame = kBytes * channels;
  if (frames > (int64_t{UINT32_MAX} - kHeader) / per_frame)
    return invalid_argument("Provided channels and frames cannot be encoded as a WAV.");
  const auto data = static_cast<uint64_t>(frames * per_frame);
  std::string out = "RIFF";
  out.reserve(static_cast<size_t>(kHeader) + data);
  put(out, static_cast<uint64_t>(kHeader) + data - 8, 4);
  out += "WAVEfmt ";
  put(out, 16, 4);
  put(out, 1, 2);
  put(out, static_cast<uint64_t>(channels), 2);
  put(out, static_cast<uint64_t>(sample_rate), 4);
  put(out, static_cast<uint64_t>(sample_rate * per_frame), 4);
  put(out, static_cast<uint64_t>(per_frame), 2);
  put(out, 8 * kBytes, 2);
  out += "data";
  put(out, data, 4);
  for (int64_t i = 0; i < frames * channels; ++i) put(out, static_cast<uint16_t>(sample_of(samples[i])), 2);
  return out;
}

}  // namespace emplace
