#include "core/train/idx.h"

#include <algorithm>

#include "core/base/byte_stream.h"
#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

constexpr std::string_view kGzip = "\x1f\x8b";

DType type_of(uint8_t code) {
  switch (code) {
    case 0x08:
      return DType::kUInt8;
    case 0x09:
      return DType::kInt8;
    case 0x0b:
      return DType::kInt16;
    case 0x0c:
      return DType::kInt32;
    case 0x0d:
      return DType::kFloat;
    case 0x0e:
      return DType::kDouble;
    default:
      return DType::kInvalid;
  }
}

}  // namespace

bool looks_like_idx(std::string_view bytes) {
  if (bytes.starts_with(kGzip)) return true;
  return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 &&
         type_of(static_cast<uint8_t>(bytes[2])) != DType::kInvalid;
}

Result<Tensor> parse_idx(std::string_view bytes, const std::string& name, const InputFile* file) {
  auto damaged = [&](std::string_view what) { return invalid_argument(cat(name, ": ", what)); };
  bool packed = bytes.starts_with(kGzip);
  const auto stream = open_stream(bytes, packed ? Packing::kGzip : Packing::kNone, file);
  ByteStream& in = *stream;
  uint8_t magic[4] = {};
  if (in.read(magic, 4) != 4 || magic[0] != 0 || magic[1] != 0)
    return damaged("not an IDX file (it begins with two zero bytes)");
  DType dtype = type_of(magic[2]);
  if (dtype == DType::kInvalid)
    return damaged(cat("IDX elements of type ", static_cast<int>(magic[2]), "; 8, 9, 11, 12, 13 and 14 are known"));
  if (magic[3] == 0 || magic[3] > kMaxRank)
    return damaged(cat("IDX data with ", static_cast<int>(magic[3]), " dimensions"));
  Shape shape;
  for (int i = 0; i < magic[3]; ++i) {
    uint8_t size[4] = {};
    if (in.read(size, 4) != 4) return damaged("the file ends within its dimensions");
    shape.add_dim(int64_t{size[0]} << 24 | size[1] << 16 | size[2] << 8 | size[3]);
  }
  auto count = shape.checked_num_elements();
  const auto width = static_cast<int64_t>(dtype_size(dtype));
  int64_t wanted = 0;
  // gzip packs at most 1032 to 1.
  const auto most = static_cast<int64_t>(packed ? bytes.size() * 1032 : bytes.size());
  if (!count || __builtin_mul_overflow(*count, width, &wanted) || wanted > most) {
    return damaged(cat("shape ", shape.to_string(), " of ", dtype_name(dtype), " needs more bytes than the file has"));
  }
  Result<Tensor> room = Tensor::allocate(dtype, shape);
  if (!room.ok()) return room.take_status().with_context(name);
  Tensor t = room.take();
  size_t there = in.read(t.raw(), static_cast<size_t>(wanted));
  if (there != static_cast<size_t>(wanted))
    return damaged(cat("found ", there, " bytes of elements, wanted ", wanted, " for shape ", shape.to_string()));
  for (int64_t i = 0; width > 1 && i < *count; ++i) {
    auto* element = t.data<std::byte>() + i * width;
    std::reverse(element, element + width);
  }
  return t;
}

}  // namespace emplace
