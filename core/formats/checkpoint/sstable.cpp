#include "core/formats/checkpoint/sstable.h"

#include <dlfcn.h>

#include <cstring>
#include <optional>
#include <set>

#include "core/base/cat.h"
#include "core/formats/checkpoint/crc32c.h"

namespace emplace {
namespace {

constexpr size_t kFooter = 48, kTrailer = 5;  // behind the blocks: two handles and the magic; behind a block: type, sum
constexpr size_t kMostBlock = size_t{1} << 30;  // bytes of a block once it is unpacked

/// Takes a little-endian base-128 number off the front.
std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return std::nullopt;
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

uint32_t number_at(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, 4);
  return value;
}

struct Handle {
  uint64_t offset = 0, size = 0;
};

std::optional<Handle> take_handle(std::string_view& bytes) {
  const auto offset = take_varint(bytes), size = take_varint(bytes);
  if (!offset || !size) return std::nullopt;
  return Handle{*offset, *size};
}

/// Snappy's library, opened when a packed block is met.
struct Snappy {
  int (*size)(const char*, size_t, size_t*) = nullptr;
  int (*unpack)(const char*, size_t, char*, size_t*) = nullptr;

  static const Snappy& get() {
    static const Snappy kSnappy = [] {
      Snappy s;
      if (void* library = dlopen("libsnappy.so.1", RTLD_NOW | RTLD_LOCAL)) {
        s.size = reinterpret_cast<decltype(s.size)>(dlsym(library, "snappy_uncompressed_length"));
        s.unpack = reinterpret_cast<decltype(s.unpack)>(dlsym(library, "snappy_uncompress"));
      }
      return s;
    }();
    return kSnappy;
  }
};

class TableReader {
 public:
  TableReader(std::string_view file, const std::string& name) : file_(file), name_(name) {}

  Status read(const std::function<Status(std::string_view, std::string_view)>& take) {
    if (!SsTable::recognises(file_)) return damaged("no table of a checkpoint");
    std::string_view footer = file_.substr(file_.size() - kFooter);
    const auto metadata = take_handle(footer), index = take_handle(footer);
    if (!metadata || !index) return damaged("a footer without its handles");
    std::string unpacked;
    ASSIGN_OR_RETURN(std::string_view blocks, block(*index, unpacked));
    return entries(blocks, [&](std::string_view, std::string_view value) -> Status {
      const auto handle = take_handle(value);
      if (!handle) return damaged("an index entry that is not a handle");
      // Blocks stand one behind the other, in the order of the index.
      if (handle->offset < end_) return damaged("blocks that overlap");
      end_ = handle->offset + handle->size;
      std::string text;
      ASSIGN_OR_RETURN(std::string_view data, block(*handle, text));
      return entries(data, take);
    });
  }

 private:
  Status damaged(std::string_view what) const { return {Code::kDataLoss, cat(name_, ": ", what)}; }

  Result<std::string_view> block(Handle handle, std::string& unpacked) const {
    const size_t room = file_.size() - kFooter;
    if (handle.offset > room || handle.size > room - handle.offset || room - handle.offset - handle.size < kTrailer)
      return damaged(cat("a block of ", handle.size, " bytes at ", handle.offset, " in a file of ", file_.size()));
    const std::string_view with_type = file_.substr(handle.offset, handle.size + 1);
    if (number_at(file_, handle.offset + handle.size + 1) != masked_crc32c(with_type))
      return damaged(cat("the block at byte ", handle.offset, " is damaged (checksum)"));
    const std::string_view bytes = with_type.substr(0, handle.size);
    switch (with_type.back()) {
      case 0:
        return bytes;
      case 1:
        return unpack(bytes, unpacked);
      default:
        return damaged(cat("a block of type ", static_cast<int>(with_type.back()), ", which there is not"));
    }
  }

  Result<std::string_view> unpack(std::string_view bytes, std::string& out) const {
    const Snappy& snappy = Snappy::get();
    if (!snappy.size || !snappy.unpack)
      return unavailable(cat(name_, ": packed with Snappy, and there is no libsnappy.so.1; install libsnappy1v5"));
    size_t size = 0;
    if (snappy.size(bytes.data(), bytes.size(), &size) != 0 || size > kMostBlock || size > bytes.size() * 64 + 64)
      return damaged("a packed block without a sound length");
    out.resize(size);
    if (snappy.unpack(bytes.data(), bytes.size(), out.data(), &size) != 0 || size != out.size())
      return damaged("a packed block that cannot be unpacked");
    return std::string_view(out);
  }

  Status entries(std::string_view block, const std::function<Status(std::string_view, std::string_view)>& take) const {
    if (block.size() < 4) return damaged("a block without restarts");
    const uint64_t restarts = number_at(block, block.size() - 4);
    if (restarts > (block.size() - 4) / 4)
      return damaged(cat("a block of ", block.size(), " bytes with ", restarts, " restarts"));
    std::string_view rest = block.substr(0, block.size() - 4 - restarts * 4);
    std::string key;
    while (!rest.empty()) {
      const auto shared = take_varint(rest), added = take_varint(rest), value = take_varint(rest);
      if (!shared || !added || !value || *shared > key.size() || *added > rest.size() || *value > rest.size() - *added)
        return damaged("an entry that does not fit its block");
      key.resize(*shared);
      key += rest.substr(0, *added);
      RETURN_IF_ERROR(take(key, rest.substr(*added, *value)));
      rest.remove_prefix(*added + *value);
    }
    return ok_status();
  }

  std::string_view file_;
  const std::string& name_;
  uint64_t end_ = 0;
};

}  // namespace

bool SsTable::recognises(std::string_view file) {
  uint64_t magic = 0;
  if (file.size() >= kFooter) std::memcpy(&magic, file.data() + file.size() - 8, 8);
  return magic == kMagic;
}

Status SsTable::read(std::string_view file, const std::string& name,
                     const std::function<Status(std::string_view, std::string_view)>& take) {
  return TableReader(file, name).read(take);
}

}  // namespace emplace
