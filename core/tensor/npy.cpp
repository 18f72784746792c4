#include "core/tensor/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/base/byte_stream.h"
#include "core/base/cat.h"
#include "core/base/input_file.h"
#include "core/base/printable.h"
#include "core/tensor/zip.h"

namespace emplace {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// What stands behind 'key': in the header's Python dictionary.
std::optional<std::string_view> after_key(std::string_view dict, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    size_t at = dict.find(cat(quote, key, quote));
    if (at == std::string_view::npos) continue;
    at = dict.find(':', at);
    if (at == std::string_view::npos) continue;
    at = dict.find_first_not_of(" \t", at + 1);
    if (at != std::string_view::npos) return dict.substr(at);
  }
  return std::nullopt;
}

std::optional<Header> parse_header(std::string_view dict) {
  Header h;
  auto descr = after_key(dict, "descr"), order = after_key(dict, "fortran_order"), shape = after_key(dict, "shape");
  if (!descr || !order || !shape || (*descr)[0] == '[' || (*shape)[0] != '(') return std::nullopt;
  size_t end = descr->find((*descr)[0], 1);
  if (end == std::string_view::npos) return std::nullopt;
  h.descr = descr->substr(1, end - 1);
  const std::string_view word = order->substr(0, order->find_first_of(" \t,}"));
  if (word != "True" && word != "False") return std::nullopt;
  h.fortran_order = word == "True";
  size_t close = shape->find(')');
  if (close == std::string_view::npos) return std::nullopt;
  for (size_t at = 1; at < close;) {
    at = shape->find_first_not_of(" ,", at);
    if (at >= close) break;
    int64_t dim = 0;
    auto [p, error] = std::from_chars(shape->data() + at, shape->data() + close, dim);
    if (error != std::errc() || dim < 0) return std::nullopt;
    h.shape.push_back(dim);
    at = static_cast<size_t>(p - shape->data());
  }
  return h;
}

struct Element {
  DType dtype = DType::kInvalid;
  size_t size = 0;       // bytes in the file
  bool swapped = false;  // big endian
  bool unicode = false;
};

std::optional<Element> parse_descr(std::string_view descr) {
  if (descr.size() < 3) return std::nullopt;
  Element e;
  char order = descr[0], kind = descr[1];
  auto [p, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), e.size);
  if (error != std::errc() || p != descr.data() + descr.size()) return std::nullopt;
  if (!std::strchr("<>|=", order)) return std::nullopt;
  e.swapped = order == '>';
  e.unicode = kind == 'U';
  if (kind == 'S' || kind == 'U') {
    if (e.size > (1u << 28)) return std::nullopt;
    e.dtype = DType::kString;
    e.size *= e.unicode ? 4 : 1;
    return e;
  }
  struct Kind {
    char kind;
    size_t size;
    DType dtype;
  };
  static constexpr Kind kKinds[] = {
      {'f', 2, DType::kHalf},      {'f', 4, DType::kFloat},       {'f', 8, DType::kDouble},  {'i', 1, DType::kInt8},
      {'i', 2, DType::kInt16},     {'i', 4, DType::kInt32},       {'i', 8, DType::kInt64},   {'u', 1, DType::kUInt8},
      {'u', 2, DType::kUInt16},    {'u', 4, DType::kUInt32},      {'u', 8, DType::kUInt64},  {'b', 1, DType::kBool},
      {'c', 8, DType::kComplex64}, {'c', 16, DType::kComplex128}, {'V', 2, DType::kBFloat16}};
  for (const Kind& k : kKinds) {
    if (k.kind == kind && k.size == e.size) e.dtype = k.dtype;
  }
  return e.dtype == DType::kInvalid ? std::nullopt : std::optional(e);
}

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 63));
    out += static_cast<char>(0x80 | (c & 63));
  } else {
    out += static_cast<char>(0xf0 | (c >> 18 & 7));
    out += static_cast<char>(0x80 | (c >> 12 & 63));
    out += static_cast<char>(0x80 | (c >> 6 & 63));
    out += static_cast<char>(0x80 | (c & 63));
  }
}

std::string string_element(const char* p, const Element& e) {
  if (!e.unicode) {
    size_t n = e.size;
    while (n > 0 && p[n - 1] == '\0') --n;
    return {p, n};
  }
  std::string out;
  for (size_t i = 0; i + 4 <= e.size; i += 4) {
    uint32_t c = 0;
    std::memcpy(&c, p + i, 4);
    if (e.swapped) c = __builtin_bswap32(c);
    append_utf8(out, c);
  }
  while (!out.empty() && out.back() == '\0') out.pop_back();
  return out;
}

// The row-major position of the element that stands at `i` of an array stored column-major.
int64_t row_major_position(int64_t i, const std::vector<int64_t>& shape) {
  int64_t position = 0, stride = 1;
  for (int64_t size : shape) stride *= size;
  for (int64_t size : shape) {
    stride /= size;
    position += i % size * stride;
    i /= size;
  }
  return position;
}

/// Elements that are a mapped file's own pages.
class MappedElements final : public Buffer {
 public:
  MappedElements(std::shared_ptr<const InputFile> file, void* data, size_t size, HostShare share)
      : Buffer(data, size), file_(std::move(file)), share_(std::move(share)) {}

 private:
  std::shared_ptr<const InputFile> file_;
  HostShare share_;
};

class NpyReader {
 public:
  /// `size`: what the stream claims to hold. `file`: null, or where mapped elements may stay.
  NpyReader(ByteStream& stream, uint64_t size, std::string name, std::shared_ptr<const InputFile> file)
      : stream_(stream), left_(size), name_(std::move(name)), file_(std::move(file)) {}

  Result<Tensor> read() {
    RETURN_IF_ERROR(read_header());
    RETURN_IF_ERROR(check_size());
    if (lies_as_tensor() && file_ && file_->lendable() && element_.dtype != DType::kBool) {
      ASSIGN_OR_RETURN(std::optional<Tensor> mapped, map());
      if (mapped) return *mapped;
    }
    ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(element_.dtype, shape_));
    if (lies_as_tensor()) {
      if (stream_.read(t.raw(), bytes_) != bytes_) return too_short();
    } else {
      RETURN_IF_ERROR(read_pieces(t));
    }
    if (element_.dtype == DType::kBool) {  // any other byte than 0 and 1 would be no bool to C++
      for (char *b = t.data<char>(), *end = b + count_; b != end; ++b) *b = *b != 0;
    }
    return t;
  }

 private:
  Status damaged(std::string_view what) const { return invalid_argument(cat(name_, ": ", what)); }
  Status too_short() const { return damaged("the file ends within its elements, or does not unpack"); }
  bool lies_as_tensor() const { return !fortran_ && !element_.swapped && element_.dtype != DType::kString; }

  bool take(char* to, size_t n) {
    if (n > left_ || stream_.read(to, n) != n) return false;
    left_ -= n;
    return true;
  }

  Status read_header() {
    char start[12] = {};
    if (!take(start, 10) || !std::string_view(start, 10).starts_with(kMagic))
      return damaged("not an .npy file (no \\x93NUMPY at its start)");
    if (start[6] < 1 || start[6] > 3)
      return damaged(cat(".npy format version ", static_cast<int>(start[6]), "; 1, 2 and 3 are known"));
    const size_t length_bytes = start[6] == 1 ? 2 : 4;
    uint32_t length = 0;
    const bool whole = length_bytes == 2 || take(start + 10, 2);
    std::memcpy(&length, start + 8, length_bytes);
    if (!whole || length > left_) return damaged("the .npy header reaches past the end of the file");
    constexpr uint32_t kLongest = 1 << 20;  // a shape and a type
    std::string text(std::min(length, kLongest), '\0');
    if (!take(text.data(), text.size())) return damaged("the .npy header reaches past the end of the file");
    auto header = parse_header(text);
    if (!header || length > kLongest)
      return damaged("the .npy header is not {'descr': ..., 'fortran_order': ..., 'shape': (...)}");
    auto element = parse_descr(header->descr);
    if (!element) return damaged(cat("elements of type '", header->descr, "' are not supported"));
    if (header->shape.size() > kMaxRank) return damaged(cat("rank ", header->shape.size(), " is above ", kMaxRank));
    element_ = *element;
    fortran_ = header->fortran_order && header->shape.size() > 1;
    sizes_ = header->shape;
    shape_ = Shape(header->shape);
    descr_ = std::move(header->descr);
    return ok_status();
  }

  Status check_size() {
    const auto count = shape_.checked_num_elements();
    int64_t wanted = 0;
    // Elements without a byte cost memory all the same.
    if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(element_.size), &wanted) ||
        static_cast<uint64_t>(wanted) > left_ || (element_.size == 0 && *count > kMostEmpty)) {
      return damaged(
          cat("shape ", shape_.to_string(), " of '", descr_, "' needs more than the ", left_, " bytes that are there"));
    }
    count_ = *count;
    bytes_ = static_cast<size_t>(wanted);
    return ok_status();
  }

  Result<std::optional<Tensor>> map() {
    const std::string_view rest = stream_.in_memory();
    const auto address = reinterpret_cast<uintptr_t>(rest.data());
    if (rest.size() < bytes_ || bytes_ == 0 || address % element_.size != 0) return std::optional<Tensor>();
    HostShare share(HostUseScope::current());
    if (Status status = share.resize(static_cast<int64_t>(bytes_)); !status.ok()) return status.with_context(name_);
    void* data = const_cast<char*>(rest.data());  // a private mapping that may be written to
    auto owner = std::make_shared<MappedElements>(file_, data, bytes_, std::move(share));
    return std::optional<Tensor>(Tensor::wrap(element_.dtype, shape_, data, std::move(owner)));
  }

  /// Elements that lie in another order, with their bytes swapped, or as text.
  Status read_pieces(Tensor& t) {
    constexpr size_t kAtOnce = size_t{1} << 20;
    const size_t size = std::max<size_t>(element_.size, 1), at_once = std::max<size_t>(kAtOnce / size, 1);
    HostShare share(HostUseScope::current());
    RETURN_IF_ERROR(share.resize(static_cast<int64_t>(std::min(at_once, static_cast<size_t>(count_)) * size)));
    std::string piece(std::min(at_once, static_cast<size_t>(count_)) * size, '\0');
    for (int64_t i = 0; i < count_;) {
      const auto n = std::min(static_cast<int64_t>(at_once), count_ - i);
      const size_t bytes = static_cast<size_t>(n) * element_.size;
      if (stream_.read(piece.data(), bytes) != bytes) return too_short();
      for (int64_t k = 0; k < n; ++k, ++i)
        store(t, fortran_ ? row_major_position(i, sizes_) : i, piece.data() + static_cast<size_t>(k) * element_.size);
    }
    return ok_status();
  }

  void store(Tensor& t, int64_t at, const char* from) const {
    if (element_.dtype == DType::kString) return void(t.data<std::string>()[at] = string_element(from, element_));
    char* to = t.data<char>() + static_cast<size_t>(at) * element_.size;
    std::memcpy(to, from, element_.size);
    const size_t part = is_complex(element_.dtype) ? element_.size / 2 : element_.size;
    for (size_t p = 0; element_.swapped && p < element_.size; p += part) std::reverse(to + p, to + p + part);
  }

  static constexpr int64_t kMostEmpty = 1 << 20;

  ByteStream& stream_;
  uint64_t left_;
  std::string name_;
  std::shared_ptr<const InputFile> file_;
  Element element_;
  bool fortran_ = false;
  std::vector<int64_t> sizes_;
  Shape shape_;
  std::string descr_;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

/// A member of an archive that is in memory; `file`, where given, holds it.
Result<Tensor> read_member(std::string_view archive, const ZipMember& m, const std::string& path,
                           const std::shared_ptr<const InputFile>& file, HostUse use) {
  auto stream = ZipMemberStream::open(archive, m, file.get());
  if (!stream.ok()) return stream.status().with_context(path);
  NpyReader reader(**stream, (*stream)->left(), cat(path, ":", printable(m.name)),
                   use == HostUse::kData ? file : nullptr);
  ASSIGN_OR_RETURN(Tensor t, reader.read());
  if (Status whole = (*stream)->finish(); !whole.ok()) return whole.with_context(path);
  return t;
}

Result<std::vector<std::pair<std::string, Tensor>>> read_members(std::string_view archive, const std::string& path,
                                                                 const std::shared_ptr<const InputFile>& file,
                                                                 HostUse use) {
  const HostUseScope scope(use);
  auto members = zip_members(archive);
  if (!members.ok()) return members.status().with_context(printable(path));
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (const ZipMember& m : *members) {
    if (!m.name.ends_with(".npy")) continue;
    ASSIGN_OR_RETURN(Tensor t, read_member(archive, m, path, file, use));
    arrays.emplace_back(m.name.substr(0, m.name.size() - 4), std::move(t));
  }
  return arrays;
}

/// A mapped archive's pages are the system's to take back; what is made of them counts.
InputOptions of_archive(InputOptions options) { return options.count_mapped = false, options; }

}  // namespace

Result<Tensor> parse_npy(std::string_view bytes, const std::string& name) {
  return NpyReader(*open_stream(bytes, Packing::kNone), bytes.size(), name, nullptr).read();
}

Result<Tensor> parse_npy(std::shared_ptr<const InputFile> file, const std::string& name, HostUse use) {
  const HostUseScope scope(use);
  const auto stream = open_stream(file->bytes(), Packing::kNone, file.get());
  return NpyReader(*stream, file->bytes().size(), name, use == HostUse::kData ? file : nullptr).read();
}

Result<Tensor> read_npy(const std::string& path, const InputOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<const InputFile> file, InputFile::open(path, of_archive(options)));
  return parse_npy(std::move(file), printable(path), options.use);
}

Result<std::vector<std::pair<std::string, Tensor>>> read_npz(const std::string& path, const InputOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<const InputFile> file, InputFile::open(path, of_archive(options)));
  return read_members(file->bytes(), printable(path), file, options.use);
}

Result<std::vector<std::pair<std::string, Tensor>>> parse_npz(std::string_view archive, const std::string& name) {
  return read_members(archive, name, nullptr, HostUseScope::current());
}

Result<Tensor> read_npz(const std::string& path, const std::string& key, const InputOptions& options) {
  const HostUseScope scope(options.use);
  ASSIGN_OR_RETURN(std::shared_ptr<const InputFile> file, InputFile::open(path, of_archive(options)));
  auto members = zip_members(file->bytes());
  if (!members.ok()) return members.status().with_context(printable(path));
  std::string there;
  for (const ZipMember& m : *members) {
    if (m.name == key + ".npy" || m.name == key)
      return read_member(file->bytes(), m, printable(path), file, options.use);
    append(there, there.empty() ? "" : ", ", m.name.ends_with(".npy") ? m.name.substr(0, m.name.size() - 4) : m.name);
  }
  return not_found(cat(printable(path), ": no array '", key, "'; it has ", there.empty() ? "none" : printable(there)));
}

}  // namespace emplace
