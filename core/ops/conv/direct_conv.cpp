#include "core/ops/conv/direct_conv.h"

#include <algorithm>

#include "core/ops/gemm/ahead.h"

namespace emplace {
namespace {

// With so few, a pointer per tap costs more than copying what is read with its padding.
constexpr int64_t kFewChannels = 8;
constexpr int64_t kBandBytes = 32 << 10, kMostBandBytes = 512 << 10;
// A row of a tile for each of so few channels that are written takes less time than one for every pixel, if the copy is
// read through enough taps, and by enough pixels of a row.
constexpr int64_t kFewOutputs = 8, kEnoughTaps = 4, kEnoughPixels = 16;
// Images of whose taps this share lies outside are better taken together.
constexpr double kWorthLeavingOut = 0.05;
constexpr int64_t kFewImages = 6;
// Images that lie a multiple of this apart fall into few sets of the cache, which hold no more lines than this.
constexpr int64_t kConflictStride = 2048, kConflictRows = 6;
// A filter that is larger does not stay in the second level of cache beside the pixels, if these are fewer than that.
constexpr int64_t kNearBytes = 512 << 10;
// Elements of a row sink's share: they are still in L1 when it is told.
constexpr int64_t kSinkElements = 2048;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Calls body(first, count, x, y, image) for those of `count` pixels from `pixel` on that lie in one row, row after
/// row.
template <class F>
void for_each_run(const ConvWalk& walk, int64_t pixel, int count, const F& body) {
  int64_t x = pixel % walk.horizontal.out, y = pixel / walk.horizontal.out % walk.vertical.out,
          image = pixel / walk.area();
  for (int i = 0; i < count;) {
    const int run = static_cast<int>(std::min<int64_t>(count - i, walk.horizontal.out - x));
    body(i, run, x, y, image);
    i += run;
    x = 0;
    if (++y == walk.vertical.out) y = 0, ++image;
  }
}

}  // namespace

/// Tells a sink of finished pixels, those of several tiles at once.
template <class T>
class DirectConv<T>::Finished {
 public:
  Finished(RowSink* sink, int64_t channels) : sink_(sink), most_(std::max<int64_t>(1, kSinkElements / channels)) {}
  ~Finished() { tell(); }
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

template <class T>
DirectConv<T>::DirectConv(const ConvWalk& walk) : walk_(walk) {
  rows_ = gemm::kernels<T>().max_rows;
  cols_ = gemm::kernels<T>().max_cols;
  panels_ = ceil_div(walk.group_out, cols_);
  const ConvAxis &v = walk.vertical, &h = walk.horizontal;
  band_width_ = (h.out - 1) * h.step + (h.window - 1) * h.reach + 1;
  line_ = ceil_div(band_width_, h.step);
  way_ = choose_way();
  if (way_ == Way::kStrided) {
    const int64_t in_row = std::max<int64_t>(1, ceil_div(h.out, h.divide));
    rows_ = static_cast<int>(ceil_div(in_row, ceil_div(in_row, rows_)));
  }
  if (way_ == Way::kPixels || way_ == Way::kPanels || way_ == Way::kStrided)
    zeros_.assign(static_cast<size_t>(walk.depth * (walk.groups == 1 ? walk.horizontal.window : 1)), T(0));
  if (way_ == Way::kPanels) {
    const int64_t pixels = walk.batch * walk.area();
    rows_ = static_cast<int>(ceil_div(pixels, ceil_div(pixels, rows_)));
  }
  if (way_ == Way::kBands || way_ == Way::kOutputs) prepare_bands();
  if (way_ == Way::kImages) {
    const int64_t image_bytes = v.in * h.in * walk.in_c * static_cast<int64_t>(sizeof(T));
    const int64_t most = image_bytes % kConflictStride == 0 ? std::min<int64_t>(rows_, kConflictRows) : rows_;
    rows_ = static_cast<int>(ceil_div(walk.batch, ceil_div(walk.batch, most)));
  }
}

template <class T>
void DirectConv<T>::prepare_bands() {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const bool outputs = way_ == Way::kOutputs;
  const int64_t row_bytes = std::max<int64_t>(1, line_ * h.step * walk_.in_c * static_cast<int64_t>(sizeof(T)));
  const int64_t rows = outputs ? (kMostBandBytes / row_bytes - (v.window - 1) * v.reach - 1) / v.step + 1
                               : kBandBytes / (row_bytes * v.step);
  band_rows_ = std::clamp<int64_t>(rows, 1, std::max<int64_t>(1, v.out));
  if (!outputs) rows_ = h.out > 0 ? static_cast<int>(ceil_div(h.out, ceil_div(h.out, rows_))) : 1;
  for (int64_t tap = 0; tap < walk_.taps(); ++tap) {
    const int64_t row = tap / h.window * v.reach, col = tap % h.window * h.reach;
    for (int64_t c = 0; c < (outputs ? 1 : walk_.in_c); ++c)
      in_offsets_.push_back(((row * walk_.in_c + c) * h.step + col % h.step) * line_ + col / h.step);
  }
}

template <class T>
typename DirectConv<T>::Way DirectConv<T>::choose_way() const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const double band = static_cast<double>((v.window - 1) * v.reach + 1) * static_cast<double>(line_ * h.step);
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
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t image = walk_.vertical.in * walk_.horizontal.in, seen = walk_.area() * walk_.taps();
  const int64_t read_bytes = walk_.batch * std::min(image, seen) * walk_.in_c * kSize;
  return walk_.groups == 1 && walk_.batch * walk_.area() > rows_ && packed_filter_size() * kSize > kNearBytes &&
         read_bytes <= kNearBytes;
}

template <class T>
int64_t DirectConv<T>::packed_filter_size() const {
  const int64_t widest = gemm::kWidestCols<T>;
  return walk_.groups * ceil_div(walk_.group_out, widest) * widest * walk_.taps() * walk_.depth;
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
void DirectConv<T>::multiply(gemm::TileArgs<T>& t, const Job& job, T* out, std::vector<const T*>* pointers) const {
  if (pointers) t.row_pointers = pointers->data();
  const gemm::Ahead ahead[2] = {t.ahead[0], t.ahead[1]};
  const bool looks_ahead = ahead[0].count > 0;
  for (int64_t group = 0; group < walk_.groups; ++group) {
    if (group > 0) {
      for (const T*& p : *pointers) p += p == zeros_.data() ? 0 : walk_.depth;
    }
    for (int64_t panel = group * panels_; panel < (group + 1) * panels_; ++panel) {
      for (int i = 0; looks_ahead && i < 2; ++i) t.ahead[i] = gemm::part_of(ahead[i], panel, walk_.groups * panels_);
      multiply_panel(t, job, out, panel);
    }
  }
}

template <class T>
void DirectConv<T>::multiply_panel(gemm::TileArgs<T>& t, const Job& job, T* out, int64_t panel) const {
  const int64_t first = panel % panels_ * cols_, channel = panel / panels_ * walk_.group_out + first;
  t.row_pointer_stride = rows_;
  t.b_step = cols_;
  t.cols = static_cast<int>(std::min<int64_t>(cols_, walk_.group_out - first));
  t.b = job.packed + panel * panel_size();
  t.c = out + channel;
  gemm::kernels<T>().tile(t);
  if (job.epilogue.apply) job.epilogue.apply(job.epilogue.state, t.c, t.rows, t.cols, t.c_step, channel);
}

template <class T>
void DirectConv<T>::point_to_pixels(gemm::TileArgs<T>& t, const T* in, int64_t pixel, const T** pointers) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t in_c = walk_.in_c;
  auto sees_inside = [&](int run, int64_t x, int64_t first_tap, int64_t last_tap) {
    return h.divide == 1 && h.source(x, first_tap) >= 0 && h.source(x + run - 1, last_tap) >= 0;
  };
  bool inside = walk_.groups == 1 && h.side_by_side();
  if (inside) {
    for_each_run(walk_, pixel, t.rows, [&](int, int run, int64_t x, int64_t, int64_t) {
      inside = inside && sees_inside(run, x, 0, h.window - 1);
    });
  }
  const int64_t taps_w = inside ? 1 : h.window;  // a row of taps as one
  t.taps = v.window * taps_w;
  t.depth = walk_.depth * (h.window / taps_w);
  for_each_run(walk_, pixel, t.rows, [&](int first, int run, int64_t x, int64_t y, int64_t image) {
    const T** tap = pointers + first;
    for (int64_t kh = 0; kh < v.window; ++kh) {
      const int64_t row = v.source(y, kh);
      const T* line = in + (image * v.in + row) * h.in * in_c;
      for (int64_t kw = 0; kw < taps_w; ++kw, tap += rows_) {
        if (row >= 0 && (inside || sees_inside(run, x, kw, kw))) {
          const T* from = line + h.source(x, kw) * in_c;
          for (int i = 0; i < run; ++i) tap[i] = from + i * h.step * in_c;
          continue;
        }
        for (int i = 0; i < run; ++i) {
          const int64_t col = row < 0 ? -1 : h.source(x + i, kw);
          tap[i] = col < 0 ? zeros_.data() : line + col * in_c;
        }
      }
    }
  });
}

// The tile that begins at `pixel` will read a row of the image that none before it did, and write.
template <class T>
void DirectConv<T>::look_ahead(gemm::TileArgs<T>& t, const Job& job, int64_t pixel) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t count = std::min<int64_t>(rows_, walk_.batch * walk_.area() - pixel);
  if (count <= 0) return;
  t.ahead[0] = gemm::ahead_of(job.out + pixel * walk_.out_c, count * walk_.out_c);
  const int64_t x = pixel % h.out, y = pixel / h.out % v.out, image = pixel / walk_.area();
  const int64_t row = (y * v.step - v.pad + (v.window - 1) * v.reach) / v.divide,
                col = (x * h.step - h.pad + (h.window - 1) * h.reach) / h.divide;
  const int64_t first = (image * v.in + row) * h.in + col,
                all = walk_.batch * v.in * h.in;  // below the image: the next one
  const int64_t begin = std::clamp<int64_t>(first, 0, all),
                end = std::clamp<int64_t>(first + ceil_div(count * h.step, h.divide), 0, all);
  t.ahead[1] = gemm::ahead_of(job.in + begin * walk_.in_c, (end - begin) * walk_.in_c);
}

template <class T>
void DirectConv<T>::run_pixels(const Job& job, int64_t begin, int64_t end) const {
  const int64_t pixels = walk_.batch * walk_.area();
  thread_local std::vector<const T*> pointers;
  pointers.assign(static_cast<size_t>(walk_.taps() * rows_), zeros_.data());
  Finished finished(job.sink, walk_.out_c);
  for (int64_t pixel = begin * rows_; pixel < std::min(end * rows_, pixels); pixel += rows_) {
    gemm::TileArgs<T> t{};
    t.rows = static_cast<int>(std::min<int64_t>(rows_, pixels - pixel));
    t.c_step = walk_.out_c;
    point_to_pixels(t, job.in, pixel, pointers.data());
    look_ahead(t, job, pixel + t.rows);
    multiply(t, job, job.out + pixel * walk_.out_c, &pointers);
    finished.add(pixel, t.rows);
  }
}

// While the panel passes by this tile: what the next one writes, and this one's part of the panel after it.
template <class T>
void DirectConv<T>::look_to_next_panel(gemm::TileArgs<T>& t, const Job& job, int64_t panel, int64_t tile,
                                       int64_t tiles) const {
  const bool last = tile + 1 == tiles;
  const int64_t next = last ? 0 : (tile + 1) * rows_, channel = (last ? panel + 1 : panel) * cols_;
  t.ahead[0] = t.ahead[1] = {};
  if (panel + 1 == panels_) return;
  t.ahead[0] = {reinterpret_cast<const char*>(job.out + next * walk_.out_c + channel),
                walk_.out_c * static_cast<int64_t>(sizeof(T)), t.rows};
  t.ahead[1] = gemm::part_of(gemm::ahead_of(job.packed + (panel + 1) * panel_size(), panel_size()), tile, tiles);
}

template <class T>
void DirectConv<T>::run_panels(const Job& job, int64_t begin, int64_t end) const {
  const int64_t pixels = walk_.batch * walk_.area(), tiles = ceil_div(pixels, rows_), size = walk_.taps() * rows_;
  thread_local std::vector<const T*> pointers;
  thread_local std::vector<gemm::TileArgs<T>> args;
  pointers.assign(static_cast<size_t>(tiles * size), zeros_.data());
  args.assign(static_cast<size_t>(tiles), {});
  for (int64_t tile = 0; tile < tiles; ++tile) {
    gemm::TileArgs<T>& t = args[static_cast<size_t>(tile)];
    t.rows = static_cast<int>(std::min<int64_t>(rows_, pixels - tile * rows_));
    t.c_step = walk_.out_c;
    t.row_pointers = pointers.data() + tile * size;
    point_to_pixels(t, job.in, tile * rows_, pointers.data() + tile * size);
  }
  for (int64_t panel = begin; panel < end; ++panel) {
    for (int64_t tile = 0; tile < tiles; ++tile) {
      gemm::TileArgs<T>& t = args[static_cast<size_t>(tile)];
      look_to_next_panel(t, job, panel, tile, tiles);
      multiply_panel(t, job, job.out + tile * rows_ * walk_.out_c, panel);
    }
  }
}

// Rows [first_row, first_row + rows) of what the window sees, those outside the image as zeros.
template <class T>
void DirectConv<T>::copy_band(const T* image, int64_t first_row, int64_t rows, T* band) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t in_c = walk_.in_c, step = h.step;
  for (int64_t row = first_row; row < first_row + rows; ++row) {
    const T* line = image + row * h.in * in_c;
    for (int64_t c = 0; c < in_c; ++c) {
      for (int64_t phase = 0; phase < step; ++phase, band += line_) {
        // Pixel i of the line is column i * step + phase - pad of the image; [first, last) lie in it.
        const int64_t offset = phase - h.pad;
        int64_t first = offset >= 0 ? 0 : std::min(line_, ceil_div(-offset, step));
        int64_t last = h.in <= offset ? 0 : std::min(line_, ceil_div(h.in - offset, step));
        if (row < 0 || row >= v.in || last < first) first = last = 0;
        std::fill_n(band, first, T(0));
        const T* from = line + offset * in_c + c;
        if (step * in_c == 1) {
          std::copy(from + first, from + last, band + first);
        } else {
          for (int64_t i = first; i < last; ++i) band[i] = from[i * step * in_c];
        }
        std::fill(band + last, band + line_, T(0));
      }
    }
  }
}

template <class T>
template <class F>
void DirectConv<T>::for_each_band_row(const Job& job, int64_t begin, int64_t end, const F& body) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t in_c = walk_.in_c, bands = ceil_div(v.out, band_rows_), row_size = line_ * h.step * in_c,
                window_rows = (v.window - 1) * v.reach + 1;
  thread_local std::vector<T> band;
  // A tile whose columns are pixels reads whole vectors.
  band.resize(static_cast<size_t>(((band_rows_ - 1) * v.step + window_rows) * row_size + gemm::kWidestCols<T>));
  for (int64_t index = begin; index < end; ++index) {
    const int64_t image = index / bands, first_y = index % bands * band_rows_,
                  rows = std::min(band_rows_, v.out - first_y);
    copy_band(job.in + image * v.in * h.in * in_c, first_y * v.step - v.pad, (rows - 1) * v.step + window_rows,
              band.data());
    for (int64_t y = 0; y < rows; ++y) body(band.data() + y * v.step * row_size, (image * v.out + first_y + y) * h.out);
  }
}

template <class T>
void DirectConv<T>::run_bands(const Job& job, int64_t begin, int64_t end) const {
  const int64_t width = walk_.horizontal.out, out_c = walk_.out_c;
  Finished finished(job.sink, out_c);
  gemm::TileArgs<T> t{};
  t.taps = static_cast<int64_t>(in_offsets_.size());
  t.depth = 1;
  t.a_offsets = in_offsets_.data();
  t.c_step = out_c;
  for_each_band_row(job, begin, end, [&](const T* line, int64_t pixel) {
    for (int64_t x = 0; x < width; x += rows_) {
      t.rows = static_cast<int>(std::min<int64_t>(rows_, width - x));
      t.a = line + x;
      multiply(t, job, job.out + (pixel + x) * out_c, nullptr);
      finished.add(pixel + x, t.rows);
    }
  });
}

template <class T>
void DirectConv<T>::run_outputs(const Job& job, int64_t begin, int64_t end) const {
  const int64_t width = walk_.horizontal.out, out_c = walk_.out_c, taps = walk_.taps();
  thread_local std::vector<int64_t> filter_offsets;
  filter_offsets.resize(static_cast<size_t>(taps));
  for (int64_t tap = 0; tap < taps; ++tap) filter_offsets[static_cast<size_t>(tap)] = tap * walk_.depth * out_c;
  Finished finished(job.sink, out_c);
  T turned[kFewOutputs * gemm::kWidestCols<T>];
  gemm::TileArgs<T> t{};
  t.rows = static_cast<int>(out_c);
  t.taps = taps;
  t.depth = walk_.depth;
  t.a = job.packed;
  t.a_offsets = filter_offsets.data();
  t.a_step = out_c;
  t.b_offsets = in_offsets_.data();
  t.b_step = walk_.horizontal.step * line_;
  t.c = turned;
  t.c_step = cols_;
  for_each_band_row(job, begin, end, [&](const T* line, int64_t pixel) {
    for (int64_t x = 0; x < width; x += cols_) {
      t.cols = static_cast<int>(std::min<int64_t>(cols_, width - x));
      t.b = line + x;
      gemm::kernels<T>().tile(t);
      T* out = job.out + (pixel + x) * out_c;
      for (int64_t i = 0; i < t.cols; ++i) {
        for (int64_t c = 0; c < out_c; ++c) out[i * out_c + c] = turned[c * cols_ + i];
      }
      if (job.epilogue.apply) job.epilogue.apply(job.epilogue.state, out, t.cols, out_c, out_c, 0);
      finished.add(pixel + x, t.cols);
    }
  });
}

template <class T>
gemm::TileArgs<T> DirectConv<T>::without_taps(int64_t rows, int64_t step, SeenTaps& seen) const {
  seen.pointers.clear();
  seen.offsets.resize(static_cast<size_t>(walk_.taps()));
  gemm::TileArgs<T> t{};
  t.rows = static_cast<int>(std::min<int64_t>(rows_, rows));
  t.c_step = step;
  t.depth = walk_.depth;
  t.b_offsets = seen.offsets.data();
  return t;
}

template <class T>
void DirectConv<T>::run_images(const Job& job, int64_t begin, int64_t end) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t area = walk_.area(), in_c = walk_.in_c, image_size = v.in * h.in * in_c;
  const bool by_rows = walk_.groups == 1 && h.side_by_side();  // a row of taps as one
  thread_local SeenTaps taps;
  for (int64_t index = begin; index < end; ++index) {
    const int64_t first = index / area * rows_, pixel = index % area, y = pixel / h.out, x = pixel % h.out;
    gemm::TileArgs<T> t = without_taps(walk_.batch - first, area * walk_.out_c, taps);
    for (int64_t kh = 0; kh < v.window; ++kh) {
      const int64_t row = v.source(y, kh);
      if (row < 0) continue;
      int64_t seen = 0;
      for (int64_t kw = 0; kw < h.window; ++kw) {
        const int64_t col = h.source(x, kw);
        if (col < 0 || (by_rows && seen++ > 0)) continue;
        add_tap(t, kh * h.window + kw, taps);
        const T* from = job.in + first * image_size + (row * h.in + col) * in_c;
        for (int64_t i = 0; i < rows_; ++i)
          taps.pointers.push_back(from + std::min<int64_t>(i, t.rows - 1) * image_size);
      }
      if (by_rows) t.depth = walk_.depth * seen;
    }
    multiply(t, job, job.out + (first * area + pixel) * walk_.out_c, &taps.pointers);
  }
}

template <class T>
int64_t DirectConv<T>::strided_tiles() const {
  return ceil_div(ceil_div(walk_.horizontal.out, walk_.horizontal.divide), rows_);
}

template <class T>
void DirectConv<T>::run_strided(const Job& job, int64_t begin, int64_t end) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t in_c = walk_.in_c, out_c = walk_.out_c, tiles = strided_tiles();
  thread_local SeenTaps taps;
  for (int64_t index = begin; index < end; ++index) {
    const int64_t line = index / tiles / remainders(), image = line / v.out, y = line % v.out;
    const int64_t first = index / tiles % remainders() + index % tiles * rows_ * h.divide;
    if (first >= h.out) continue;
    gemm::TileArgs<T> t = without_taps(ceil_div(h.out - first, h.divide), h.divide * out_c, taps);
    for (int64_t kh = 0; kh < v.window; ++kh) {
      const int64_t row = v.source(y, kh);
      if (row < 0) continue;
      for (int64_t kw = 0; kw < h.window; ++kw) {
        if ((first - h.pad + kw * h.reach) % h.divide != 0) continue;
        add_tap(t, kh * h.window + kw, taps);
        for (int64_t i = 0; i < rows_; ++i) {
          const int64_t col = i < t.rows ? h.source(first + i * h.divide, kw) : -1;
          taps.pointers.push_back(col < 0 ? zeros_.data() : job.in + ((image * v.in + row) * h.in + col) * in_c);
        }
      }
    }
    multiply(t, job, job.out + (line * h.out + first) * out_c, &taps.pointers);
  }
}

template <class T>
void DirectConv<T>::run(Parallel& parallel, const T* in, const T* packed_filter, T* out,
                        const ConvEpilogue<T>& epilogue, RowSink* sink) const {
  const Job job{in, packed_filter, out, epilogue, sink};
  const double pixel_ns = static_cast<double>(walk_.out_c * walk_.taps() * walk_.depth) * 0.02 + 200.0 / rows_;
  const int64_t area = walk_.area(), tiles = ceil_div(walk_.batch * area, rows_);
  switch (way_) {
    case Way::kPixels:
      return parallel.run(tiles, pixel_ns * rows_, [&](int64_t begin, int64_t end) { run_pixels(job, begin, end); });
    case Way::kPanels:
      parallel.run(panels_, pixel_ns * static_cast<double>(walk_.batch * area * cols_ / walk_.out_c),
                   [&](int64_t begin, int64_t end) { run_panels(job, begin, end); });
      if (!sink) return;
      return parallel.run(walk_.batch * area, static_cast<double>(walk_.out_c) * 0.1,
                          [&](int64_t begin, int64_t end) { sink->finished(begin, end - begin); });
    case Way::kBands:
    case Way::kOutputs:
      return parallel.run(walk_.batch * ceil_div(walk_.vertical.out, band_rows_),
                          pixel_ns * static_cast<double>(band_rows_ * walk_.horizontal.out),
                          [&](int64_t begin, int64_t end) {
                            way_ == Way::kBands ? run_bands(job, begin, end) : run_outputs(job, begin, end);
                          });
    case Way::kImages:
      return parallel.run(ceil_div(walk_.batch, rows_) * area, pixel_ns * rows_,
                          [&](int64_t begin, int64_t end) { run_images(job, begin, end); });
    case Way::kStrided:
      return parallel.run(walk_.batch * walk_.vertical.out * remainders() * strided_tiles(), pixel_ns * rows_,
                          [&](int64_t begin, int64_t end) { run_strided(job, begin, end); });
  }
}

template class DirectConv<float>;
template class DirectConv<double>;
template class DirectConv<uint32_t>;

}  // namespace emplace
