#include "core/formats/checkpoint/bundle.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/formats/checkpoint/crc32c.h"
#include "core/formats/checkpoint/sstable.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/text_reader.h"
#include "core/formats/proto/wire_writer.h"
#include "core/formats/tensor_message.h"
#include "core/formats/wire_tensor.h"
#include "core/graph/open_source.h"
#include "core/tensor/mapped_buffer.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using proto::number;
using proto::WireError;
using proto::WireReader;
using proto::WireType;

constexpr int32_t kMostShards = 100000;
constexpr InputOptions kOfModel{.pipes = false};  // names that stand in a SavedModel, or are made from one

std::string base_of(const std::string& path) { return fs::path(path).filename().string(); }

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// A part of a mapped file, which stays open as long as a tensor lies in it.
class ShardBytes final : public MappedBuffer {
 public:
  ShardBytes(std::shared_ptr<const Source> file, std::string_view bytes)
      : MappedBuffer(const_cast<char*>(bytes.data()), bytes.size()), file_(std::move(file)) {}
  void move_part(std::string_view bytes, void* to) const override { file_->move_out(bytes, to); }

 private:
  std::shared_ptr<const Source> file_;
};

std::optional<Shape> shape_of_message(std::string_view message) {
  std::vector<int64_t> dims;
  WireError error;
  for (WireReader reader(message, error); reader.next();) {
    if (!reader.is(number(proto::kTensorShapeProtoFields, "dim"), WireType::kBytes)) continue;
    int64_t size = 0;
    for (WireReader dim(reader.bytes(), error); dim.next();) {
      if (dim.is(number(proto::kTensorShapeProtoDimFields, "size"), WireType::kVarint))
        size = proto::as_int64(dim.number());
    }
    if (size < 0 || dims.size() == 254) return std::nullopt;
    dims.push_back(size);
  }
  if (error.failed()) return std::nullopt;
  Shape shape(dims);
  if (!shape.checked_num_elements()) return std::nullopt;
  return shape;
}

std::optional<TensorSlice> slice_of_message(std::string_view message) {
  TensorSlice slice;
  WireError error;
  for (WireReader reader(message, error); reader.next();) {
    if (!reader.is(number(proto::kTensorSliceProtoFields, "extent"), WireType::kBytes)) continue;
    int64_t start = 0, length = -1;
    for (WireReader extent(reader.bytes(), error); extent.next();) {
      if (extent.is(number(proto::kTensorSliceProtoExtentFields, "start"), WireType::kVarint))
        start = proto::as_int64(extent.number());
      if (extent.is(number(proto::kTensorSliceProtoExtentFields, "length"), WireType::kVarint))
        length = proto::as_int64(extent.number());
    }
    slice.start.push_back(start);
    slice.length.push_back(length);
  }
  if (error.failed()) return std::nullopt;
  return slice;
}

std::optional<uint64_t> take_length(std::string_view& bytes) {
  uint64_t length = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    length |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return length;
  }
  return std::nullopt;
}

/// n lengths, a sum of them, the bytes.
Result<Tensor> strings_of(std::string_view bytes, const Shape& shape, uint32_t crc, const std::string& what) {
  Status damaged{Code::kDataLoss, cat(what, " is damaged (lengths of its texts)")};
  const auto count = static_cast<size_t>(shape.num_elements());
  if (count > bytes.size()) return damaged;
  std::string_view lengths = bytes;  // read again where the texts are cut
  uint32_t sum = 0;
  uint64_t total = 0;
  OccasionalLook look;
  for (size_t i = 0; i < count; ++i) {
    if (look.stop_requested()) return stop_status();
    const std::optional<uint64_t> length = take_length(bytes);
    if (!length || *length > bytes.size()) return damaged;
    // Each length enters the sum in the width that it needs.
    const size_t width = *length <= UINT32_MAX ? 4 : 8;
    sum = crc32c({reinterpret_cast<const char*>(&*length), width}, sum);
    total += *length;
    if (total > bytes.size()) return damaged;
  }
  uint32_t stored = 0;
  if (bytes.size() < 4 || bytes.size() - 4 != total) return damaged;
  std::memcpy(&stored, bytes.data(), 4);
  if (stored != masked(sum)) return Status{Code::kDataLoss, cat(what, " is damaged (checksum)")};
  sum = crc32c(bytes, sum);  // of the lengths as fixed numbers, their sum, the texts
  if (masked(sum) != crc) return Status{Code::kDataLoss, cat(what, " is damaged (checksum)")};
  bytes.remove_prefix(4);
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(DType::kString, shape));
  for (size_t i = 0; i < count; ++i) {
    const uint64_t length = *take_length(lengths);
    t.data<std::string>()[i] = bytes.substr(0, length);
    bytes.remove_prefix(length);
  }
  return t;
}

/// Copies the box that two parts of one tensor share from the one into the other.
void copy_box(const Tensor& from, const std::vector<int64_t>& from_start, const Tensor& to,
              const std::vector<int64_t>& to_start) {
  const int rank = to.shape().rank();
  const size_t element = dtype_size(from.dtype());
  std::vector<int64_t> begin, end;
  for (int i = 0; i < rank; ++i) {
    const auto d = static_cast<size_t>(i);
    begin.push_back(std::max(from_start[d], to_start[d]));
    end.push_back(std::min(from_start[d] + from.shape().dim(i), to_start[d] + to.shape().dim(i)));
    if (begin.back() >= end.back()) return;
  }
  auto offset = [&](const Tensor& t, const std::vector<int64_t>& start, const std::vector<int64_t>& at) {
    int64_t out = 0;
    for (int i = 0; i < rank; ++i)
      out = out * t.shape().dim(i) + at[static_cast<size_t>(i)] - start[static_cast<size_t>(i)];
    return out;
  };
  const auto last = static_cast<size_t>(rank - 1);
  const int64_t run = end[last] - begin[last];
  for (std::vector<int64_t> at = begin;;) {
    const int64_t source = offset(from, from_start, at), target = offset(to, to_start, at);
    if (from.dtype() == DType::kString) {
      std::copy_n(from.data<std::string>() + source, run, to.data<std::string>() + target);
    } else {
      std::memcpy(static_cast<char*>(to.raw()) + target * static_cast<int64_t>(element),
                  static_cast<const char*>(from.raw()) + source * static_cast<int64_t>(element),
                  static_cast<size_t>(run) * element);
    }
    size_t d = last;
    while (d-- > 0) {
      if (++at[d] < end[d]) break;
      at[d] = begin[d];
    }
    if (d > last) return;
  }
}

/// The path that a folder's file `checkpoint` names.
Result<std::string> latest_in(const std::string& folder) {
  const std::string state = (fs::path(folder) / "checkpoint").string();
  ASSIGN_OR_RETURN(std::shared_ptr<const Source> source, open_source(state, kOfModel));
  std::string wire;
  proto::TextPositions positions;
  Problems problems;
  proto::read_text(proto::Message::kCheckpointState, source->text(), wire, positions, problems);
  if (!problems.empty()) return invalid_argument(cat(state, ": ", problems.list().front().message));
  std::string path;
  WireError error;
  for (WireReader reader(wire, error); reader.next();) {
    if (reader.is(number(proto::kCheckpointStateFields, "model_checkpoint_path"), WireType::kBytes))
      path = reader.bytes();
  }
  if (path.empty()) return invalid_argument(cat(state, ": names no checkpoint"));
  // The folder may have been moved: what counts is the file's name.
  return (fs::path(folder) / fs::path(path).filename()).string();
}

}  // namespace

std::string data_file_name(const std::string& prefix, size_t shard, size_t shards) {
  char text[64];
  std::snprintf(text, sizeof text, ".data-%05zu-of-%05zu", shard, shards);
  return prefix + text;
}

Result<std::optional<TensorBundle>> TensorBundle::find(const std::string& name) {
  std::string prefix = name;
  std::error_code error;
  if (fs::is_directory(name, error)) {
    if (!exists((fs::path(name) / "checkpoint").string())) return std::optional<TensorBundle>();
    ASSIGN_OR_RETURN(prefix, latest_in(name));
  }
  if (prefix.ends_with(".index")) prefix.resize(prefix.size() - 6);
  TensorBundle bundle;
  bundle.prefix_ = prefix;
  if (exists(prefix + ".index")) {
    RETURN_IF_ERROR(bundle.read_index(prefix + ".index"));
    return std::optional(std::move(bundle));
  }
  if (!exists(prefix) || fs::is_directory(prefix, error)) return std::optional<TensorBundle>();
  // Only what is made of it counts: it may not be a checkpoint of version 1 at all.
  constexpr InputOptions kUncounted{.pipes = false, .count_mapped = false};
  ASSIGN_OR_RETURN(std::shared_ptr<const Source> file, open_source(prefix, kUncounted));
  if (!SsTable::recognises(file->text())) return std::optional<TensorBundle>();
  RETURN_IF_ERROR(bundle.read_version_1(*file));
  return std::optional(std::move(bundle));
}

Status TensorBundle::read_index(const std::string& index) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Source> file, open_source(index, kOfModel));
  bool header = false;
  const Status read = SsTable::read(file->text(), base_of(index), [&](std::string_view key, std::string_view value) {
    if (!key.empty()) return add_entry(key, value);
    header = true;
    return add_header(value);
  });
  RETURN_IF_ERROR(read);
  if (!header) return {Code::kDataLoss, cat(base_of(index), ": a checkpoint without a header")};
  return ok_status();
}

Status TensorBundle::add_header(std::string_view value) {
  WireError error;
  for (WireReader reader(value, error); reader.next();) {
    if (reader.is(number(proto::kBundleHeaderProtoFields, "num_shards"), WireType::kVarint))
      num_shards_ = proto::as_int32(reader.number());
    if (reader.is(number(proto::kBundleHeaderProtoFields, "endianness"), WireType::kVarint) && reader.number() != 0)
      return unimplemented(cat(base_of(prefix_), ".index: a checkpoint of a big-endian machine"));
  }
  if (error.failed() || num_shards_ < 1 || num_shards_ > kMostShards)
    return {Code::kDataLoss, cat(base_of(prefix_), ".index: a header that says ", num_shards_, " shards")};
  return ok_status();
}

Status TensorBundle::add_entry(std::string_view key, std::string_view value) {
  using proto::kBundleEntryProtoFields;
  Entry entry;
  WireError error;
  bool sound = true;
  for (WireReader reader(value, error); reader.next();) {
    if (reader.is(number(kBundleEntryProtoFields, "dtype"), WireType::kVarint)) {
      const std::optional<DType> dtype = dtype_from_number(proto::as_int32(reader.number()));
      sound = sound && dtype;
      entry.dtype = dtype.value_or(DType::kInvalid);
    } else if (reader.is(number(kBundleEntryProtoFields, "shape"), WireType::kBytes)) {
      std::optional<Shape> shape = shape_of_message(reader.bytes());
      sound = sound && shape;
      if (shape) entry.shape = std::move(*shape);
    } else if (reader.is(number(kBundleEntryProtoFields, "shard_id"), WireType::kVarint)) {
      entry.shard = proto::as_int32(reader.number());
    } else if (reader.is(number(kBundleEntryProtoFields, "offset"), WireType::kVarint)) {
      entry.offset = proto::as_int64(reader.number());
    } else if (reader.is(number(kBundleEntryProtoFields, "size"), WireType::kVarint)) {
      entry.size = proto::as_int64(reader.number());
    } else if (reader.is(number(kBundleEntryProtoFields, "crc32c"), WireType::kFixed32)) {
      entry.crc = static_cast<uint32_t>(reader.number());
    } else if (reader.is(number(kBundleEntryProtoFields, "slices"), WireType::kBytes)) {
      std::optional<TensorSlice> slice = slice_of_message(reader.bytes());
      sound = sound && slice;
      if (slice) entry.slices.push_back(std::move(*slice));
    }
  }
  sound =
      sound && !error.failed() && entry.offset >= 0 && entry.size >= 0 && entry.shard >= 0 && entry.shard < num_shards_;
  if (auto part = parse_slice_key(key); part && sound) return parts_[std::move(*part)] = std::move(entry), ok_status();
  if (!sound) return {Code::kDataLoss, cat(base_of(prefix_), ".index: the entry of '", key, "' is damaged")};
  entries_[std::string(key)] = std::move(entry);
  return ok_status();
}

std::string TensorBundle::shard_name(int32_t number) const {
  return data_file_name(prefix_, static_cast<size_t>(number), static_cast<size_t>(num_shards_));
}

Result<std::shared_ptr<const Source>> TensorBundle::shard(int32_t number) {
  std::shared_ptr<const Source>& file = shards_[number];
  if (!file) {
    ASSIGN_OR_RETURN(file, open_source(shard_name(number), kOfModel));
  }
  return file;
}

Result<Tensor> TensorBundle::read_entry(std::string_view key, const Entry& entry, const How& how) {
  if (!entry.message.empty()) return tensor_of_message(entry.message);
  ASSIGN_OR_RETURN(std::shared_ptr<const Source> file, shard(entry.shard));
  const std::string what = cat(base_of(shard_name(entry.shard)), ": tensor '", key, "'");
  const std::string_view all = file->text();
  if (static_cast<uint64_t>(entry.offset) > all.size() ||
      static_cast<uint64_t>(entry.size) > all.size() - static_cast<uint64_t>(entry.offset))
    return Status{Code::kDataLoss, cat(what, " lies outside of the file, which has ", all.size(), " bytes")};
  const std::string_view bytes = all.substr(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.size));
  const auto sum_of = [&] { return how.parallel ? shared_crc32c(bytes, *how.parallel) : crc32c(bytes); };
  if (how.checked && entry.dtype != DType::kString && masked(sum_of()) != entry.crc)
    return Status{Code::kDataLoss, cat(what, " is damaged (checksum)")};
  if (entry.dtype == DType::kString) return strings_of(bytes, entry.shape, entry.crc, what);
  const size_t element = dtype_size(entry.dtype);
  if (element == 0) return unimplemented(cat(what, " is of type ", dtype_enum_name(entry.dtype)));
  if (bytes.size() % element != 0 || static_cast<uint64_t>(entry.shape.num_elements()) != bytes.size() / element)
    return Status{Code::kDataLoss, cat(what, " has ", bytes.size(), " bytes, which is not what shape ",
                                       entry.shape.to_string(), " of ", dtype_name(entry.dtype), " takes")};
  if (how.anywhere || reinterpret_cast<uintptr_t>(bytes.data()) % element == 0) {
    auto owner = std::make_shared<ShardBytes>(file, bytes);
    return Tensor::wrap(entry.dtype, entry.shape, owner->data(), owner);
  }
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(entry.dtype, entry.shape));
  file->move_out(bytes, t.raw());
  return t;
}

Result<Tensor> TensorBundle::read(std::string_view key) { return read(key, {}); }

Result<Tensor> TensorBundle::lend(std::string_view key, const TensorSlice& slice, Parallel& parallel) {
  auto entry = entries_.find(key);
  if (entry == entries_.end() || !slice.start.empty() || !entry->second.slices.empty()) return read(key, slice);
  return read_entry(key, entry->second, {.anywhere = true, .parallel = &parallel});
}

Result<Tensor> TensorBundle::map(std::string_view key, const TensorSlice& slice) {
  auto entry = entries_.find(key);
  if (entry == entries_.end() || !slice.start.empty() || !entry->second.slices.empty()) return read(key, slice);
  ASSIGN_OR_RETURN(Tensor t, read_entry(key, entry->second, {.checked = false, .anywhere = true}));
  if (!dynamic_cast<const MappedBuffer*>(t.buffer().get())) return read(key, slice);
  return t;
}

Result<Tensor> TensorBundle::read(std::string_view key, const TensorSlice& slice) {
  auto entry = entries_.find(key);
  if (entry == entries_.end()) return not_found(cat(base_of(prefix_), ": no tensor '", key, "'"));
  const std::optional<Shape> shape = slice.shape_in(entry->second.shape);
  if (!shape)
    return invalid_argument(
        cat(base_of(prefix_), ": tensor '", key, "' of shape ", entry->second.shape.to_string(), " has no such part"));
  if (entry->second.slices.empty() && slice.start.empty()) return read_entry(key, entry->second, {});
  // The parts that there are, the whole being one, put together.
  std::vector<TensorSlice> parts = entry->second.slices;
  if (parts.empty()) parts.emplace_back();
  ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(entry->second.dtype, *shape));
  int64_t covered = 0;
  const auto rank = static_cast<size_t>(shape->rank());
  const std::vector<int64_t> to_start = slice.start.empty() ? std::vector<int64_t>(rank) : slice.start;
  for (const TensorSlice& part : parts) {
    const auto at = parts_.find({std::string(key), part});  // of version 1 the whole of a scalar, too
    const std::optional<Shape> part_shape = part.shape_in(entry->second.shape);
    if (!part_shape || (!part.start.empty() && at == parts_.end()))
      return Status{Code::kDataLoss, cat(base_of(prefix_), ": a part of tensor '", key, "' is missing")};
    ASSIGN_OR_RETURN(Tensor piece, read_entry(key, at == parts_.end() ? entry->second : at->second, {}));
    if (piece.shape() != *part_shape || piece.dtype() != out.dtype())
      return Status{Code::kDataLoss, cat(base_of(prefix_), ": a part of tensor '", key, "' has another shape")};
    covered += piece.num_elements();
    if (rank == 0) return piece;
    copy_box(piece, part.start.empty() ? std::vector<int64_t>(rank) : part.start, out, to_start);
  }
  if (covered < entry->second.shape.num_elements())
    return Status{Code::kDataLoss, cat(base_of(prefix_), ": a part of tensor '", key, "' is missing")};
  return out;
}

namespace {

/// The beginning of a TensorProto: dtype and shape.
std::string tensor_head(DType dtype, const Shape& shape) {
  std::string head;
  proto::WireWriter writer(head);
  writer.varint(number(proto::kTensorProtoFields, "dtype"), static_cast<uint64_t>(dtype));
  const size_t begin = writer.begin(number(proto::kTensorProtoFields, "tensor_shape"));
  for (int64_t size : shape.dims()) {
    const size_t dim = writer.begin(number(proto::kTensorShapeProtoFields, "dim"));
    writer.varint(number(proto::kTensorShapeProtoDimFields, "size"), static_cast<uint64_t>(size));
    writer.end(dim);
  }
  writer.end(begin);
  return head;
}

/// A SavedSliceMeta: a tensor of version 1 in the table of contents. Nothing if it is damaged.
std::optional<TensorBundle::Entry> read_slice_meta(std::string_view meta, WireError& error, std::string& key) {
  using proto::kSavedSliceMetaFields;
  TensorBundle::Entry entry;
  for (WireReader reader(meta, error); reader.next();) {
    if (reader.is(number(kSavedSliceMetaFields, "name"), WireType::kBytes)) {
      key = reader.bytes();
    } else if (reader.is(number(kSavedSliceMetaFields, "shape"), WireType::kBytes)) {
      std::optional<Shape> shape = shape_of_message(reader.bytes());
      if (!shape) return std::nullopt;
      entry.shape = std::move(*shape);
    } else if (reader.is(number(kSavedSliceMetaFields, "type"), WireType::kVarint)) {
      entry.dtype = dtype_from_number(proto::as_int32(reader.number())).value_or(DType::kInvalid);
    } else if (reader.is(number(kSavedSliceMetaFields, "slice"), WireType::kBytes)) {
      std::optional<TensorSlice> slice = slice_of_message(reader.bytes());
      if (!slice) return std::nullopt;
      entry.slices.push_back(std::move(*slice));
    }
  }
  return entry;
}

}  // namespace

Status TensorBundle::read_version_1(const Source& file) {
  const std::string name = base_of(prefix_);
  Status damaged{Code::kDataLoss, cat(name, ": a damaged table of tensors")};
  WireError error;
  auto add_meta = [&](std::string_view meta) {
    std::string key;
    std::optional<Entry> entry = read_slice_meta(meta, error, key);
    if (!entry) return damaged;
    entries_[key] = std::move(*entry);
    return ok_status();
  };
  auto add_data = [&](std::string_view data) {
    using proto::kSavedSliceFields;
    std::string key;
    Entry part;
    TensorSlice slice;
    for (WireReader reader(data, error); reader.next();) {
      if (reader.is(number(kSavedSliceFields, "name"), WireType::kBytes)) key = reader.bytes();
      if (reader.is(number(kSavedSliceFields, "data"), WireType::kBytes)) part.message = reader.bytes();
      if (!reader.is(number(kSavedSliceFields, "slice"), WireType::kBytes)) continue;
      std::optional<TensorSlice> read = slice_of_message(reader.bytes());
      if (!read) return damaged;
      slice = std::move(*read);
    }
    const auto whole = entries_.find(key);
    const std::optional<Shape> shape = whole == entries_.end() ? std::nullopt : slice.shape_in(whole->second.shape);
    if (!shape) return damaged;
    // Shape and type stand in the table of contents only.
    part.message = tensor_head(whole->second.dtype, *shape) + part.message;
    part.dtype = whole->second.dtype;
    part.shape = *shape;
    parts_[{key, slice}] = std::move(part);
    return ok_status();
  };
  return SsTable::read(file.text(), name, [&](std::string_view key, std::string_view value) -> Status {
    for (WireReader reader(value, error); reader.next();) {
      if (key.empty() && reader.is(number(proto::kSavedTensorSlicesFields, "meta"), WireType::kBytes)) {
        for (WireReader meta(reader.bytes(), error); meta.next();) {
          if (!meta.is(number(proto::kSavedTensorSliceMetaFields, "tensor"), WireType::kBytes)) continue;
          RETURN_IF_ERROR(add_meta(meta.bytes()));
        }
      } else if (!key.empty() && reader.is(number(proto::kSavedTensorSlicesFields, "data"), WireType::kBytes)) {
        RETURN_IF_ERROR(add_data(reader.bytes()));
      }
    }
    return error.failed() ? damaged : ok_status();
  });
}

}  // namespace emplace
