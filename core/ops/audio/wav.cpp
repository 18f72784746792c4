// DecodeWav, EncodeWav: sound files as tensors [sample, channel].
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/audio/wav_file.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

Status decode_wav_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 0).take_status());
  const int64_t channels = c.attrs().integer("desired_channels"), samples = c.attrs().integer("desired_samples");
  if (channels < -1) return invalid_argument(cat("channels must be non-negative, got ", channels));
  if (samples < -1) return invalid_argument(cat("samples must be non-negative, got ", samples));
  c.set_output(0, Shape{samples, channels});
  c.set_output(1, Shape{});
  return ok_status();
}

class DecodeWav final : public Kernel {
 public:
  explicit DecodeWav(const KernelInit& init)
      : channels_(init.attrs.integer("desired_channels")), samples_(init.attrs.integer("desired_samples")) {}

  Status run(KernelContext& c) override {
    if (c.input(0).shape().rank() != 0)
      return invalid_argument("contents must be scalar, got shape " + c.input(0).shape().to_string());
    ASSIGN_OR_RETURN(const WavFile file, read_wav(*c.in<std::string>(0)));
    const int64_t samples = samples_ < 0 ? file.frames : samples_, channels = channels_ < 0 ? file.channels : channels_;
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{samples, channels}));
    RETURN_IF_ERROR(ensure_output(c, 1, Shape{}));
    // Silence behind the end; the last channel serves those that are missing.
    float* out = c.out<float>(0);
    for (int64_t i = 0; channels > 0 && i < std::min(samples, file.frames); ++i) {
      for (int64_t channel = 0; channel < channels; ++channel)
        *out++ = wav_sample(file, i * file.channels + std::min<int64_t>(channel, file.channels - 1));
    }
    std::fill(out, c.out<float>(0) + c.output(0).num_elements(), 0.0f);
    *c.out<int32_t>(1) = static_cast<int32_t>(file.sample_rate);
    return ok_status();
  }

 private:
  int64_t channels_, samples_;  // -1: as the file has them
};

Status encode_wav_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 2).take_status());
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  c.set_output(0, Shape{});
  return ok_status();
}

Status encode_wav_cpu(KernelContext& c) {
  const Shape &audio = c.input(0).shape(), &rate = c.input(1).shape();
  if (audio.rank() != 2) return invalid_argument("audio must be 2-dimensional" + audio.to_string());
  if (rate.rank() != 0)
    return invalid_argument(cat("Input sample_rate should be a scalar tensor, got ", rate.to_string(), " instead."));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{}));
  ASSIGN_OR_RETURN(*c.out<std::string>(0), write_wav(c.in<float>(0), audio.dim(0), audio.dim(1), *c.in<int32_t>(1)));
  return ok_status();
}

}  // namespace

OpDef decode_wav_op() {
  return OpDef("DecodeWav")
      .doc("The samples of a WAV file of 16 bits, from -1 to 1, as [sample, channel], and how many there are a second.")
      .shape(decode_wav_shape)
      .cpu(make<DecodeWav>);
}
OpDef encode_wav_op() {
  return OpDef("EncodeWav")
      .doc("The WAV file of 16 bits that holds samples [sample, channel].")
      .shape(encode_wav_shape)
      .cpu(stateless<encode_wav_cpu>);
}

}  // namespace emplace
