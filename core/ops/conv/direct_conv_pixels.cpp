// Part of core/ops/conv/direct_conv.h: the ways that read images through one pointer per pixel and tap, and the product
// of one tile.
#include <algorithm>

#include "core/base/kept_by_thread.h"
#include "core/ops/conv/direct_conv.h"
#include "core/ops/conv/direct_conv_parts.h"
#include "core/ops/gemm/ahead.h"

namespace emplace {
namespace {

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

/// This thread's, for so many elements.
template <class T>
std::vector<T>& room_for_copies(int64_t elements) {
  static constinit thread_local KeptByThread<std::vector<T>> kept;
  std::vector<T>& room = kept.get();
  if (room.size() < static_cast<size_t>(elements)) room.resize(static_cast<size_t>(elements));
  return room;
}

}  // namespace

template <class T>
inline void DirectConv<T>::multiply_panel(gemm::TileArgs<T>& t, const Job& job, T* out, int64_t group,
                                          int64_t panel) const {
  const int64_t first = (panel - group * panels_) * cols_, channel = group * walk_.group_out + first;
  t.row_pointer_stride = rows_;
  t.b_step = cols_;
  t.cols = static_cast<int>(std::min<int64_t>(cols_, walk_.group_out - first));
  t.b = job.packed + panel * panel_size_;
  t.c = out + channel;
  job.kernels.tile(t);
  if (job.epilogue.apply) job.epilogue.apply(job.epilogue.state, t.c, t.rows, t.cols, t.c_step, channel);
}

template <class T>
void DirectConv<T>::multiply(gemm::TileArgs<T>& t, const Job& job, T* out, std::vector<const T*>* pointers) const {
  if (pointers) t.row_pointers = pointers->data();
  const T* const next_tile = t.next_c;
  const int64_t products = t.taps * t.depth;
  for (int64_t group = 0; group < walk_.groups; ++group) {
    if (group > 0) {
      for (const T*& p : *pointers) p += p == zeros_.data() ? 0 : walk_.depth;
    }
    const int64_t first = group * panels_;
    for (int64_t panel = first; panel < first + panels_; ++panel) {
      if (next_tile) {
        const bool last_of_group = panel + 1 == first + panels_;
        t.next_c = !last_of_group             ? out + group * walk_.group_out + (panel + 1 - first) * cols_
                   : group + 1 < walk_.groups ? out + (group + 1) * walk_.group_out
                                              : next_tile;
      }
      multiply_panel(t, job, out, group, panel);
      t.ahead[0] = after(t.ahead[0], products);
    }
  }
}

template <class T>
uint64_t DirectConv<T>::seen_rows(const Job& job, int64_t pixel, int rows) const {
  const ConvAxis& v = walk_.vertical;
  if (!job.finite || v.window > 64) return ~uint64_t{0};
  uint64_t seen = 0;
  for_each_run(walk_, pixel, rows, [&](int, int, int64_t, int64_t y, int64_t) {
    for (int64_t kh = 0; kh < v.window; ++kh) seen |= uint64_t{v.source(y, kh) >= 0} << kh;
  });
  return seen;
}

template <class T>
void DirectConv<T>::point_to_pixels(gemm::TileArgs<T>& t, const Job& job, int64_t pixel, const T** pointers,
                                    int64_t* offsets) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t in_c = walk_.in_c;
  if (pixel_by_pixel_) {
    t.taps = 1;
    t.depth = walk_.depth;
    t.a_row_step = in_c;
    for (int i = 0; i < t.rows; ++i) pointers[i] = job.in + (pixel + i) * in_c;
    return;
  }
  auto sees_inside = [&](int run, int64_t x, int64_t first_tap, int64_t last_tap) {
    return h.divide == 1 && h.source(x, first_tap) >= 0 && h.source(x + run - 1, last_tap) >= 0;
  };
  bool inside = walk_.groups == 1 && h.side_by_side();
  if (inside) {
    for_each_run(walk_, pixel, t.rows, [&](int, int run, int64_t x, int64_t, int64_t) {
      inside = inside && sees_inside(run, x, 0, h.window - 1);
    });
  }
  const uint64_t seen = seen_rows(job, pixel, t.rows);
  const auto is_seen = [&](int64_t kh) { return kh >= 64 || (seen >> kh & 1) != 0; };
  const int64_t taps_w = inside ? 1 : h.window;  // a row of taps as one
  const int64_t first_y = pixel / h.out % v.out;
  bool in_image = pixel % h.out + t.rows <= h.out;  // all rows that are seen, by pixels of one row
  int64_t taps = 0;
  for (int64_t kh = 0; kh < v.window; ++kh) {
    if (!is_seen(kh)) continue;
    in_image = in_image && v.source(first_y, kh) >= 0;
    for (int64_t kw = 0; kw < taps_w; ++kw) offsets[taps++] = (kh * h.window + kw) * walk_.depth * cols_;
  }
  t.a_row_step = inside && in_image ? h.step * in_c : 0;
  t.b_offsets = taps < v.window * taps_w ? offsets : nullptr;
  t.taps = taps;
  t.depth = walk_.depth * (h.window / taps_w);
  for_each_run(walk_, pixel, t.rows, [&](int first, int run, int64_t x, int64_t y, int64_t image) {
    const T** tap = pointers + first;
    for (int64_t kh = 0; kh < v.window; ++kh) {
      if (!is_seen(kh)) continue;
      const int64_t row = v.source(y, kh);
      const T* line = job.in + (image * v.in + row) * h.in * in_c;
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

template <class T>
void DirectConv<T>::copy_rows(gemm::TileArgs<T>& t, const T** pointers, T* to) const {
  for (int i = 0; i < t.rows; ++i, to += copied_row_) {
    std::copy_n(pointers[i], t.depth, to);
    pointers[i] = to;
  }
  t.a_row_step = copied_row_;
}

// The tile that begins at `pixel` will write, and read a row of the image that none before it did.
template <class T>
void DirectConv<T>::look_ahead(gemm::TileArgs<T>& t, const Job& job, int64_t pixel) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t count = std::min<int64_t>(rows_, walk_.batch * walk_.area() - pixel);
  if (count <= 0 || t.a_row_step == 0) return;
  const int64_t products = t.taps * t.depth * walk_.groups * panels_;
  t.next_c = job.out + pixel * walk_.out_c;
  if (pixel_by_pixel_) {
    t.ahead[0] = gemm::ahead_of(job.in + pixel * walk_.in_c, count * walk_.in_c, products);
    return;
  }
  const int64_t x = pixel % h.out, y = pixel / h.out % v.out, image = pixel / walk_.area();
  const int64_t row = (y * v.step - v.pad + (v.window - 1) * v.reach) / v.divide,
                col = (x * h.step - h.pad + (h.window - 1) * h.reach) / h.divide;
  const int64_t first = (image * v.in + row) * h.in + col,
                all = walk_.batch * v.in * h.in;  // below the image: the next one
  const int64_t begin = std::clamp<int64_t>(first, 0, all),
                end = std::clamp<int64_t>(first + pieces_of(count * h.step, h.divide), 0, all);
  t.ahead[0] = gemm::ahead_of(job.in + begin * walk_.in_c, (end - begin) * walk_.in_c, products);
}

template <class T>
void DirectConv<T>::run_pixels(const Job& job, int64_t begin, int64_t end) const {
  const int64_t pixels = walk_.batch * walk_.area();
  static constinit thread_local KeptByThread<std::vector<const T*>> kept_pointers;
  auto& pointers = kept_pointers.get();
  pointers.assign(static_cast<size_t>(walk_.taps() * rows_), zeros_.data());
  static constinit thread_local KeptByThread<std::vector<int64_t>> kept_offsets;
  auto& offsets = kept_offsets.get();
  offsets.resize(static_cast<size_t>(walk_.taps()));
  std::vector<T>& copied = room_for_copies<T>(rows_ * copied_row_);
  FinishedPixels finished(job.sink, walk_.out_c);
  gemm::TileArgs<T> t{};
  for (int64_t pixel = begin * rows_; pixel < std::min(end * rows_, pixels); pixel += rows_) {
    t.next_c = nullptr;
    t.ahead[0] = {};
    t.a_row_step = 0;
    t.rows = static_cast<int>(std::min<int64_t>(rows_, pixels - pixel));
    t.c_step = walk_.out_c;
    point_to_pixels(t, job, pixel, pointers.data(), offsets.data());
    if (copied_row_ > 0) copy_rows(t, pointers.data(), copied.data());
    look_ahead(t, job, pixel + t.rows);
    multiply(t, job, job.out + pixel * walk_.out_c, &pointers);
    finished.add(pixel, t.rows);
  }
}

// While the panel passes by tile `tile` of the block: what the next one writes, and this one's part of the panel after
// it, whoever multiplies by that.
template <class T>
void DirectConv<T>::look_to_next_panel(gemm::TileArgs<T>& t, const Job& job, const PixelBlock& block, int64_t tile,
                                       int64_t panel) const {
  const bool last = tile + 1 == block.tiles;
  const int64_t next = block.first + (last ? 0 : (tile + 1) * rows_), channel = (last ? panel + 1 : panel) * cols_;
  t.ahead[0] = {};
  t.next_c = nullptr;
  if (panel + 1 == panels_) return;
  const int64_t products = t.taps * t.depth;
  t.next_c = job.out + next * walk_.out_c + channel;
  t.ahead[0] = after(gemm::ahead_of(job.packed + (panel + 1) * panel_size_, panel_size_, block.tiles * products),
                     tile * products);
}

template <class T>
void DirectConv<T>::run_panels(const Job& job, int64_t begin, int64_t end) const {
  const int64_t pixels = walk_.batch * walk_.area(), size = walk_.taps() * rows_;
  static constinit thread_local KeptByThread<std::vector<const T*>> kept_pointers;
  auto& pointers = kept_pointers.get();
  static constinit thread_local KeptByThread<std::vector<gemm::TileArgs<T>>> kept_args;
  auto& args = kept_args.get();
  static constinit thread_local KeptByThread<std::vector<int64_t>> kept_offsets;
  auto& offsets = kept_offsets.get();
  for (PixelBlock block; block.first < pixels; block.first += block.tiles * rows_) {
    block.tiles = std::min(block_tiles_, pieces_of(pixels - block.first, rows_));
    pointers.assign(static_cast<size_t>(block.tiles * size), zeros_.data());
    args.assign(static_cast<size_t>(block.tiles), {});
    offsets.resize(static_cast<size_t>(block.tiles * walk_.taps()));
    std::vector<T>& copied = room_for_copies<T>(block.tiles * rows_ * copied_row_);
    for (int64_t tile = 0; tile < block.tiles; ++tile) {
      gemm::TileArgs<T>& t = args[static_cast<size_t>(tile)];
      const int64_t pixel = block.first + tile * rows_;
      t.rows = static_cast<int>(std::min<int64_t>(rows_, pixels - pixel));
      t.c_step = walk_.out_c;
      t.row_pointers = pointers.data() + tile * size;
      point_to_pixels(t, job, pixel, pointers.data() + tile * size, offsets.data() + tile * walk_.taps());
      if (copied_row_ > 0) copy_rows(t, pointers.data() + tile * size, copied.data() + tile * rows_ * copied_row_);
    }
    for (int64_t panel = begin; panel < end; ++panel) {
      for (int64_t tile = 0; tile < block.tiles; ++tile) {
        gemm::TileArgs<T>& t = args[static_cast<size_t>(tile)];
        look_to_next_panel(t, job, block, tile, panel);
        multiply_panel(t, job, job.out + (block.first + tile * rows_) * walk_.out_c, 0, panel);
      }
    }
  }
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
  static constinit thread_local KeptByThread<SeenTaps> kept_taps;
  auto& taps = kept_taps.get();
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
  return pieces_of(pieces_of(walk_.horizontal.out, walk_.horizontal.divide), rows_);
}

template <class T>
void DirectConv<T>::run_strided(const Job& job, int64_t begin, int64_t end) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t in_c = walk_.in_c, out_c = walk_.out_c, tiles = strided_tiles();
  static constinit thread_local KeptByThread<SeenTaps> kept_taps;
  auto& taps = kept_taps.get();
  for (int64_t index = begin; index < end; ++index) {
    const int64_t line = index / tiles / walk_.horizontal.remainders(), image = line / v.out, y = line % v.out;
    const int64_t first = index / tiles % walk_.horizontal.remainders() + index % tiles * rows_ * h.divide;
    if (first >= h.out) continue;
    gemm::TileArgs<T> t = without_taps(pieces_of(h.out - first, h.divide), h.divide * out_c, taps);
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

template class DirectConv<float>;
template class DirectConv<double>;
template class DirectConv<uint32_t>;

}  // namespace emplace
