/// What the files of DirectConv share: limits, and how it tells of finished pixels. direct_conv.cpp chooses the way and
/// packs filters, direct_conv_pixels.cpp has the ways that read images through pointers, direct_conv_bands.cpp those
/// that copy rows first.
#pragma once

#include <algorithm>

#include "core/op/tile.h"
#include "core/ops/gemm/processors.h"

namespace emplace {

// A row of a tile for each of so few channels that are written takes less time than one for every pixel.
constexpr int64_t kFewOutputs = 8;
// Of what is copied of an image at once.
constexpr int64_t kMostBandBytes = 512 << 10;

constexpr int64_t pieces_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Tells a sink of finished pixels, those of several tiles at once.
class FinishedPixels {
 public:
  FinishedPixels(RowSink* sink, int64_t channels)
      : sink_(sink), most_(std::max<int64_t>(1, gemm::processor().sink_elements / channels)) {}
  ~FinishedPixels() { tell(); }
  /// `pixels` that follow those before.
  void add(int64_t first, int64_t pixels) {
    if (!sink_) return;
    if (count_ + pixels > most_) tell();
    if (count_ == 0) first_ = first;
    count_ += pixels;
  }

 private:
  void tell() {
    if (count_ > 0) sink_->finished(first_, count_);
    count_ = 0;
  }
  RowSink* sink_;
  int64_t most_, first_ = 0, count_ = 0;
};

}  // namespace emplace
