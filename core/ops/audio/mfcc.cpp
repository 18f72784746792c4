// Mfcc: mel-frequency cepstral coefficients, the form in which speech recognition takes a spectrogram.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/audio/mel_filters.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

Status mfcc_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape in, c.with_rank(0, 3));
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  c.set_output(0, Shape{in.dim(0), in.dim(1), c.attrs().integer("dct_coefficient_count")});
  return ok_status();
}

/// The first rows of a discrete cosine transform, type II.
std::vector<double> cosine_rows(int64_t rows, int64_t columns) {
  std::vector<double> table;
  table.reserve(static_cast<size_t>(rows * columns));
  const double norm = std::sqrt(2.0 / static_cast<double>(columns)),
               angle = std::numbers::pi / static_cast<double>(columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      table.push_back(norm * std::cos(static_cast<double>(i) * angle * (static_cast<double>(j) + 0.5)));
  }
  return table;
}

class Mfcc final : public Kernel {
 public:
  explicit Mfcc(const KernelInit& init)
      : design_{.channels = init.attrs.integer("filterbank_channel_count"),
                .lowest = static_cast<double>(init.attrs.number("lower_frequency_limit")),
                .highest = static_cast<double>(init.attrs.number("upper_frequency_limit"))},
        coefficients_(init.attrs.integer("dct_coefficient_count")) {}

  Status run(KernelContext& c) override {
    const Shape &in = c.input(0).shape(), &rate = c.input(1).shape();
    if (in.rank() != 3) return invalid_argument("spectrogram must be 3-dimensional" + in.to_string());
    if (rate.rank() != 0)
      return invalid_argument(cat("Input sample_rate should be a scalar tensor, got ", rate.to_string(), " instead."));
    RETURN_IF_ERROR(design_filters(in.dim(2), *c.in<int32_t>(1)));
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{in.dim(0), in.dim(1), coefficients_}));
    const double cost = 2.0 * static_cast<double>(design_.bins) + static_cast<double>(cosines_.size());
    c.parallel_for(in.dim(0) * in.dim(1), cost, [&](int64_t begin, int64_t end) {
      ScratchVector<double> channels(static_cast<size_t>(design_.channels));
      for (int64_t row = begin; row < end; ++row) compute_row(c, row, channels);
    });
    return ok_status();
  }

 private:
  /// The tables, if they are not those of the last run.
  Status design_filters(int64_t bins, int32_t rate) {
    if (filters_ && bins == design_.bins && rate == static_cast<int32_t>(design_.sample_rate)) return ok_status();
    const bool sound = design_.channels >= 1 && rate > 0 && bins >= 2 && !(design_.lowest < 0) &&
                       !(design_.highest <= design_.lowest) && coefficients_ >= 1 && coefficients_ <= design_.channels;
    if (!sound) {
      return invalid_argument(cat("Mfcc initialization failed for channel count ", bins, ", sample rate ", rate,
                                  " and filterbank_channel_count ", design_.channels));
    }
    constexpr int64_t kMost = int64_t{1} << 26;
    if (design_.channels > kMost / coefficients_) {
      return resource_exhausted(cat("Mfcc of ", coefficients_, " coefficients of ", design_.channels,
                                    " channels: the product may be at most ", kMost));
    }
    design_.bins = bins;
    design_.sample_rate = rate;
    filters_.emplace(design_);
    if (cosines_.empty()) cosines_ = cosine_rows(coefficients_, design_.channels);
    return ok_status();
  }

  void compute_row(KernelContext& c, int64_t row, ScratchVector<double>& channels) const {
    float* out = c.out<float>(0) + row * coefficients_;
    if (!filters_->fit()) return std::fill_n(out, coefficients_, 0.0f), void();
    filters_->compute({c.in<float>(0) + row * design_.bins, static_cast<size_t>(design_.bins)}, channels);
    constexpr double kFloor = 1e-12;
    for (double& x : channels) x = std::log(x < kFloor ? kFloor : x);
    const double* cosines = cosines_.data();
    for (int64_t i = 0; i < coefficients_; ++i, cosines += channels.size())
      out[i] = static_cast<float>(std::inner_product(channels.begin(), channels.end(), cosines, 0.0));
  }

  MelFilters::Design design_;
  int64_t coefficients_;
  std::optional<MelFilters> filters_;
  std::vector<double> cosines_;
};

}  // namespace

OpDef mfcc_op() {
  return OpDef("Mfcc")
      .doc("Mel-frequency cepstral coefficients of a spectrogram of squared magnitudes [channel, window, frequency].")
      .shape(mfcc_shape)
      .cpu(make<Mfcc>);
}

}  // namespace emplace
