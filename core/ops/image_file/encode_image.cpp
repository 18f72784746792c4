// EncodePng, EncodeJpeg, EncodeJpegVariableQuality: files of pictures [row, column, channel].
#include <limits>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/image_file/jpeg_file.h"
#include "core/ops/image_file/png_file.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status encode_png_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape image, c.with_rank_at_least(0, 3));
  ASSIGN_OR_RETURN(Shape batch, subshape(image, 0, -3));
  c.set_output(0, std::move(batch));
  return ok_status();
}

/// The last three sizes.
PictureSize size_of(const Shape& shape) {
  return {shape.dim_from_end(3), shape.dim_from_end(2), shape.dim_from_end(1)};
}

Status check_count(const Tensor& image) {
  if (image.num_elements() < std::numeric_limits<int32_t>::max()) return ok_status();
  return invalid_argument(cat("image cannot have >= int32 max elements, got shape ", image.shape().to_string()));
}

class EncodePng final : public Kernel {
 public:
  explicit EncodePng(int64_t compression) : compression_(compression) {}
  static Result<std::unique_ptr<Kernel>> make_kernel(const KernelInit& init) {
    const int64_t compression = init.attrs.integer("compression");
    if (compression < -1 || compression > 9)
      return invalid_argument(cat("compression should be in [-1,9], got ", compression));
    return std::unique_ptr<Kernel>(std::make_unique<EncodePng>(compression));
  }

  Status run(KernelContext& c) override {
    const Tensor& image = c.input(0);
    if (image.shape().rank() < 3)
      return invalid_argument(cat("images must be at least rank 3, got shape ", image.shape().to_string()));
    RETURN_IF_ERROR(check_count(image));
    const PictureSize size = size_of(image.shape());
    if (size.width * size.channels >= std::numeric_limits<int32_t>::max() / 2)
      return invalid_argument(cat("image too wide to encode: ", size.width));
    if (size.channels < 1 || size.channels > 4)
      return invalid_argument(cat("image must have 1, 2, 3, or 4 channels, got ", size.channels));
    ASSIGN_OR_RETURN(const Shape batch, subshape(image.shape(), 0, -3));
    RETURN_IF_ERROR(ensure_output(c, 0, batch));
    const int bits = image.dtype() == DType::kUInt8 ? 8 : 16;
    const int64_t bytes = size.height * size.width * size.channels * bits / 8;
    for (int64_t i = 0; i < c.output(0).num_elements(); ++i) {
      ASSIGN_OR_RETURN(c.out<std::string>(0)[i],
                       write_png(static_cast<const char*>(image.raw()) + i * bytes, size, bits, compression_));
    }
    return ok_status();
  }

 private:
  int64_t compression_;  // -1: zlib's default
};

Status encode_jpeg_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 3).take_status());
  if (c.num_inputs() > 1) RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  c.set_output(0, Shape{});
  return ok_status();
}

Status check_quality(int64_t quality) {
  if (quality >= 0 && quality <= 100) return ok_status();
  return invalid_argument(cat("quality must be in [0,100], got ", quality));
}

/// Checks the image and writes its file. `channels`: what there have to be, 0: 1 or 3.
Status encode_jpeg(KernelContext& c, const JpegWriting& how, int64_t channels) {
  const Shape& shape = c.input(0).shape();
  if (shape.rank() != 3) return invalid_argument(cat("image must be 3-dimensional, got shape ", shape.to_string()));
  RETURN_IF_ERROR(check_count(c.input(0)));
  const PictureSize size = size_of(shape);
  if (channels == 0 ? size.channels != 1 && size.channels != 3 : size.channels != channels) {
    return invalid_argument(cat("image must have ",
                                channels == 0   ? "1 or 3"
                                : channels == 1 ? "1"
                                                : "3",
                                " channels, got shape ", shape.to_string()));
  }
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{}));
  ASSIGN_OR_RETURN(*c.out<std::string>(0), write_jpeg(c.in<uint8_t>(0), size, how));
  return ok_status();
}

class EncodeJpeg final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make_kernel(const KernelInit& init) {
    auto kernel = std::make_unique<EncodeJpeg>();
    const Attrs& attrs = init.attrs;
    const std::string& format = attrs.text("format");
    kernel->channels_ = format.empty() ? 0 : format == "grayscale" ? 1 : 3;
    JpegWriting& how = kernel->how_;
    how.quality = attrs.integer("quality");
    RETURN_IF_ERROR(check_quality(how.quality));
    how.progressive = attrs.flag("progressive");
    how.optimize_size = attrs.flag("optimize_size");
    how.chroma_downsampling = attrs.flag("chroma_downsampling");
    how.per_inch = attrs.text("density_unit") == "in";
    how.x_density = attrs.integer("x_density");
    how.y_density = attrs.integer("y_density");
    how.xmp_metadata = attrs.text("xmp_metadata");
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& c) override { return encode_jpeg(c, how_, channels_); }

 private:
  JpegWriting how_;
  int64_t channels_ = 0;  // what `format` asks for
};

Status encode_jpeg_variable_quality_cpu(KernelContext& c) {
  const Shape& shape = c.input(1).shape();
  if (shape.rank() != 0) return invalid_argument(cat("quality must be scalar, got shape ", shape.to_string()));
  JpegWriting how;
  how.quality = *c.in<int32_t>(1);
  RETURN_IF_ERROR(check_quality(how.quality));
  return encode_jpeg(c, how, 0);
}

}  // namespace

OpDef encode_png_op() {
  return OpDef("EncodePng")
      .doc("A PNG file of each picture [row, column, channel] of a batch.")
      .shape(encode_png_shape)
      .cpu<uint8_t>(EncodePng::make_kernel)
      .cpu<uint16_t>(EncodePng::make_kernel);
}
OpDef encode_jpeg_op() {
  return OpDef("EncodeJpeg")
      .doc("The JPEG file of a picture [row, column, channel].")
      .shape(encode_jpeg_shape)
      .cpu(EncodeJpeg::make_kernel);
}
OpDef encode_jpeg_variable_quality_op() {
  return OpDef("EncodeJpegVariableQuality")
      .doc("The JPEG file of a picture [row, column, channel], of a quality from 0 to 100.")
      .shape(encode_jpeg_shape)
      .cpu(stateless<encode_jpeg_variable_quality_cpu>);
}

}  // namespace emplace
