// AudioSpectrogram: how strong each frequency is in windows along a signal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numbers>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/audio/power_spectrum.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

/// The window as TensorFlow counts it: 32 bits, at least 2.
struct SpectrogramAttrs {
  int64_t window, stride;

  static SpectrogramAttrs of(const Attrs& attrs) { return {attrs.integer("window_size"), attrs.integer("stride")}; }
  Status check() const {
    if (window >= 2 && window <= int64_t{1} << 30 && stride >= 1 && stride <= INT32_MAX) return ok_status();
    return invalid_argument(cat("Spectrogram initialization failed for window size ", window, " and stride ", stride));
  }
  int64_t transform() const { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(window))); }
  int64_t bins() const { return 1 + transform() / 2; }
  int64_t windows(int64_t samples) const { return samples < window ? 0 : 1 + (samples - window) / stride; }
};

Status spectrogram_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape in, c.with_rank(0, 2));
  const SpectrogramAttrs attrs = SpectrogramAttrs::of(c.attrs());
  RETURN_IF_ERROR(attrs.check());
  c.set_output(0, Shape{in.dim(1), in.dim(0) < 0 ? -1 : attrs.windows(in.dim(0)), attrs.bins()});
  return ok_status();
}

class AudioSpectrogram final : public Kernel {
 public:
  explicit AudioSpectrogram(const KernelInit& init)
      : attrs_(SpectrogramAttrs::of(init.attrs)), squared_(init.attrs.flag("magnitude_squared")) {}

  Status run(KernelContext& c) override {
    const Shape& in = c.input(0).shape();
    if (in.rank() != 2) return invalid_argument("input must be 2-dimensional" + in.to_string());
    RETURN_IF_ERROR(attrs_.check());
    const int64_t channels = in.dim(1), windows = attrs_.windows(in.dim(0));
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{channels, windows, attrs_.bins()}));
    if (c.output(0).num_elements() == 0) return ok_status();
    if (!spectrum_) make_tables();
    const double cost = 100.0 * static_cast<double>(attrs_.transform());
    c.parallel_for(channels * windows, cost, [&](int64_t begin, int64_t end) {
      ScratchVector<double> samples(spectrum_->length()), powers(spectrum_->bins());
      for (int64_t row = begin; row < end; ++row) {
        const float* from = c.in<float>(0) + row % windows * attrs_.stride * channels + row / windows;
        for (size_t i = 0; i < window_.size(); ++i)
          samples[i] = static_cast<double>(from[static_cast<int64_t>(i) * channels]) * window_[i];
        spectrum_->compute(samples, powers);
        float* out = c.out<float>(0) + row * attrs_.bins();
        std::transform(powers.begin(), powers.end(), out, [&](double power) {
          const auto value = static_cast<float>(power);
          return squared_ ? value : std::sqrt(value);
        });
      }
    });
    return ok_status();
  }

 private:
  /// The periodic Hann window; as long as a signal that was there at least.
  void make_tables() {
    window_.resize(static_cast<size_t>(attrs_.window));
    for (size_t i = 0; i < window_.size(); ++i) {
      window_[i] =
          0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(window_.size()));
    }
    spectrum_ = std::make_unique<PowerSpectrum>(static_cast<size_t>(attrs_.transform()));
  }

  SpectrogramAttrs attrs_;
  bool squared_;
  std::vector<double> window_;
  std::unique_ptr<PowerSpectrum> spectrum_;
};

}  // namespace

OpDef audio_spectrogram_op() {
  return OpDef("AudioSpectrogram")
      .doc("The magnitudes of the Fourier transforms of windows of a signal: [channel, window, frequency].")
      .shape(spectrogram_shape)
      .cpu(make<AudioSpectrogram>);
}

}  // namespace emplace
