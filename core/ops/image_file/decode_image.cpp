// DecodeJpeg, DecodeAndCropJpeg, DecodePng, DecodeGif, DecodeBmp, DecodeImage: the pictures of files, [row, column,
// channel]. A file's kind is told by its bytes, not by the op's name: TensorFlow's ops decode each other's files.
#include <limits>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/image_file/bmp_file.h"
#include "core/ops/image_file/gif_file.h"
#include "core/ops/image_file/jpeg_file.h"
#include "core/ops/image_file/png_file.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

/// The attr `channels` as a size, where it says one.
Result<int64_t> channels_of(const ShapeContext& c) {
  const int64_t channels = c.attrs().integer("channels");
  if (channels < 0) return invalid_argument(cat("channels must be non-negative, got ", channels));
  return channels == 0 ? -1 : channels;
}

Status picture_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 0).take_status());
  ASSIGN_OR_RETURN(const int64_t channels, channels_of(c));
  c.set_output(0, Shape{-1, -1, channels});
  return ok_status();
}

Status cropped_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 0).take_status());
  ASSIGN_OR_RETURN(const int64_t channels, channels_of(c));
  ASSIGN_OR_RETURN(const Shape window, c.with_rank(1, 1));
  RETURN_IF_ERROR(require_dim(dim_or_unknown(window, 0), 4).take_status());
  const Tensor* value = c.input_value(1);
  const auto known = [&](int i) { return value != nullptr ? int64_t{value->data<int32_t>()[i]} : -1; };
  c.set_output(0, Shape{known(2), known(3), channels});
  return ok_status();
}

Status gif_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 0).take_status());
  c.set_output(0, Shape{-1, -1, -1, 3});
  return ok_status();
}

/// Only the file tells whether there are frames.
Status any_picture_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 0).take_status());
  ASSIGN_OR_RETURN(const int64_t channels, channels_of(c));
  if (!c.attrs().flag("expand_animations")) c.set_output(0, Shape{-1, -1, channels});
  return ok_status();
}

enum class DecodeOp : uint8_t { kJpeg, kCropJpeg, kPng, kGif, kBmp, kAny };

/// Numbers of 8 bits as wider ones: 255 becomes 65280, or 1.
void widen_bytes(const uint8_t* from, int64_t count, Tensor& to) {
  if (to.dtype() == DType::kUInt16) {
    for (int64_t i = 0; i < count; ++i) to.data<uint16_t>()[i] = static_cast<uint16_t>(from[i] * 256);
  } else {
    constexpr auto kScale = static_cast<float>(1.0 / 255);
    for (int64_t i = 0; i < count; ++i) to.data<float>()[i] = static_cast<float>(from[i]) * kScale;
  }
}

class DecodeImage final : public Kernel {
 public:
  template <DecodeOp kOp>
  static Result<std::unique_ptr<Kernel>> make_kernel(const KernelInit& init) {
    auto kernel = std::make_unique<DecodeImage>();
    RETURN_IF_ERROR(kernel->read_attrs(kOp, init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status run(KernelContext& c) override;

 private:
  Status read_attrs(DecodeOp op, const KernelInit& init);
  Status jpeg(KernelContext& c, std::string_view file) const;
  Status png(KernelContext& c, std::string_view file) const;
  Status gif(KernelContext& c, std::string_view file) const;
  Status bmp(KernelContext& c, std::string_view file) const;
  Status crop_window(const KernelContext& c, JpegReading& how) const;
  /// DecodeBmp decodes nothing else, and DecodeAndCropJpeg no other kind.
  Status check_op(std::string_view kind) const;
  Status allocate(KernelContext& c, const PictureSize& size) const;
  /// Hands decode(where bytes go) the output, or memory from which it is filled.
  template <class Decode>
  Status decode_bytes(KernelContext& c, const Decode& decode) const;

  DecodeOp op_ = DecodeOp::kAny;
  int64_t channels_ = 0;  // 0: as the file has them
  DType type_ = DType::kUInt8;
  bool expand_animations_ = true;
  JpegReading jpeg_;
};

Status DecodeImage::read_attrs(DecodeOp op, const KernelInit& init) {
  const Attrs& attrs = init.attrs;
  op_ = op;
  type_ = init.output_types[0];
  if (op == DecodeOp::kJpeg || op == DecodeOp::kCropJpeg) {
    jpeg_.ratio = attrs.integer("ratio");
    if (jpeg_.ratio != 1 && jpeg_.ratio != 2 && jpeg_.ratio != 4 && jpeg_.ratio != 8)
      return invalid_argument(cat("ratio must be 1, 2, 4, or 8, got ", jpeg_.ratio));
    jpeg_.fancy_upscaling = attrs.flag("fancy_upscaling");
    jpeg_.recover_truncated = attrs.flag("try_recover_truncated");
    jpeg_.acceptable_fraction = attrs.number("acceptable_fraction");
    const std::string& method = attrs.text("dct_method");
    if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE")
      return invalid_argument(cat("dct_method must be '', 'INTEGER_FAST' or 'INTEGER_ACCURATE', got '", method, "'"));
    jpeg_.accurate_transform = method == "INTEGER_ACCURATE";
  }
  if (op == DecodeOp::kAny) expand_animations_ = attrs.flag("expand_animations");
  channels_ = op == DecodeOp::kGif ? 3 : attrs.integer("channels");
  if (channels_ != 0 && channels_ != 1 && channels_ != 3 && channels_ != 4)
    return invalid_argument(cat("`channels` must be 0, 1, 3 or 4 but got ", channels_));
  return ok_status();
}

Status DecodeImage::check_op(std::string_view kind) const {
  if (op_ == DecodeOp::kBmp) {
    return invalid_argument(
        cat("Trying to decode ", kind, " format using DecodeBmp op; DecodeImage decodes all formats"));
  }
  if (op_ == DecodeOp::kCropJpeg && kind != "JPEG")
    return invalid_argument(cat("DecodeAndCropJpeg operation can run on JPEG only, but detected ", kind));
  return ok_status();
}

/// DecodeGif gives one frame of what does not move.
Status DecodeImage::allocate(KernelContext& c, const PictureSize& size) const {
  return ensure_output(c, 0,
                       op_ == DecodeOp::kGif ? Shape{1, size.height, size.width, size.channels}
                                             : Shape{size.height, size.width, size.channels});
}

template <class Decode>
Status DecodeImage::decode_bytes(KernelContext& c, const Decode& decode) const {
  if (type_ == DType::kUInt8) return decode(c.out<uint8_t>(0));
  const int64_t count = c.output(0).num_elements();
  ASSIGN_OR_RETURN(Tensor bytes, c.allocate_scratch(DType::kUInt8, Shape{count}));
  RETURN_IF_ERROR(decode(bytes.data<uint8_t>()));
  widen_bytes(bytes.data<uint8_t>(), count, c.output(0));
  return ok_status();
}

Status DecodeImage::crop_window(const KernelContext& c, JpegReading& how) const {
  const Shape& shape = c.input(1).shape();
  if (shape.rank() != 1 || shape.dim(0) != 4)
    return invalid_argument(cat("crop_window must be [y, x, height, width], got shape ", shape.to_string()));
  const auto* window = c.in<int32_t>(1);
  how.crop = true;
  how.top = window[0];
  how.left = window[1];
  how.rows = window[2];
  how.columns = window[3];
  return ok_status();
}

Status DecodeImage::jpeg(KernelContext& c, std::string_view file) const {
  if (channels_ == 4) return invalid_argument("JPEG does not support 4 channels; 0, 1 or 3 will do");
  RETURN_IF_ERROR(check_op("JPEG"));
  JpegReading how = jpeg_;
  how.channels = channels_;
  if (op_ == DecodeOp::kCropJpeg) RETURN_IF_ERROR(crop_window(c, how));
  ASSIGN_OR_RETURN(const std::unique_ptr<JpegReader> reader, JpegReader::open(file, how));
  RETURN_IF_ERROR(allocate(c, reader->size()));
  // The library's own memory has to fit under the limit as well.
  RETURN_IF_ERROR(c.allocate_scratch(DType::kUInt8, Shape{reader->scratch_bytes()}).take_status());
  return decode_bytes(c, [&](uint8_t* out) { return reader->read(out); });
}

Status DecodeImage::png(KernelContext& c, std::string_view file) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<PngReader> reader,
                   PngReader::open(file, channels_, type_ == DType::kUInt8 ? 8 : 16));
  RETURN_IF_ERROR(check_op("PNG"));
  RETURN_IF_ERROR(allocate(c, reader->size()));
  if (type_ != DType::kFloat) return reader->read(c.output(0).raw());
  const int64_t count = c.output(0).num_elements();
  ASSIGN_OR_RETURN(Tensor words, c.allocate_scratch(DType::kUInt16, Shape{count}));
  RETURN_IF_ERROR(reader->read(words.raw()));
  constexpr auto kScale = static_cast<float>(1.0 / 65535);
  for (int64_t i = 0; i < count; ++i) c.out<float>(0)[i] = static_cast<float>(words.data<uint16_t>()[i]) * kScale;
  return ok_status();
}

Status DecodeImage::gif(KernelContext& c, std::string_view file) const {
  if (channels_ != 0 && channels_ != 3)
    return invalid_argument(cat("channels must be 0 or 3 for GIF, got ", channels_));
  RETURN_IF_ERROR(check_op("GIF"));
  ASSIGN_OR_RETURN(const GifFile gif, read_gif(file));
  const auto frames = static_cast<int64_t>(gif.frames.size());
  const bool one = op_ == DecodeOp::kPng || op_ == DecodeOp::kJpeg;
  if (one && frames != 1) {
    return invalid_argument(
        cat("Got ", frames, " frames, but animated gifs can only be decoded by DecodeGif or DecodeImage"));
  }
  const int64_t count = expand_animations_ ? frames : 1;
  const bool moves = op_ == DecodeOp::kGif || (op_ == DecodeOp::kAny && expand_animations_);
  RETURN_IF_ERROR(
      ensure_output(c, 0, moves ? Shape{count, gif.height, gif.width, 3} : Shape{gif.height, gif.width, 3}));
  return decode_bytes(c, [&](uint8_t* out) { return decode_gif(gif, count, out); });
}

Status DecodeImage::bmp(KernelContext& c, std::string_view file) const {
  if (channels_ == 1) return invalid_argument("`channels` must be 0, 3 or 4 for BMP, but got 1");
  if (op_ != DecodeOp::kBmp && op_ != DecodeOp::kAny)
    return invalid_argument("a BMP file is decoded by DecodeBmp or DecodeImage alone");
  ASSIGN_OR_RETURN(const BmpFile bmp, read_bmp(file, channels_));
  RETURN_IF_ERROR(allocate(c, bmp.size));
  return decode_bytes(c, [&](uint8_t* out) {
    decode_bmp(bmp, out);
    return ok_status();
  });
}

Status DecodeImage::run(KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  if (shape.rank() != 0) return invalid_argument(cat("`contents` must be scalar but got shape ", shape.to_string()));
  const std::string_view file = *c.in<std::string>(0);
  if (file.empty()) return invalid_argument("Input is empty.");
  if (file.size() > size_t{std::numeric_limits<int32_t>::max()})
    return invalid_argument(cat("Input contents are too large for int: ", file.size()));
  switch (picture_kind(file)) {
    case PictureKind::kJpeg:
      return jpeg(c, file);
    case PictureKind::kPng:
      return png(c, file);
    case PictureKind::kGif:
      return gif(c, file);
    case PictureKind::kBmp:
      return bmp(c, file);
    case PictureKind::kWebP:
    case PictureKind::kJpegXl:
      return unimplemented("WebP and JPEG XL files are not decoded; JPEG, PNG, GIF and BMP files are");
    default:
      return invalid_argument("Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
  }
}

Status jpeg_shape_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 0).take_status());
  c.set_output(0, Shape{3});
  return ok_status();
}

Status jpeg_shape_cpu(KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  if (shape.rank() != 0) return invalid_argument(cat("contents must be scalar, got shape ", shape.to_string()));
  const std::string_view file = *c.in<std::string>(0);
  if (file.size() > size_t{std::numeric_limits<int32_t>::max()})
    return invalid_argument(cat("JPEG contents are too large for int: ", file.size()));
  ASSIGN_OR_RETURN(const PictureSize size, jpeg_size(file));
  with_index(c.output(0).dtype(), [&]<class T>(T) {
    T* out = c.out<T>(0);
    out[0] = static_cast<T>(size.height);
    out[1] = static_cast<T>(size.width);
    out[2] = static_cast<T>(size.channels);
  });
  return ok_status();
}

}  // namespace

OpDef decode_jpeg_op() {
  return OpDef("DecodeJpeg")
      .doc("The picture of a JPEG file, [row, column, channel], smaller by a ratio.")
      .shape(picture_shape)
      .cpu(DecodeImage::make_kernel<DecodeOp::kJpeg>);
}
OpDef decode_and_crop_jpeg_op() {
  return OpDef("DecodeAndCropJpeg")
      .doc("Part of the picture of a JPEG file, [row, column, channel]; no more of it is decoded.")
      .shape(cropped_shape)
      .value_inputs({1})
      .cpu(DecodeImage::make_kernel<DecodeOp::kCropJpeg>);
}
OpDef decode_png_op() {
  return OpDef("DecodePng")
      .doc("The picture of a PNG file, [row, column, channel].")
      .shape(picture_shape)
      .cpu(DecodeImage::make_kernel<DecodeOp::kPng>);
}
OpDef decode_gif_op() {
  return OpDef("DecodeGif")
      .doc("The frames of a GIF file, [frame, row, column, red green blue].")
      .shape(gif_shape)
      .cpu(DecodeImage::make_kernel<DecodeOp::kGif>);
}
OpDef decode_bmp_op() {
  return OpDef("DecodeBmp")
      .doc("The picture of a BMP file, [row, column, channel].")
      .shape(picture_shape)
      .cpu(DecodeImage::make_kernel<DecodeOp::kBmp>);
}
OpDef decode_image_op() {
  return OpDef("DecodeImage")
      .doc("The picture of a JPEG, PNG, GIF or BMP file, [row, column, channel], or the frames of a GIF file.")
      .shape(any_picture_shape)
      .cpu(DecodeImage::make_kernel<DecodeOp::kAny>);
}
OpDef extract_jpeg_shape_op() {
  return OpDef("ExtractJpegShape")
      .doc("Height, width and channels of the picture of a JPEG file.")
      .shape(jpeg_shape_shape)
      .cpu<int32_t>(stateless<jpeg_shape_cpu>)
      .cpu<int64_t>(stateless<jpeg_shape_cpu>);
}

}  // namespace emplace
