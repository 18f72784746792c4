#include "core/tensor/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "core/base/cat.h"
#include "core/base/stop.h"

namespace emplace {
namespace {

constexpr uint32_t kEndOfDirectory = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50, kLocalHeader = 0x04034b50;
constexpr uint32_t kIn64 = 0xffffffff;  // the real value is in the 64-bit extension
// A deflated member cannot be more than about a thousand times its size: more is a forged header.
constexpr uint64_t kLargestRatio = 1100;

template <class T>
T get(std::string_view s, uint64_t at) {
  T v = 0;
  std::memcpy(&v, s.data() + at, sizeof v);
  return v;
}
bool holds(std::string_view s, uint64_t at, uint64_t bytes) { return at <= s.size() && bytes <= s.size() - at; }

template <class T>
void put(std::string& s, uint64_t v) {
  auto narrow = static_cast<T>(v);
  s.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
}

Status damaged(std::string_view what) { return invalid_argument(cat("not a readable zip archive: ", what)); }

// 64-bit sizes stand in an extra field, in the order of those that did not fit.
void read_extra64(std::string_view extra, ZipMember& m) {
  for (uint64_t at = 0; holds(extra, at, 4);) {
    auto id = get<uint16_t>(extra, at), length = get<uint16_t>(extra, at + 2);
    at += 4;
    if (id == 1) {
      uint64_t from = at;
      for (uint64_t* field : {&m.size, &m.compressed_size, &m.offset}) {
        if (*field != kIn64 || from + 8 > at + length || !holds(extra, from, 8)) continue;
        *field = get<uint64_t>(extra, from);
        from += 8;
      }
      return;
    }
    at += length;
  }
}

}  // namespace

Result<std::vector<ZipMember>> zip_members(std::string_view archive) {
  if (archive.size() < 22) return damaged("too short");
  uint64_t end = archive.size() - 22;
  while (get<uint32_t>(archive, end) != kEndOfDirectory) {
    if (end == 0 || archive.size() - end > 22 + 0xffff) return damaged("no directory at its end");
    --end;
  }
  uint64_t count = get<uint16_t>(archive, end + 10), at = get<uint32_t>(archive, end + 16);
  if (at == kIn64 && end >= 20 && get<uint32_t>(archive, end - 20) == kLocator64) {
    uint64_t end64 = get<uint64_t>(archive, end - 12);
    if (!holds(archive, end64, 56) || get<uint32_t>(archive, end64) != kEnd64) return damaged("bad 64-bit directory");
    count = get<uint64_t>(archive, end64 + 32);
    at = get<uint64_t>(archive, end64 + 48);
  }
  std::vector<ZipMember> members;
  for (uint64_t i = 0; i < count; ++i) {
    if (!holds(archive, at, 46) || get<uint32_t>(archive, at) != kDirectoryEntry) return damaged("bad directory entry");
    ZipMember m;
    m.method = get<uint16_t>(archive, at + 10);
    m.crc = get<uint32_t>(archive, at + 16);
    m.compressed_size = get<uint32_t>(archive, at + 20);
    m.size = get<uint32_t>(archive, at + 24);
    m.offset = get<uint32_t>(archive, at + 42);
    uint64_t name = get<uint16_t>(archive, at + 28), extra = get<uint16_t>(archive, at + 30),
             comment = get<uint16_t>(archive, at + 32);
    if (!holds(archive, at + 46, name + extra + comment)) return damaged("bad directory entry");
    m.name = archive.substr(at + 46, name);
    read_extra64(archive.substr(at + 46 + name, extra), m);
    members.push_back(std::move(m));
    at += 46 + name + extra + comment;
  }
  return members;
}

Result<std::unique_ptr<ZipMemberStream>> ZipMemberStream::open(std::string_view archive, const ZipMember& member,
                                                               const InputFile* file) {
  if (!holds(archive, member.offset, 30) || get<uint32_t>(archive, member.offset) != kLocalHeader)
    return damaged("bad member header");
  const uint64_t data =
      member.offset + 30 + get<uint16_t>(archive, member.offset + 26) + get<uint16_t>(archive, member.offset + 28);
  if (!holds(archive, data, member.compressed_size)) return damaged("a member reaches past the end");
  const std::string_view packed = archive.substr(data, member.compressed_size);
  if (member.method == 0) {
    if (member.size != member.compressed_size) return damaged("sizes of a stored member differ");
  } else if (member.method == 8) {
    if (member.size / kLargestRatio > member.compressed_size + 1) return damaged("a member claims too large a size");
  } else {
    return unimplemented(cat("zip compression method ", member.method));
  }
  auto bytes = open_stream(packed, member.method == 0 ? Packing::kNone : Packing::kDeflate, file);
  return std::unique_ptr<ZipMemberStream>(new ZipMemberStream(member, std::move(bytes)));
}

size_t ZipMemberStream::read(void* to, size_t n) {
  constexpr size_t kAtOnce = size_t{1} << 20;  // summed while it is in the cache
  size_t done = 0;
  for (n = static_cast<size_t>(std::min<uint64_t>(n, left())); done < n;) {
    auto* piece = static_cast<Bytef*>(to) + done;
    const size_t got = bytes_->read(piece, std::min(kAtOnce, n - done));
    if (got == 0) break;
    crc_ = static_cast<uint32_t>(crc32_z(crc_, piece, got));
    done += got;
    read_ += got;
  }
  return done;
}

Status ZipMemberStream::finish() {
  char rest[4096];
  while (left() > 0 && read(rest, sizeof rest) > 0) {
  }
  // Packed bytes may go on behind the size that the directory tells.
  if (left() > 0 || bytes_->read(rest, 1) > 0) return damaged("a member does not unpack");
  return crc_ == member_.crc ? ok_status() : damaged(cat("checksum of '", member_.name, "' is wrong"));
}

Status ZipWriter::write(std::string_view bytes) {
  written_ += bytes.size();
  return sink_(bytes);
}

Status ZipWriter::add(const std::string& name, const std::vector<std::string_view>& parts) {
  constexpr uint16_t kVersion = 20;
  constexpr uint32_t kEpoch = 0x00210000;  // 1980-01-01, so that equal contents give equal archives
  uint64_t size = 0, crc = 0;
  for (std::string_view part : parts) {
    size += part.size();
    if (part.empty()) continue;  // zlib starts anew at a null pointer
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
  }
  if (size >= kIn64 || written_ + size >= kIn64) return invalid_argument("an .npz above 4 GiB");
  std::string common, header;
  put<uint16_t>(common, kVersion);
  put<uint16_t>(common, 0x0800);  // names are UTF-8
  put<uint16_t>(common, 0);       // stored
  put<uint32_t>(common, kEpoch);
  put<uint32_t>(common, crc);
  put<uint32_t>(common, size);
  put<uint32_t>(common, size);
  put<uint16_t>(common, name.size());
  put<uint16_t>(common, 0);
  put<uint32_t>(directory_, kDirectoryEntry);
  put<uint16_t>(directory_, kVersion);
  directory_ += common;
  directory_.append(10, '\0');  // no comment, disk 0, no attributes
  put<uint32_t>(directory_, written_);
  directory_ += name;
  ++members_;
  put<uint32_t>(header, kLocalHeader);
  RETURN_IF_ERROR(write(header + common + name));
  for (std::string_view part : parts) RETURN_IF_ERROR(write(part));
  return ok_status();
}

Status ZipWriter::finish() {
  std::string end = directory_;
  put<uint32_t>(end, kEndOfDirectory);
  put<uint32_t>(end, 0);
  put<uint16_t>(end, members_);
  put<uint16_t>(end, members_);
  put<uint32_t>(end, directory_.size());
  put<uint32_t>(end, written_);
  put<uint16_t>(end, 0);
  return write(end);
}

}  // namespace emplace
