#include "core/ops/image_file/jpeg_file.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>  // after <cstdio>, which it needs

#include <jerror.h>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"

namespace emplace {

/// What libjpeg calls where it cannot go on. Begins with libjpeg's own part, through which it is found.
struct JpegErrors {
  jpeg_error_mgr base;
  jmp_buf home;
  char text[JMSG_LENGTH_MAX];
  bool no_memory;
};

/// The file in memory, as libjpeg reads it.
struct JpegSource {
  jpeg_source_mgr base;
  const JOCTET* data;
  size_t size;
  bool recover;
  int tries;  // to get more than there is
};

namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 29;

JpegErrors& errors_of(j_common_ptr info) { return *reinterpret_cast<JpegErrors*>(info->err); }

[[noreturn]] void leave(j_common_ptr info) {
  JpegErrors& errors = errors_of(info);
  info->err->format_message(info, errors.text);
  errors.no_memory = info->err->msg_code == JERR_OUT_OF_MEMORY;
  std::longjmp(errors.home, 1);  // NOLINT(cert-err52-cpp): to ran_through()
}

void keep_silent(j_common_ptr) {}

jpeg_error_mgr* prepare(JpegErrors& errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.output_message = keep_silent;
  errors.text[0] = 0;
  errors.no_memory = false;
  return &errors.base;
}

Status status_of(const JpegErrors& errors) {
  if (errors.no_memory) return resource_exhausted("no memory to decode or encode a JPEG file");
  return invalid_argument(cat("Invalid JPEG data or crop window: ", errors.text));
}

constexpr JOCTET kEndOfImage[2] = {0xff, JPEG_EOI};

void begin_source(j_decompress_ptr info) {
  const auto& source = *reinterpret_cast<JpegSource*>(info->src);
  info->src->next_input_byte = source.data;
  info->src->bytes_in_buffer = source.size;
}

/// There is no more: an error, unless the end may be made up. libjpeg may not say how far it is, and then reads what it
/// had once more: a file that ends so would be read for ever.
boolean refill_source(j_decompress_ptr info) {
  constexpr int kMostTries = 1 << 24;  // a large picture that is cut off takes one or a few for each of its blocks
  auto& source = *reinterpret_cast<JpegSource*>(info->src);
  if (info->src->bytes_in_buffer > 0) {
    if (++source.tries > kMostTries) ERREXIT(info, JERR_FILE_READ);
    return static_cast<boolean>(source.recover);
  }
  source.tries = 0;
  if (!source.recover || info->src->next_input_byte == kEndOfImage + 2) ERREXIT(info, JERR_FILE_READ);
  info->src->next_input_byte = kEndOfImage;
  info->src->bytes_in_buffer = 2;
  return TRUE;
}

void skip_source(j_decompress_ptr info, long count) {
  if (count < 0) return;
  if (static_cast<size_t>(count) > info->src->bytes_in_buffer) {
    info->src->bytes_in_buffer = 0;
    refill_source(info);
  } else {
    info->src->bytes_in_buffer -= static_cast<size_t>(count);
    info->src->next_input_byte += count;
  }
}

void end_source(j_decompress_ptr) {}

void connect(JpegSource& source, jpeg_decompress_struct& info, std::string_view file, bool recover) {
  source.base = {};
  source.base.init_source = begin_source;
  source.base.fill_input_buffer = refill_source;
  source.base.skip_input_data = skip_source;
  source.base.resync_to_restart = jpeg_resync_to_restart;
  source.base.term_source = end_source;
  source.data = reinterpret_cast<const JOCTET*>(file.data());
  source.size = file.size();
  source.recover = recover;
  source.tries = 0;
  info.src = &source.base;
}

bool is_cmyk(const jpeg_decompress_struct& info) { return info.out_color_space == JCS_CMYK; }

/// One row of CMYK; Adobe's programs store them inverted.
void rgb_of_cmyk(const JSAMPLE* from, bool inverted, int64_t width, uint8_t* to) {
  for (int64_t i = 0; i < width; ++i, from += 4, to += 3) {
    const int black = inverted ? from[3] : 255 - from[3];
    for (int part = 0; part < 3; ++part)
      to[part] = static_cast<uint8_t>(black * (inverted ? from[part] : 255 - from[part]) / 255);
  }
}

}  // namespace

struct JpegReader::State {
  JpegErrors errors;
  jpeg_decompress_struct info;
  JpegSource source;
  JpegReading how;
  int64_t channels = 0, width = 0, height = 0;  // of what read() gives

  explicit State(const JpegReading& reading) : how(reading) {
    std::memset(&info, 0, sizeof info);
    info.err = prepare(errors);
  }
  ~State() { jpeg_destroy_decompress(&info); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void read_header(std::string_view file) {
    jpeg_create_decompress(&info);
    connect(source, info, file, how.recover_truncated);
    jpeg_read_header(&info, TRUE);
    channels = how.channels > 0 ? how.channels : std::min(info.num_components, 3);
    const bool four = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
    info.out_color_space = channels == 1 ? JCS_GRAYSCALE : four ? JCS_CMYK : JCS_RGB;
    info.do_fancy_upsampling = static_cast<boolean>(how.fancy_upscaling);
    info.scale_num = 1;
    info.scale_denom = static_cast<unsigned>(how.ratio);
    info.dct_method = how.accurate_transform ? JDCT_ISLOW : JDCT_IFAST;
    jpeg_calc_output_dimensions(&info);
    height = info.output_height;
    width = info.output_width;
  }
  Status check_header();
  void begin();
  int64_t read_rows(uint8_t* out, JSAMPLE* row);
  void end();
};

Status JpegReader::State::check_header() {
  if (channels != 1 && channels != 3)
    return invalid_argument(cat("a JPEG file has 1, 3 or 4 components, found ", info.num_components));
  if (height <= 0 || width <= 0 || height * width * info.num_components >= kMostNumbers) {
    return invalid_argument(cat("a JPEG file of ", height, " by ", width, " points of ", info.num_components,
                                " components; there may be fewer than 2^29 numbers"));
  }
  if (!how.crop) return ok_status();
  const auto inside = [](int64_t begin, int64_t count, int64_t size) {
    return begin >= 0 && count > 0 && begin + count <= size;
  };
  if (!inside(how.top, how.rows, height) || !inside(how.left, how.columns, width)) {
    return invalid_argument(cat("crop_window [", how.top, ",", how.left, ",", how.rows, ",", how.columns,
                                "] (y, x, height, width) does not lie in the image of ", height, " by ", width));
  }
  height = how.rows;
  width = how.columns;
  return ok_status();
}

/// A row that libjpeg gives begins where a block does, at or before the first column that is wanted.
void JpegReader::State::begin() {
  jpeg_start_decompress(&info);
  if (!how.crop) return;
  auto left = static_cast<JDIMENSION>(how.left), columns = static_cast<JDIMENSION>(how.columns);
  jpeg_crop_scanline(&info, &left, &columns);
  jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(how.top));
}

/// Returns how many there were. `row`: room for one as libjpeg gives it. Of a file that is cut off, which may be, what
/// is missing is as the row above, or black.
int64_t JpegReader::State::read_rows(uint8_t* out, JSAMPLE* row) {
  const int64_t stride = width * channels, parts = is_cmyk(info) ? 4 : channels;
  const JSAMPLE* const first = row + (info.output_width - width) * parts;
  for (int64_t y = 0; y < height; ++y, out += stride) {
    if (jpeg_read_scanlines(&info, &row, 1) == 0) {
      if (!how.recover_truncated) return y;
      for (; y < height; ++y, out += stride) {
        if (y == 0) {
          std::memset(out, 0, static_cast<size_t>(stride));
        } else {
          std::memcpy(out, out - stride, static_cast<size_t>(stride));
        }
      }
      info.output_scanline = static_cast<JDIMENSION>(how.top + height);
    } else if (is_cmyk(info)) {
      rgb_of_cmyk(first, info.saw_Adobe_marker != 0, width, out);
    } else {
      std::memcpy(out, first, static_cast<size_t>(stride));
    }
  }
  return height;
}

void JpegReader::State::end() {
  if (how.crop && info.output_scanline < info.output_height)
    jpeg_skip_scanlines(&info, info.output_height - info.output_scanline);
  jpeg_finish_decompress(&info);
}

JpegReader::JpegReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
JpegReader::~JpegReader() = default;

Result<std::unique_ptr<JpegReader>> JpegReader::open(std::string_view file, const JpegReading& how) {
  auto state = std::make_unique<State>(how);
  State& s = *state;
  if (!ran_through(s.errors.home, [&] { s.read_header(file); })) return status_of(s.errors);
  RETURN_IF_ERROR(s.check_header());
  return std::unique_ptr<JpegReader>(new JpegReader(std::move(state)));
}

PictureSize JpegReader::size() const { return {state_->height, state_->width, state_->channels}; }

int64_t JpegReader::scratch_bytes() const {
  const jpeg_decompress_struct& info = state_->info;
  if (jpeg_has_multiple_scans(&state_->info) == 0) return 0;
  return int64_t{info.image_width} * info.image_height * info.num_components * int64_t{sizeof(JCOEF)};
}

Status JpegReader::read(uint8_t* out) {
  State& s = *state_;
  ScratchVector<JSAMPLE> row(size_t{s.info.output_width} * 4);
  JSAMPLE* const room = row.data();
  int64_t rows = 0;
  const bool ran = ran_through(s.errors.home, [&] {
    s.begin();
    rows = s.read_rows(out, room);
    if (rows == s.height) s.end();
  });
  if (!ran) return status_of(s.errors);
  if (rows == s.height) return ok_status();
  if (static_cast<float>(rows) / static_cast<float>(s.height) < std::min(1.0f, s.how.acceptable_fraction)) {
    return invalid_argument(
        cat("the JPEG file ends in row ", rows, " of ", s.height, "; acceptable_fraction says how much of it will do"));
  }
  const int64_t stride = s.width * s.channels;
  std::memset(out + rows * stride, 0, static_cast<size_t>((s.height - rows) * stride));
  return ok_status();
}

Result<PictureSize> jpeg_size(std::string_view file) {
  JpegErrors errors;
  JpegSource source;
  jpeg_decompress_struct info;
  std::memset(&info, 0, sizeof info);
  info.err = prepare(errors);
  const bool ran = ran_through(errors.home, [&] {
    jpeg_create_decompress(&info);
    connect(source, info, file, false);
    jpeg_read_header(&info, TRUE);
    const int64_t numbers = int64_t{info.image_height} * info.image_width * info.num_components;
    if (jpeg_has_multiple_scans(&info) != 0 && numbers >= kMostNumbers) ERREXIT1(&info, JERR_IMAGE_TOO_BIG, 1 << 29);
    jpeg_start_decompress(&info);  // as TensorFlow: what is told in several passes has to be whole
  });
  const PictureSize size{info.output_height, info.output_width, info.output_components};
  jpeg_destroy_decompress(&info);
  if (!ran) return status_of(errors);
  return size;
}

namespace {

struct JpegTarget {
  jpeg_destination_mgr base;
  JOCTET buffer[4096];
  WrittenBytes* bytes;
};

void write_out(j_compress_ptr info, size_t count) {
  auto& target = *reinterpret_cast<JpegTarget*>(info->dest);
  if (!target.bytes->append(target.buffer, count)) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
  info->dest->next_output_byte = target.buffer;
  info->dest->free_in_buffer = sizeof target.buffer;
}

void begin_target(j_compress_ptr info) { write_out(info, 0); }
boolean empty_target(j_compress_ptr info) {
  write_out(info, sizeof JpegTarget::buffer);
  return TRUE;
}
void end_target(j_compress_ptr info) { write_out(info, sizeof JpegTarget::buffer - info->dest->free_in_buffer); }

void write_all(jpeg_compress_struct& info, const uint8_t* picture, const PictureSize& size, const JpegWriting& how,
               std::string_view packet) {
  info.image_width = static_cast<JDIMENSION>(size.width);
  info.image_height = static_cast<JDIMENSION>(size.height);
  info.input_components = static_cast<int>(size.channels);
  info.in_color_space = size.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  if (how.optimize_size) info.optimize_coding = TRUE;
  info.density_unit = how.per_inch ? 1 : 2;
  info.X_density = static_cast<UINT16>(how.x_density);
  info.Y_density = static_cast<UINT16>(how.y_density);
  jpeg_set_quality(&info, static_cast<int>(how.quality), TRUE);
  if (how.progressive) jpeg_simple_progression(&info);
  for (int i = 0; !how.chroma_downsampling && i < info.num_components; ++i)
    info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
  jpeg_start_compress(&info, TRUE);
  if (!packet.empty()) {
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(packet.data()),
                      static_cast<unsigned>(packet.size()));
  }
  for (int64_t y = 0; y < size.height; ++y) {
    auto* row = const_cast<JSAMPLE*>(picture + y * size.width * size.channels);  // NOLINT: libjpeg only reads it
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
}

}  // namespace

Result<std::string> write_jpeg(const uint8_t* picture, const PictureSize& size, const JpegWriting& how) {
  if (size.width <= 0 || size.height <= 0 || size.width * size.height >= kMostNumbers) {
    return internal_error(cat("JPEG encoding failed: an image of ", size.height, " by ", size.width,
                              " points; there have to be 1 to 2^29 - 1"));
  }
  std::string packet;
  if (!how.xmp_metadata.empty())
    packet = cat("http://ns.adobe.com/xap/1.0/", std::string_view("\0", 1), how.xmp_metadata);
  WrittenBytes bytes;
  JpegErrors errors;
  JpegTarget target;
  jpeg_compress_struct info;
  std::memset(&info, 0, sizeof info);
  info.err = prepare(errors);
  const bool ran = ran_through(errors.home, [&] {
    jpeg_create_compress(&info);
    target.base.init_destination = begin_target;
    target.base.empty_output_buffer = empty_target;
    target.base.term_destination = end_target;
    target.bytes = &bytes;
    info.dest = &target.base;
    write_all(info, picture, size, how, packet);
  });
  jpeg_destroy_compress(&info);
  if (!ran && errors.no_memory) return status_of(errors);
  if (!ran) return internal_error(cat("JPEG encoding failed: ", errors.text));
  return std::string(bytes.text());
}

}  // namespace emplace
