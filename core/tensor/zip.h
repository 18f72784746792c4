/// The little of the ZIP format that .npz files need: stored and deflated members, and 64-bit sizes when reading.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
/// An archive of stored members. InvalidArgument above 4 GiB.
Result<std::string> zip_archive(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace emplace
