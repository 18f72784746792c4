#include "core/ops/image_file/gif_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/cat.h"

namespace emplace {
namespace {

/// Reads a file from its beginning. Beyond its end there is nothing.
class GifReader {
 public:
  explicit GifReader(std::string_view file) : rest_(file) {}

  bool take(size_t count, std::string_view& bytes) {
    if (count > rest_.size()) return false;
    bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return true;
  }
  bool byte(int& value) {
    std::string_view one;
    if (!take(1, one)) return false;
    value = static_cast<unsigned char>(one[0]);
    return true;
  }
  bool number(int64_t& value) {
    int low = 0, high = 0;
    if (!byte(low) || !byte(high)) return false;
    value = low | high << 8;
    return true;
  }
  /// A block and the byte before it that says how long it is; the last one is empty.
  bool block(std::string_view& bytes) {
    int size = 0;
    return byte(size) && take(static_cast<size_t>(size), bytes);
  }
  /// Colours of which these flags tell, if they do.
  bool colors(int flags, std::string_view& bytes) {
    return (flags & 0x80) == 0 || take(size_t{3} << ((flags & 7) + 1), bytes);
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// The codes of a frame: numbers of bits that grow with the table that they are from.
class GifCodes {
 public:
  explicit GifCodes(std::string_view blocks) : blocks_(blocks) {}

  bool next(int bits, int& code) {
    while (have_ < bits) {
      while (block_.empty()) {
        if (!blocks_.block(block_) || block_.empty()) return false;  // it ends before its picture does
      }
      word_ |= uint32_t{static_cast<unsigned char>(block_.front())} << have_;
      block_.remove_prefix(1);
      have_ += 8;
    }
    code = static_cast<int>(word_ & ((1U << bits) - 1));
    word_ >>= bits;
    have_ -= bits;
    return true;
  }
  /// Past the blocks that are left of the picture.
  bool skip_rest() {
    do {
      if (!blocks_.block(block_)) return false;
    } while (!block_.empty());
    return true;
  }
  std::string_view behind() const { return blocks_.rest(); }

 private:
  GifReader blocks_;
  std::string_view block_;
  uint32_t word_ = 0;
  int have_ = 0;
};

constexpr int kCodeBits = 12, kTexts = 1 << kCodeBits;

/// Runs of colours by their codes: each is another one with a colour behind it. A code that is not in the table yet is
/// decoded as giflib does: as the run before with a colour behind it.
class GifTable {
 public:
  explicit GifTable(int color_bits) : color_bits_(color_bits) { clear(); }

  int clear_code() const { return 1 << color_bits_; }
  int end_code() const { return clear_code() + 1; }
  int bits() const { return bits_; }
  void clear() {
    read_ = clear_code() + 2;
    bits_ = color_bits_ + 1;
    last_ = kNone;
    prefix_.fill(kNone);
  }
  /// Another code has been read: those that follow have more bits where the table needs them.
  void count_code() {
    if (read_ < kTexts + 1 && ++read_ > 1 << bits_ && bits_ < kCodeBits) ++bits_;
  }

  /// Writes the run of `code` to the end of `run` and adds another one to the table. Returns its length, 0 if there is
  /// no such run.
  size_t run_of(int code, std::array<uint8_t, kTexts>& run) {
    int at = kTexts, walk = code;
    const int added = read_ - 2;
    if (code >= clear_code() && prefix(code) == kNone) {
      walk = last_;
      suffix(added) = run[static_cast<size_t>(--at)] = static_cast<uint8_t>(first_of(code == added ? last_ : code));
    }
    for (; at > 1 && walk > clear_code() && walk < kTexts; walk = prefix(walk))
      run[static_cast<size_t>(--at)] = suffix(walk);
    if (at <= 1 || walk >= kTexts) return 0;
    run[static_cast<size_t>(--at)] = static_cast<uint8_t>(walk);
    if (last_ != kNone && prefix(added) == kNone) {
      prefix(added) = static_cast<int16_t>(last_);
      suffix(added) = static_cast<uint8_t>(first_of(code == added ? last_ : code));
    }
    last_ = code;
    return static_cast<size_t>(kTexts - at);
  }

 private:
  static constexpr int16_t kNone = kTexts + 2;

  int16_t& prefix(int code) { return prefix_[static_cast<size_t>(code)]; }
  uint8_t& suffix(int code) { return suffix_[static_cast<size_t>(code)]; }
  /// The first colour of a run; damaged tables may lead around in circles.
  int first_of(int code) {
    for (int i = 0; i <= kTexts && code > clear_code(); ++i) {
      if (code >= kTexts) return kNone;
      code = prefix(code);
    }
    return code;
  }

  const int color_bits_;
  int bits_ = 0, read_ = 0, last_ = kNone;
  std::array<int16_t, kTexts> prefix_;
  std::array<uint8_t, kTexts> suffix_;
};

/// Calls put(colour) for each point of the frame, as they come. Returns false where the codes make no
/// picture; `behind`: the file behind it.
template <class Put>
bool decode_frame(const GifFrame& frame, std::string_view& behind, const Put& put) {
  GifCodes codes(frame.codes);
  GifTable table(frame.code_bits);
  std::array<uint8_t, kTexts> run;
  const int64_t points = frame.width * frame.height;
  for (int64_t at = 0; at < points;) {
    int code = 0;
    if (!codes.next(table.bits(), code) || code == table.end_code()) return false;
    table.count_code();
    if (code == table.clear_code()) {
      table.clear();
      continue;
    }
    const size_t length = table.run_of(code, run);
    if (length == 0) return false;
    for (size_t i = run.size() - length; i < run.size() && at < points; ++i, ++at) put(run[i]);
  }
  if (!codes.skip_rest()) return false;
  behind = codes.behind();
  return true;
}

/// Row `i` of an interlaced picture of so many rows, as they come: each eighth, those between, and so on.
int64_t interlaced_row(int64_t i, int64_t rows) {
  constexpr int64_t kFirst[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
  for (int pass = 0; pass < 4; ++pass) {
    const int64_t count = rows > kFirst[pass] ? (rows - kFirst[pass] + kStep[pass] - 1) / kStep[pass] : 0;
    if (i < count) return kFirst[pass] + i * kStep[pass];
    i -= count;
  }
  return i;
}

/// What stands between frames. Sets the transparent colour of the next one.
bool read_extension(GifReader& in, int& transparent) {
  int kind = 0;
  std::string_view block;
  if (!in.byte(kind)) return false;
  constexpr int kGraphics = 0xf9;
  for (bool first = true;; first = false) {
    if (!in.block(block)) return false;
    if (block.empty()) return true;
    if (first && kind == kGraphics && block.size() == 4)
      transparent = (block[0] & 1) != 0 ? static_cast<unsigned char>(block[3]) : -1;
  }
}

bool read_frame(GifReader& in, std::string_view shared_colors, GifFrame& frame) {
  int flags = 0;
  if (!in.number(frame.left) || !in.number(frame.top) || !in.number(frame.width) || !in.number(frame.height))
    return false;
  if (!in.byte(flags)) return false;
  frame.interlaced = (flags & 0x40) != 0;
  frame.colors = shared_colors;
  if (!in.colors(flags, frame.colors)) return false;
  if (!in.byte(frame.code_bits) || frame.code_bits > 8) return false;
  frame.codes = in.rest();
  if (frame.width == 0 || frame.height == 0) return false;
  std::string_view behind;
  if (!decode_frame(frame, behind, [](uint8_t) {})) return false;
  in = GifReader(behind);
  return true;
}

/// The frames up to the first that cannot be decoded. Returns what is wrong, or nothing.
std::string_view read_frames(GifReader in, std::string_view colors, GifFile& gif) {
  int kind = 0;
  GifFrame frame{};
  frame.transparent = -1;
  while (in.byte(kind) && kind != ';') {
    if (kind == '!') {
      if (!read_extension(in, frame.transparent)) return "an extension is cut off";
      continue;
    }
    if (kind != ',') return "neither a frame nor an extension nor the end";
    if (!read_frame(in, colors, frame)) return "a frame cannot be decoded";
    gif.frames.push_back(frame);
    frame.transparent = -1;
  }
  return kind == ';' ? "" : "its end is missing";
}

}  // namespace

Result<GifFile> read_gif(std::string_view file) {
  GifReader in(file);
  std::string_view mark, colors;
  int64_t width = 0, height = 0;
  int flags = 0, background = 0, aspect = 0;
  const auto invalid = [&](std::string_view why) {
    return invalid_argument(cat("Invalid GIF data (size ", file.size(), "), ", why));
  };
  if (!in.take(6, mark) || !in.number(width) || !in.number(height) || !in.byte(flags) || !in.byte(background) ||
      !in.byte(aspect) || !in.colors(flags, colors))
    return invalid("failed to open gif file: its header is cut off");
  GifFile gif;
  const std::string_view wrong = read_frames(in, colors, gif);
  if (gif.frames.empty()) {
    return invalid(wrong.empty() ? "gif file does not contain any image" : cat("failed to slurp gif file: ", wrong));
  }
  for (const GifFrame& frame : gif.frames) {
    gif.width = std::max(gif.width, frame.width);
    gif.height = std::max(gif.height, frame.height);
  }
  return gif;
}

Status decode_gif(const GifFile& file, int64_t count, uint8_t* out) {
  const int64_t frame_bytes = file.width * file.height * 3;
  for (int64_t k = 0; k < count; ++k, out += frame_bytes) {
    const GifFrame& frame = file.frames[static_cast<size_t>(k)];
    if (k > 0) {
      std::memcpy(out, out - frame_bytes, static_cast<size_t>(frame_bytes));
    } else {
      std::memset(out, 0, static_cast<size_t>(frame_bytes));
    }
    if (frame.colors.empty()) return invalid_argument(cat("Invalid GIF data, missing color map for frame ", k));
    const int colors = static_cast<int>(frame.colors.size() / 3);
    int beyond = -1;         // a colour that there is not
    int64_t x = 0, row = 0;  // of the next point
    std::string_view behind;
    decode_frame(frame, behind, [&](uint8_t color) {
      const int64_t to_x = frame.left + x,
                    to_y = frame.top + (frame.interlaced ? interlaced_row(row, frame.height) : row);
      if (++x == frame.width) {
        x = 0;
        ++row;
      }
      if (to_x >= file.width || to_y >= file.height || color == frame.transparent) return;
      if (color >= colors) {
        beyond = color;
      } else {
        std::memcpy(out + (to_y * file.width + to_x) * 3, frame.colors.data() + size_t{3} * color, 3);
      }
    });
    if (beyond >= 0) {
      return invalid_argument(
          cat("Invalid GIF data, found color index ", beyond, " outside of color map range ", colors));
    }
  }
  return ok_status();
}

}  // namespace emplace
