#include "core/ops/image_file/png_file.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <png.h>
#include <zlib.h>

#include "core/base/cat.h"

namespace emplace {

/// What libpng's callbacks find where it cannot go on.
struct PngErrors {
  jmp_buf home;
  char text[128];
};

/// The bytes of the file that are left.
struct PngSource {
  const char* data;
  size_t size;
};

namespace {

[[noreturn]] void leave_png(png_structp png, png_const_charp text) {
  auto& errors = *static_cast<PngErrors*>(png_get_error_ptr(png));
  std::snprintf(errors.text, sizeof errors.text, "%s", text);
  std::longjmp(errors.home, 1);  // NOLINT(cert-err52-cpp): to ran_through()
}

void ignore_warning(png_structp, png_const_charp) {}

Status invalid_png(const PngErrors& errors) { return invalid_argument(cat("Invalid PNG data: ", errors.text)); }

void take_bytes(png_structp png, png_bytep to, size_t count) {
  auto& source = *static_cast<PngSource*>(png_get_io_ptr(png));
  if (source.size < count) png_error(png, "the file ends within the image");
  std::memcpy(to, source.data, count);
  source.data += count;
  source.size -= count;
}

}  // namespace

struct PngReader::State {
  PngErrors errors{};
  PngSource source;
  png_structp png = nullptr;
  png_infop info = nullptr;
  int64_t channels;
  int bits;
  png_uint_32 width = 0, height = 0;
  int file_bits = 0, color = 0, passes = 0;

  State(std::string_view file, int64_t channels_wanted, int bits_wanted)
      : source{file.data(), file.size()}, channels(channels_wanted), bits(bits_wanted) {}
  ~State() { png_destroy_read_struct(&png, &info, nullptr); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int64_t row_bytes() const { return width * channels * bits / 8; }
  void read_header();
  void transform();
  void transform_alpha(bool has_transparency);
  void read_rows(png_bytep out);
};

void PngReader::State::read_header() {
  png_set_read_fn(png, &source, take_bytes);
  png_read_info(png, info);
  png_get_IHDR(png, info, &width, &height, &file_bits, &color, nullptr, nullptr, nullptr);
  transform();
  png_read_update_info(png, info);
}

/// An even number of channels has one that tells how opaque a point is.
void PngReader::State::transform_alpha(bool has_transparency) {
  const bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;
  if (channels % 2 != 0) {
    if (has_alpha || has_transparency) png_set_strip_alpha(png);
  } else if (!has_alpha && has_transparency) {
    png_set_tRNS_to_alpha(png);
  } else if (!has_alpha) {
    png_set_add_alpha(png, (1U << file_bits) - 1, PNG_FILLER_AFTER);
  }
}

/// From what the file has to the channels and bits that are wanted.
void PngReader::State::transform() {
  const bool has_transparency = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  const bool has_palette = color == PNG_COLOR_TYPE_PALETTE, is_gray = (color & PNG_COLOR_MASK_COLOR) == 0;
  if (channels == 0) channels = !has_palette ? png_get_channels(png, info) : has_transparency ? 4 : 3;
  transform_alpha(has_transparency);
  if (file_bits > 8 && bits == 8) png_set_strip_16(png);
  png_set_packing(png);
  passes = png_set_interlace_handling(png);
  if (bits == 16) png_set_swap(png);
  if (has_palette) png_set_palette_to_rgb(png);
  if (is_gray && file_bits < 8) png_set_expand_gray_1_2_4_to_8(png);
  const bool wants_gray = channels < 3;
  if (wants_gray && !is_gray) png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);  // as a JPEG file has it
  if (!wants_gray && is_gray) png_set_gray_to_rgb(png);
}

/// An interlaced picture comes in several passes, each of which fills in points of all rows.
void PngReader::State::read_rows(png_bytep out) {
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t y = 0; y < height; ++y) png_read_row(png, out + y * row_bytes(), nullptr);
  }
  png_read_end(png, info);
}

PngReader::PngReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
PngReader::~PngReader() = default;

Result<std::unique_ptr<PngReader>> PngReader::open(std::string_view file, int64_t channels, int bits) {
  auto state = std::make_unique<State>(file, channels, bits);
  State& s = *state;
  const bool ran = ran_through(s.errors.home, [&] {
    s.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s.errors, leave_png, ignore_warning);
    if (s.png != nullptr) s.info = png_create_info_struct(s.png);
    if (s.info != nullptr) s.read_header();
  });
  if (!ran) return invalid_png(s.errors);
  if (s.info == nullptr) return resource_exhausted("no memory to decode a PNG file");
  constexpr int64_t kLongest = int64_t{1} << 27, kMostPoints = int64_t{1} << 29;
  if (s.width >= kLongest || s.height >= kLongest || int64_t{s.width} * s.height >= kMostPoints)
    return invalid_argument(cat("PNG size too large for int: ", s.width, " by ", s.height));
  if (static_cast<int64_t>(png_get_rowbytes(s.png, s.info)) > s.row_bytes())
    return invalid_argument(cat("a PNG file of color type ", s.color, " cannot become ", s.channels, " channels"));
  return std::unique_ptr<PngReader>(new PngReader(std::move(state)));
}

PictureSize PngReader::size() const { return {state_->height, state_->width, state_->channels}; }

Status PngReader::read(void* out) {
  State& s = *state_;
  auto* const rows = static_cast<png_bytep>(out);
  if (!ran_through(s.errors.home, [&] { s.read_rows(rows); })) return invalid_png(s.errors);
  if (s.bits == 8 || s.file_bits > 8) return ok_status();
  // Numbers of 8 bits stand at the beginning of each row; 255 becomes 65535.
  const int64_t count = s.width * s.channels;
  for (int64_t y = 0; y < s.height; ++y) {
    uint8_t* const row = rows + y * s.row_bytes();
    for (int64_t i = count - 1; i >= 0; --i) {
      const auto wide = static_cast<uint16_t>(row[i] * 0x101);
      std::memcpy(row + 2 * i, &wide, sizeof wide);
    }
  }
  return ok_status();
}

namespace {

void give_bytes(png_structp png, png_bytep from, size_t count) {
  if (!static_cast<WrittenBytes*>(png_get_io_ptr(png))->append(from, count)) png_error(png, "no memory");
}
void flush_bytes(png_structp) {}

void write_rows(png_structp png, png_infop info, const uint8_t* rows, const PictureSize& size, int bits, int level) {
  constexpr int kColors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                             PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_compression_level(png, level);
  png_set_compression_mem_level(png, MAX_MEM_LEVEL);
  png_set_IHDR(png, info, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height), bits,
               kColors[size.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (bits > 8) png_set_swap(png);
  for (int64_t y = 0; y < size.height; ++y) png_write_row(png, rows + y * size.width * size.channels * bits / 8);
  png_write_end(png, nullptr);
}

}  // namespace

Result<std::string> write_png(const void* picture, const PictureSize& size, int bits, int64_t compression) {
  if (size.width == 0 || size.height == 0)
    return internal_error(cat("PNG encoding failed: an image of ", size.height, " by ", size.width, " points"));
  const int level = compression < 0 ? Z_DEFAULT_COMPRESSION : static_cast<int>(compression);
  WrittenBytes bytes;
  PngErrors errors{};
  png_structp png = nullptr;
  png_infop info = nullptr;
  const bool ran = ran_through(errors.home, [&] {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &errors, leave_png, ignore_warning);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) return;
    png_set_write_fn(png, &bytes, give_bytes, flush_bytes);
    write_rows(png, info, static_cast<const uint8_t*>(picture), size, bits, level);
  });
  const bool had_memory = info != nullptr;
  png_destroy_write_struct(&png, &info);
  if (!had_memory) return resource_exhausted("no memory to encode a PNG file");
  if (!ran) return internal_error(cat("PNG encoding failed: ", errors.text));
  return std::string(bytes.text());
}

}  // namespace emplace
