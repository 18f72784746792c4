/// The little of the ZIP format that .npz files need: stored and deflated members, and 64-bit sizes when reading.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/byte_sink.h"
#include "core/base/byte_stream.h"
#include "core/base/status.h"

namespace emplace {

struct ZipMember {
  std::string name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  uint64_t compressed_size = 0, size = 0, offset = 0;
  uint32_t crc = 0;
};

/// The central directory of an archive. InvalidArgument if it is none.
Result<std::vector<ZipMember>> zip_members(std::string_view archive);

/// A member's bytes, unpacked as they are read: what a directory claims of its size takes no memory.
class ZipMemberStream final : public ByteStream {
 public:
  /// InvalidArgument if it is damaged, or claims a size that it cannot have. `file`: that of the archive, or null.
  static Result<std::unique_ptr<ZipMemberStream>> open(std::string_view archive, const ZipMember& member,
                                                       const InputFile* file = nullptr);

  size_t read(void* to, size_t n) override;
  /// Of a stored member.
  std::string_view in_memory() const override { return bytes_->in_memory(); }
  uint64_t left() const { return member_.size - read_; }
  /// Reads what is left; InvalidArgument if size or checksum turn out wrong.
  Status finish();

 private:
  ZipMemberStream(const ZipMember& member, std::unique_ptr<ByteStream> bytes)
      : member_(member), bytes_(std::move(bytes)) {}

  ZipMember member_;
  std::unique_ptr<ByteStream> bytes_;
  uint64_t read_ = 0;
  uint32_t crc_ = 0;
};

/// An archive of stored members, as they come.
class ZipWriter {
 public:
  explicit ZipWriter(ByteSink sink) : sink_(std::move(sink)) {}
  /// A member: `parts`, one behind the other. InvalidArgument above 4 GiB, of this or of all.
  Status add(const std::string& name, const std::vector<std::string_view>& parts);
  /// Its directory, at the end.
  Status finish();

 private:
  Status write(std::string_view bytes);

  const ByteSink sink_;
  std::string directory_;
  uint64_t written_ = 0, members_ = 0;
};

}  // namespace emplace
