/// The little of the ZIP format that .npz files need: stored and deflated members, and 64-bit sizes when reading.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/byte_sink.h"
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
/// A member's bytes, its size and checksum verified.
Result<std::string> zip_extract(std::string_view archive, const ZipMember& member);
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
