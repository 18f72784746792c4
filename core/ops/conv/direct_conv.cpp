#include "core/ops/conv/direct_conv.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/ops/conv/direct_conv_parts.h"

namespace emplace {
namespace {

// With so few, a pointer per tap costs more than copying what is read with its padding.
constexpr int64_t kFewChannels = 8;
// Few outputs are better off in a tile's rows if the copy is read through enough taps, and by enough pixels of a row.
constexpr int64_t kEnoughTaps = 4, kEnoughPixels = 16;
// Images of whose taps this share lies outside are better taken together.
constexpr double kWorthLeavingOut = 0.05;
constexpr int64_t kFewImages = 6;

/// Tiles of `rows` pixels that read no more than stays in the second level of cache.
int64_t near_tiles(const ConvWalk& walk, int rows, int64_t element_bytes) {
  const int64_t image = walk.vertical.in * walk.horizontal.in, area = std::max<int64_t>(1, walk.area());
  const double read = static_cast<double>(std::min(image, area * walk.taps())) / static_cast<double>(area);
  const double tile_bytes = read * static_cast<double>(rows * walk.in_c * element_bytes);
  const double tiles = static_cast<double>(gemm::processor().near_bytes) / std::max(1.0, tile_bytes);
  return std::max<int64_t>(1, static_cast<int64_t>(tiles));
}

}  // namespace

template <class T>
DirectConv<T>::DirectConv(const ConvWalk& walk) : walk_(walk) {
  rows_ = gemm::kernels<T>().max_rows;
  cols_ = gemm::kernels<T>().max_cols;
  panels_ = pieces_of(walk.group_out, cols_);
  panel_size_ = cols_ * walk.taps() * walk.depth;
  pixel_by_pixel_ = walk.pixel_by_pixel();
  const ConvAxis &v = walk.vertical, &h = walk.horizontal;
  way_ = choose_way();
  if (way_ == Way::kStrided) {
    const int64_t in_row = std::max<int64_t>(1, pieces_of(h.out, h.divide));
    rows_ = static_cast<int>(pieces_of(in_row, pieces_of(in_row, rows_)));
  }
  if (way_ == Way::kPixels || way_ == Way::kPanels || way_ == Way::kStrided)
    zeros_.assign(static_cast<size_t>(walk.depth * (walk.groups == 1 ? walk.horizontal.window : 1)), T(0));
  if (copies_rows()) copied_row_ = walk.depth + gemm::kWidestVector<T>;
  if (way_ == Way::kPanels) {
    const int64_t pixels = walk.batch * walk.area();
    rows_ = static_cast<int>(pieces_of(pixels, pieces_of(pixels, rows_)));
    const int64_t tiles = pieces_of(pixels, rows_);
    block_tiles_ = pieces_of(tiles, pieces_of(tiles, near_tiles(walk_, rows_, sizeof(T))));
  }
  if (way_ == Way::kBands || way_ == Way::kOutputs) bands_ = ConvBands<T>(walk, way_ == Way::kOutputs);
  if (way_ == Way::kBands) rows_ = h.out > 0 ? static_cast<int>(pieces_of(h.out, pieces_of(h.out, rows_))) : 1;
  if (way_ == Way::kImages) {
    const int64_t image_bytes = v.in * h.in * walk.in_c * static_cast<int64_t>(sizeof(T));
    const gemm::Processor& p = gemm::processor();
    const int64_t most = image_bytes % p.image_stride == 0 ? std::min<int64_t>(rows_, p.image_rows) : rows_;
    rows_ = static_cast<int>(pieces_of(walk.batch, pieces_of(walk.batch, most)));
  }
}

template <class T>
typename DirectConv<T>::Way DirectConv<T>::choose_way() const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const double band =
      static_cast<double>((v.window - 1) * v.reach + 1) * static_cast<double>(ConvBands<T>::line_of(h) * h.step);
  const bool fits =
      band * static_cast<double>(std::max<int64_t>(1, walk_.in_c) * static_cast<int64_t>(sizeof(T))) <= kMostBandBytes;
  if (walk_.groups == 1 && walk_.depth <= kFewChannels && v.divide == 1 && h.divide == 1)
    return fits ? Way::kBands : Way::kPixels;  // a dilated window or wide padding may see few pixels of a vast band
  if (walk_.groups == 1 && !walk_.backward && fits && walk_.out_c <= std::min<int64_t>(kFewOutputs, rows_) &&
      walk_.taps() >= kEnoughTaps && h.out >= kEnoughPixels)
    return Way::kOutputs;
  const Way pixels = filter_passes_by() ? Way::kPanels : Way::kPixels;
  if (!walk_.backward || packed_filter_size() == 0) return pixels;
  if (walk_.batch < kFewImages) return v.divide > 1 || h.divide > 1 ? Way::kStrided : pixels;
  const double all = static_cast<double>(walk_.area()) * static_cast<double>(walk_.taps());
  const double inside = static_cast<double>(v.pairs()) * static_cast<double>(h.pairs());
  return inside < all * (1 - kWorthLeavingOut) ? Way::kImages : pixels;
}

template <class T>
bool DirectConv<T>::filter_passes_by() const {
  const gemm::Processor& p = gemm::processor();
  const int64_t filter = packed_filter_size() * static_cast<int64_t>(sizeof(T)), near = p.near_bytes;
  const int64_t tiles = pieces_of(walk_.batch * walk_.area(), rows_), at_once = near_tiles(walk_, rows_, sizeof(T));
  if (walk_.groups != 1 || tiles <= 1 || filter <= near) return false;
  return tiles <= at_once || (filter > p.far_filter * near && at_once >= p.enough_tiles);
}

// Where tiles of a block wait for each panel, of pixels side by side, the copy costs what it gains.
template <class T>
bool DirectConv<T>::copies_rows() const {
  const int64_t step = walk_.horizontal.step * walk_.in_c * static_cast<int64_t>(sizeof(T));
  constexpr int kLinesOfSet = 8;  // of the first cache: so many rows do not push each other out
  if (walk_.groups != 1 || walk_.taps() != 1 || panels_ < 2 || rows_ <= kLinesOfSet) return false;
  if (step % gemm::processor().conflict_stride != 0) return false;
  return way_ == Way::kPixels || (way_ == Way::kPanels && walk_.horizontal.step > 1);
}

template <class T>
std::string DirectConv<T>::describe() const {
  const std::string tile = cat(rows_, " x ", cols_, " tiles (", gemm::isa_name(isa()), ")");
  const std::string filter = size_text(packed_filter_size() * static_cast<int64_t>(sizeof(T)));
  const std::string_view copied = copied_row_ > 0 ? "; rows are copied: they would meet in few sets of L1" : "";
  switch (way_) {
    case Way::kPixels:
      return cat(tile, " of pixels that follow each other, by channels; all ", filter, " of the filter for each",
                 copied);
    case Way::kPanels:
      return cat(tile, ", ", cols_, " channels at a time for ", counted(block_tiles_, "tile"),
                 " of pixels: the filter's ", filter, " do not stay in the second level of cache", copied);
    case Way::kBands:
      return cat(tile, " of a row's pixels, by channels; what they read is ",
                 bands_.reads_image() ? "taken by rows of the window" : "copied with its padding first", ", since ",
                 counted(walk_.in_c, "channel"), " to read ", walk_.in_c == 1 ? "is" : "are", " few");
    case Way::kOutputs:
      return cat(walk_.out_c, " x ", cols_, " tiles (", gemm::isa_name(isa()),
                 ") of channels by a row's pixels; what they read is copied with its padding first, since ",
                 counted(walk_.out_c, "channel"), " to write ", walk_.out_c == 1 ? "is" : "are", " few");
    case Way::kImages:
      return cat(tile, " of a pixel in several images, by channels: taps outside the image are left out");
    case Way::kStrided:
      return cat(tile, " of pixels a stride apart, by channels: they see the same taps");
  }
  return {};
}

template <class T>
bool DirectConv<T>::may_leave_out() const {
  const ConvAxis& v = walk_.vertical;
  if (way_ != Way::kPixels && way_ != Way::kPanels) return false;
  return v.window > 1 && v.out > 0 && (v.source(0, 0) < 0 || v.source(v.out - 1, v.window - 1) < 0);
}

template <class T>
int64_t DirectConv<T>::packed_filter_size() const {
  const int64_t widest = gemm::kWidestCols<T>;
  return walk_.groups * pieces_of(walk_.group_out, widest) * widest * walk_.taps() * walk_.depth;
}

template <class T>
void DirectConv<T>::pack_filter(Parallel& parallel, const T* filter, T* packed) const {
  const int64_t taps = walk_.taps(), depth = walk_.depth, group_out = walk_.group_out;
  if (way_ == Way::kOutputs) {
    std::copy_n(filter, taps * depth * group_out, packed);
    return;
  }
  parallel.run(
      walk_.groups * panels_, static_cast<double>(taps * depth * cols_) * 0.3, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          int64_t group = p / panels_, first = p % panels_ * cols_;
          int64_t width = std::min<int64_t>(cols_, group_out - first);
          T* out = packed + p * cols_ * taps * depth;
          for (int64_t tap = 0; tap < taps; ++tap) {
            for (int64_t k = 0; k < depth; ++k, out += cols_) {
              if (walk_.backward) {  // out channels are the filter's input channels
                const T* from = filter + ((taps - 1 - tap) * group_out + first) * walk_.in_c + group * depth + k;
                for (int64_t j = 0; j < width; ++j) out[j] = from[j * walk_.in_c];
              } else {
                std::copy_n(filter + (tap * depth + k) * walk_.out_c + group * group_out + first, width, out);
              }
              std::fill(out + width, out + cols_, T(0));
            }
          }
        }
      });
}

template <class T>
void DirectConv<T>::run(Parallel& parallel, const T* in, const T* packed_filter, T* out,
                        const ConvEpilogue<T>& epilogue, RowSink* sink, bool finite) const {
  const Job job{gemm::kernels<T>(), in, packed_filter, out, epilogue, sink, finite};
  const double pixel_ns = static_cast<double>(walk_.out_c * walk_.taps() * walk_.depth) * 0.02 + 200.0 / rows_;
  const int64_t area = walk_.area(), tiles = pieces_of(walk_.batch * area, rows_);
  switch (way_) {
    case Way::kPixels:
      return parallel.run(tiles, pixel_ns * rows_, [&](int64_t begin, int64_t end) { run_pixels(job, begin, end); });
    case Way::kPanels:
      parallel.run(panels_,
                   pixel_ns * static_cast<double>(walk_.batch * area * cols_) / static_cast<double>(walk_.out_c),
                   [&](int64_t begin, int64_t end) { run_panels(job, begin, end); });
      if (!sink) return;
      return parallel.run(walk_.batch * area, static_cast<double>(walk_.out_c) * 0.1,
                          [&](int64_t begin, int64_t end) { sink->finished(begin, end - begin); });
    case Way::kBands:
    case Way::kOutputs:
      return parallel.run(bands_.count(), pixel_ns * static_cast<double>(bands_.rows() * walk_.horizontal.out),
                          [&](int64_t begin, int64_t end) {
                            way_ == Way::kBands ? run_bands(job, begin, end) : run_outputs(job, begin, end);
                          });
    case Way::kImages:
      return parallel.run(pieces_of(walk_.batch, rows_) * area, pixel_ns * rows_,
                          [&](int64_t begin, int64_t end) { run_images(job, begin, end); });
    case Way::kStrided:
      return parallel.run(walk_.batch * walk_.vertical.out * walk_.horizontal.remainders() * strided_tiles(),
                          pixel_ns * rows_, [&](int64_t begin, int64_t end) { run_strided(job, begin, end); });
  }
}

template class DirectConv<float>;
template class DirectConv<double>;
template class DirectConv<uint32_t>;

}  // namespace emplace
