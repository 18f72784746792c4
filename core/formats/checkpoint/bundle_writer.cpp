#include "core/formats/checkpoint/bundle_writer.h"

#include <filesystem>
#include <map>

#include "core/base/cat.h"
#include "core/base/output_file.h"
#include "core/formats/checkpoint/checkpoint_messages.h"
#include "core/formats/checkpoint/crc32c.h"
#include "core/formats/checkpoint/sstable.h"
#include "core/formats/checkpoint/sstable_writer.h"
#include "core/formats/checkpoint/tensor_slice.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/wire_writer.h"
#include "core/graph/open_source.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using proto::kBundleEntryProtoFields;
using proto::number;
using proto::WireError;
using proto::WireReader;
using proto::WireType;
using proto::WireWriter;

constexpr size_t kPiece = size_t{16} << 20;

/// The file of a tensor's bytes, which counts and sums them up.
class DataFile {
 public:
  explicit DataFile(OutputFile& out) : out_(out) {}
  int64_t size() const { return size_; }

  Status write(const Tensor& value, uint32_t& crc) {
    crc = 0;
    if (value.dtype() == DType::kString) return write_texts(value, crc);
    std::string_view bytes(static_cast<const char*>(value.raw()), value.size_bytes());
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kPiece, bytes.size()))) {
      const std::string_view piece = bytes.substr(0, kPiece);  // is summed up while it is in the processor's memory
      crc = crc32c(piece, crc);
      RETURN_IF_ERROR(append(piece));
    }
    return ok_status();
  }

 private:
  /// Lengths, a sum of them, the bytes. The tensor's sum is over the lengths as fixed numbers, that sum, the bytes.
  Status write_texts(const Tensor& value, uint32_t& crc) {
    std::string lengths;
    for (const std::string& text : value.flat<std::string>()) {
      for (uint64_t n = text.size();; n >>= 7) {
        lengths += static_cast<char>(n >= 0x80 ? n | 0x80 : n);
        if (n < 0x80) break;
      }
      const uint64_t length = text.size();
      crc = crc32c({reinterpret_cast<const char*>(&length), length <= UINT32_MAX ? size_t{4} : size_t{8}}, crc);
    }
    const uint32_t sum = masked(crc);
    const std::string_view of_lengths(reinterpret_cast<const char*>(&sum), sizeof sum);
    crc = crc32c(of_lengths, crc);
    RETURN_IF_ERROR(append(lengths));
    RETURN_IF_ERROR(append(of_lengths));
    for (const std::string& text : value.flat<std::string>()) {
      crc = crc32c(text, crc);
      RETURN_IF_ERROR(append(text));
    }
    return ok_status();
  }

  Status append(std::string_view bytes) {
    size_ += static_cast<int64_t>(bytes.size());
    return out_.write(bytes);
  }

  OutputFile& out_;
  int64_t size_ = 0;
};

std::string header_message(size_t shards) {
  std::string wire;
  WireWriter writer(wire);
  writer.varint(number(proto::kBundleHeaderProtoFields, "num_shards"), shards);
  const size_t version = writer.begin(number(proto::kBundleHeaderProtoFields, "version"));
  writer.varint(number(proto::kVersionDefFields, "producer"), 1);
  writer.end(version);
  return short_form(proto::Message::kBundleHeaderProto, wire);
}

/// What the index says of a tensor.
struct IndexEntry {
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t offset = 0, size = 0;
  uint32_t crc = 0;
  std::vector<TensorSlice> slices;
};

std::string entry_message(const IndexEntry& entry) {
  std::string wire;
  WireWriter writer(wire);
  writer.varint(number(kBundleEntryProtoFields, "dtype"), static_cast<uint64_t>(entry.dtype));
  put_shape(writer, number(kBundleEntryProtoFields, "shape"), entry.shape);
  if (entry.offset != 0) writer.varint(number(kBundleEntryProtoFields, "offset"), static_cast<uint64_t>(entry.offset));
  if (entry.size != 0) writer.varint(number(kBundleEntryProtoFields, "size"), static_cast<uint64_t>(entry.size));
  if (entry.crc != 0) writer.fixed32(number(kBundleEntryProtoFields, "crc32c"), entry.crc);
  for (const TensorSlice& slice : entry.slices)
    put_slice(writer, number(kBundleEntryProtoFields, "slices"), slice, entry.shape);
  return short_form(proto::Message::kBundleEntryProto, wire);
}

Status write_index(const std::string& prefix, const std::map<std::string, std::string>& entries, size_t shards) {
  SsTableWriter table;
  table.add("", header_message(shards));
  for (const auto& [key, message] : entries) table.add(key, message);
  ASSIGN_OR_RETURN(OutputFile index, OutputFile::open(prefix + ".index"));
  RETURN_IF_ERROR(index.write(table.finish()));
  return index.commit();
}

/// The index of one of the checkpoints to be merged, its shards numbered on.
struct Merged {
  std::map<std::string, std::string> messages;
  std::map<std::string, IndexEntry> in_parts;
  std::vector<std::string> data_files;
};

/// A BundleEntry whose shard has another number.
std::string with_shard(std::string_view message, uint64_t first) {
  std::string wire;
  WireWriter writer(wire);
  WireError error;
  uint64_t shard = 0;
  for (WireReader reader(message, error); reader.next();) {
    if (reader.is(number(kBundleEntryProtoFields, "shard_id"), WireType::kVarint)) {
      shard = reader.number();
    } else {
      wire += reader.whole();
    }
  }
  if (shard + first != 0) writer.varint(number(kBundleEntryProtoFields, "shard_id"), shard + first);
  return short_form(proto::Message::kBundleEntryProto, wire);
}

Status add_to(Merged& all, const TensorBundle& bundle, const std::string& index) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Source> file, open_source(index, {.pipes = false}));
  const uint64_t first = all.data_files.size();
  for (int32_t i = 0; i < bundle.num_shards(); ++i) all.data_files.push_back(bundle.shard_name(i));
  return SsTable::read(file->text(), index, [&](std::string_view key, std::string_view value) -> Status {
    if (key.empty()) return ok_status();
    const std::string name(key);
    auto entry = bundle.entries().find(key);
    if (entry != bundle.entries().end() && !entry->second.slices.empty()) {
      IndexEntry& whole = all.in_parts[name];
      whole.dtype = entry->second.dtype;
      whole.shape = entry->second.shape;
      whole.slices.insert(whole.slices.end(), entry->second.slices.begin(), entry->second.slices.end());
      return ok_status();
    }
    if (!all.messages.emplace(name, with_shard(value, first)).second)
      return invalid_argument(cat(index, ": tensor '", name, "' is in another of the checkpoints, too"));
    return ok_status();
  });
}

}  // namespace

Status write_bundle(const std::string& prefix, std::span<const TensorToSave> tensors) {
  ASSIGN_OR_RETURN(OutputFile out, OutputFile::open(data_file_name(prefix, 0, 1)));
  DataFile data(out);
  std::map<std::string, std::string> entries;
  std::map<std::string, IndexEntry> in_parts;
  for (const TensorToSave& t : tensors) {
    IndexEntry entry{t.value.dtype(), t.value.shape(), data.size(), 0, 0, {}};
    uint32_t crc = 0;
    RETURN_IF_ERROR(data.write(t.value, crc));
    entry.size = data.size() - entry.offset;
    entry.crc = masked(crc);
    std::string key = t.key;
    if (!t.slice.start.empty()) {
      RETURN_IF_ERROR(check_part(t));
      IndexEntry& whole = in_parts[t.key];
      whole.dtype = t.value.dtype();
      whole.shape = t.whole;
      whole.slices.push_back(t.slice);
      key = slice_key(t.key, t.slice, t.whole);
    }
    if (!entries.emplace(key, entry_message(entry)).second)
      return invalid_argument(cat(prefix, ": tensor '", t.key, "' stands twice"));
  }
  for (const auto& [key, whole] : in_parts) {
    if (!entries.emplace(key, entry_message(whole)).second)
      return invalid_argument(cat(prefix, ": tensor '", key, "' stands there whole and in parts"));
  }
  RETURN_IF_ERROR(out.commit());
  return write_index(prefix, entries, 1);
}

Status merge_bundles(std::span<const std::string> prefixes, const std::string& to, bool missing_ok) {
  Merged all;
  std::vector<std::string> indexes;
  for (const std::string& prefix : prefixes) {
    ASSIGN_OR_RETURN(std::optional<TensorBundle> bundle, TensorBundle::find(prefix));
    if (!bundle && missing_ok) continue;
    if (!bundle) return not_found(cat(prefix, ".index: No such file or directory"));
    indexes.push_back(prefix + ".index");
    RETURN_IF_ERROR(add_to(all, *bundle, indexes.back()));
  }
  for (const auto& [key, whole] : all.in_parts) all.messages.insert_or_assign(key, entry_message(whole));
  std::error_code error;
  for (size_t i = 0; i < all.data_files.size(); ++i) {
    const std::string name = data_file_name(to, i, all.data_files.size());
    fs::rename(all.data_files[i], name, error);
    if (error) return unavailable(cat("cannot rename '", all.data_files[i], "' to '", name, "': ", error.message()));
  }
  RETURN_IF_ERROR(write_index(to, all.messages, std::max<size_t>(all.data_files.size(), 1)));
  for (const std::string& index : indexes) {
    if (index != to + ".index") fs::remove(index, error);
  }
  return ok_status();
}

}  // namespace emplace
