#include "core/base/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "core/base/stop.h"

namespace emplace {
namespace {

constexpr size_t kPiece = size_t{4} << 20;  // between two looks at whether to stop; zlib counts in 32 bits

/// Of a mapped file: gives back what was read, now and then.
class PagesBehind {
 public:
  PagesBehind(const InputFile* file, std::string_view bytes)
      : file_(file), offset_(file_ ? static_cast<size_t>(bytes.data() - file_->bytes().data()) : 0) {}

  void read_up_to(size_t at) {
    constexpr size_t kEvery = size_t{16} << 20;
    if (!file_ || at < forgotten_ + kEvery) return;
    file_->forget(0, offset_ + at);
    forgotten_ = at;
  }

 private:
  const InputFile* file_;
  size_t offset_, forgotten_ = 0;
};

class MemoryStream final : public ByteStream {
 public:
  MemoryStream(std::string_view bytes, const InputFile* file) : bytes_(bytes), pages_(file, bytes) {}

  size_t read(void* to, size_t n) override {
    size_t done = 0;
    while (done < n && at_ < bytes_.size() && !stop_requested()) {
      const size_t piece = std::min({kPiece, n - done, bytes_.size() - at_});
      std::memcpy(static_cast<char*>(to) + done, bytes_.data() + at_, piece);
      at_ += piece, done += piece;
      pages_.read_up_to(at_);
    }
    return done;
  }
  std::string_view in_memory() const override { return bytes_.substr(at_); }

 private:
  std::string_view bytes_;
  PagesBehind pages_;
  size_t at_ = 0;
};

class PackedStream final : public ByteStream {
 public:
  PackedStream(std::string_view bytes, int window_bits, const InputFile* file) : bytes_(bytes), pages_(file, bytes) {
    open_ = inflateInit2(&stream_, window_bits) == Z_OK;
  }
  ~PackedStream() override {
    if (open_) inflateEnd(&stream_);
  }
  PackedStream(const PackedStream&) = delete;
  PackedStream& operator=(const PackedStream&) = delete;

  size_t read(void* to, size_t n) override {
    size_t done = 0;
    while (open_ && !ended_ && done < n && !stop_requested()) {
      const auto in = static_cast<uInt>(std::min(kPiece, bytes_.size() - at_)),
                 room = static_cast<uInt>(std::min(kPiece, n - done));
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes_.data() + at_));
      stream_.avail_in = in;
      stream_.next_out = static_cast<Bytef*>(to) + done;
      stream_.avail_out = room;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      at_ += in - stream_.avail_in;
      done += room - stream_.avail_out;
      pages_.read_up_to(at_);
      ended_ = result != Z_OK || (in == stream_.avail_in && room == stream_.avail_out);
    }
    return done;
  }

 private:
  std::string_view bytes_;
  PagesBehind pages_;
  size_t at_ = 0;
  bool open_ = false, ended_ = false;
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<ByteStream> open_stream(std::string_view bytes, Packing packing, const InputFile* file) {
  constexpr int kGzipHeader = 16;
  if (packing == Packing::kNone) return std::make_unique<MemoryStream>(bytes, file);
  return std::make_unique<PackedStream>(bytes, packing == Packing::kGzip ? kGzipHeader + MAX_WBITS : -MAX_WBITS, file);
}

}  // namespace emplace
