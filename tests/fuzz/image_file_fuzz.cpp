// Files of images of any bytes: a picture of the size that was told, or an error; and that picture's own files are read
// again.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/ops/image_file/bmp_file.h"
#include "core/ops/image_file/gif_file.h"
#include "core/ops/image_file/jpeg_file.h"
#include "core/ops/image_file/png_file.h"

using namespace emplace;

namespace {

constexpr int64_t kMostPoints = 1 << 16;  // larger ones only take longer

bool is_small(const PictureSize& size) { return size.height * size.width <= kMostPoints; }
std::vector<uint8_t> room(const PictureSize& size, int64_t bytes = 1) {
  return std::vector<uint8_t>(static_cast<size_t>(size.height * size.width * size.channels * bytes));
}

void read_jpeg_file(std::string_view file, const JpegReading& how) {
  auto reader = JpegReader::open(file, how);
  if (!reader.ok() || !is_small((*reader)->size()) || (*reader)->scratch_bytes() > 100 * kMostPoints) return;
  std::vector<uint8_t> out = room((*reader)->size());
  if (!(*reader)->read(out.data()).ok()) return;
  auto again = write_jpeg(out.data(), (*reader)->size(), {});
  if (!again.ok() || !jpeg_size(*again).ok()) std::abort();
}

void read_png_file(std::string_view file, int64_t channels, int bits) {
  auto reader = PngReader::open(file, channels, bits);
  if (!reader.ok() || !is_small((*reader)->size())) return;
  std::vector<uint8_t> out = room((*reader)->size(), bits / 8);
  if (!(*reader)->read(out.data()).ok()) return;
  auto again = write_png(out.data(), (*reader)->size(), bits, 1);
  if (!again.ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view file(reinterpret_cast<const char*>(data), size);
  const PictureKind kind = picture_kind(file);
  if (kind == PictureKind::kJpeg) {
    read_jpeg_file(file, {});
    JpegReading part;
    part.ratio = 2;
    part.recover_truncated = part.crop = true;
    part.top = part.left = 1;
    part.rows = part.columns = 2;
    read_jpeg_file(file, part);
  } else if (kind == PictureKind::kPng) {
    read_png_file(file, 0, 8);
    read_png_file(file, 4, 16);
    read_png_file(file, 1, 16);
  } else if (kind == PictureKind::kGif) {
    auto gif = read_gif(file);
    if (!gif.ok() || gif->width * gif->height * static_cast<int64_t>(gif->frames.size()) > kMostPoints) return 0;
    const auto count = static_cast<int64_t>(gif->frames.size());
    std::vector<uint8_t> out = room({gif->height, gif->width, 3}, count);
    (void)decode_gif(*gif, count, out.data()).ok();
  } else if (kind == PictureKind::kBmp) {
    auto bmp = read_bmp(file, 4);
    if (!bmp.ok()) return 0;
    std::vector<uint8_t> out = room(bmp->size);
    decode_bmp(*bmp, out.data());
  }
  return 0;
}
