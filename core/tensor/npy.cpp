#include "core/tensor/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/base/cat.h"
#include "core/base/input_file.h"
#include "core/base/output_file.h"
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

// The row-major element `i` of an array stored column-major stands at this position.
int64_t column_major_position(int64_t i, const std::vector<int64_t>& shape) {
  int64_t position = 0, stride_from = 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) stride_from *= shape[axis];
  int64_t column_stride = 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    stride_from /= shape[axis];
    position += i / stride_from % shape[axis] * column_stride;
    column_stride *= shape[axis];
  }
  return position;
}

/// A file but for the elements that lie in memory as in the file: all but strings.
std::string npy_head(const Tensor& t) {
  size_t width = 0;  // of |S
  if (t.dtype() == DType::kString) {
    width = 1;
    for (const std::string& s : t.flat<std::string>()) width = std::max(width, s.size());
  }
  static constexpr std::pair<DType, std::string_view> kDescr[] = {
      {DType::kHalf, "<f2"},      {DType::kFloat, "<f4"},       {DType::kDouble, "<f8"},  {DType::kInt8, "|i1"},
      {DType::kInt16, "<i2"},     {DType::kInt32, "<i4"},       {DType::kInt64, "<i8"},   {DType::kUInt8, "|u1"},
      {DType::kUInt16, "<u2"},    {DType::kUInt32, "<u4"},      {DType::kUInt64, "<u8"},  {DType::kBool, "|b1"},
      {DType::kComplex64, "<c8"}, {DType::kComplex128, "<c16"}, {DType::kBFloat16, "|V2"}};
  std::string descr = cat("|S", width);
  for (const auto& [dtype, text] : kDescr) {
    if (dtype == t.dtype()) descr = text;
  }
  std::string header = cat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (int64_t d : t.shape().dims()) append(header, d, ", ");
  if (t.shape().rank() > 1) header.resize(header.size() - 2);
  if (t.shape().rank() == 1) header.pop_back();
  header += "), }";
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  if (t.dtype() != DType::kString) return out;
  for (const std::string& s : t.flat<std::string>()) {
    out += s;
    out.append(width - s.size(), '\0');
  }
  return out;
}

std::string_view elements(const Tensor& t) {
  if (t.dtype() == DType::kString || t.size_bytes() == 0) return {};
  return {static_cast<const char*>(t.raw()), t.size_bytes()};
}

}  // namespace

Result<Tensor> parse_npy(std::string_view bytes, const std::string& name) {
  auto damaged = [&](std::string_view what) { return invalid_argument(cat(name, ": ", what)); };
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return damaged("not an .npy file (no \\x93NUMPY at its start)");
  size_t length_bytes = bytes[6] == 1 ? 2 : 4, length = 0;
  if (bytes[6] < 1 || bytes[6] > 3)
    return damaged(cat(".npy format version ", static_cast<int>(bytes[6]), "; 1, 2 and 3 are known"));
  std::memcpy(&length, bytes.data() + 8, length_bytes);
  size_t start = 8 + length_bytes;
  if (bytes.size() < start || bytes.size() - start < length)
    return damaged("the .npy header reaches past the end of the file");
  auto header = parse_header(bytes.substr(start, length));
  if (!header) return damaged("the .npy header is not {'descr': ..., 'fortran_order': ..., 'shape': (...)}");
  auto element = parse_descr(header->descr);
  if (!element) return damaged(cat("elements of type '", header->descr, "' are not supported"));
  if (header->shape.size() > kMaxRank) return damaged(cat("rank ", header->shape.size(), " is above ", kMaxRank));
  Shape shape(header->shape);
  std::string_view data = bytes.substr(start + length);
  auto count = shape.checked_num_elements();
  int64_t wanted = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(element->size), &wanted) ||
      static_cast<uint64_t>(wanted) > data.size() ||
      (element->size == 0 && *count > static_cast<int64_t>(bytes.size()))) {
    return damaged(cat("shape ", shape.to_string(), " of '", header->descr, "' needs more than the ", data.size(),
                       " bytes that are there"));
  }
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(element->dtype, shape));
  for (int64_t i = 0; i < *count; ++i) {
    if (!header->fortran_order && !element->swapped && element->dtype != DType::kString) {
      std::memcpy(t.raw(), data.data(), static_cast<size_t>(wanted));
      break;
    }
    int64_t at = header->fortran_order ? column_major_position(i, header->shape) : i;
    const char* from = data.data() + static_cast<size_t>(at) * element->size;
    if (element->dtype == DType::kString) {
      t.data<std::string>()[i] = string_element(from, *element);
      continue;
    }
    char* to = t.data<char>() + static_cast<size_t>(i) * element->size;
    std::memcpy(to, from, element->size);
    size_t part = is_complex(element->dtype) ? element->size / 2 : element->size;
    for (size_t p = 0; element->swapped && p < element->size; p += part) std::reverse(to + p, to + p + part);
  }
  if (element->dtype == DType::kBool) {  // any other byte than 0 and 1 would be no bool to C++
    for (char *b = t.data<char>(), *end = b + *count; b != end; ++b) *b = *b != 0;
  }
  return t;
}

Result<Tensor> read_npy(const std::string& path) {
  ASSIGN_OR_RETURN(std::shared_ptr<const InputFile> file, InputFile::open(path));
  return parse_npy(file->bytes(), path);
}

Result<std::vector<std::pair<std::string, Tensor>>> read_npz(const std::string& path) {
  ASSIGN_OR_RETURN(std::shared_ptr<const InputFile> file, InputFile::open(path));
  const std::string_view archive = file->bytes();
  auto members = zip_members(archive);
  if (!members.ok()) return members.status().with_context(path);
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (const ZipMember& m : *members) {
    if (!m.name.ends_with(".npy")) continue;
    auto bytes = zip_extract(archive, m);
    if (!bytes.ok()) return bytes.status().with_context(path);
    ASSIGN_OR_RETURN(Tensor t, parse_npy(*bytes, cat(path, ":", m.name)));
    arrays.emplace_back(m.name.substr(0, m.name.size() - 4), std::move(t));
  }
  return arrays;
}

Result<Tensor> read_npz(const std::string& path, const std::string& key) {
  ASSIGN_OR_RETURN(std::shared_ptr<const InputFile> file, InputFile::open(path));
  const std::string_view archive = file->bytes();
  auto members = zip_members(archive);
  if (!members.ok()) return members.status().with_context(path);
  std::string there;
  for (const ZipMember& m : *members) {
    if (m.name == key + ".npy" || m.name == key) {
      auto bytes = zip_extract(archive, m);
      if (!bytes.ok()) return bytes.status().with_context(path);
      return parse_npy(*bytes, cat(path, ":", m.name));
    }
    append(there, there.empty() ? "" : ", ", m.name.ends_with(".npy") ? m.name.substr(0, m.name.size() - 4) : m.name);
  }
  return not_found(cat(path, ": no array '", key, "'; it has ", there.empty() ? "none" : there));
}

Status npy_to(const ByteSink& sink, const Tensor& tensor) {
  RETURN_IF_ERROR(sink(npy_head(tensor)));
  return sink(elements(tensor));
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  ASSIGN_OR_RETURN(OutputFile file, OutputFile::open(path));
  RETURN_IF_ERROR(npy_to([&file](std::string_view bytes) { return file.write(bytes); }, tensor));
  return file.commit();
}

Status npz_to(const ByteSink& sink, const std::vector<std::pair<std::string, Tensor>>& arrays) {
  ZipWriter zip(sink);
  for (const auto& [name, tensor] : arrays) {
    const std::string head = npy_head(tensor);
    RETURN_IF_ERROR(zip.add(name + ".npy", {head, elements(tensor)}));
  }
  return zip.finish();
}

Status write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays) {
  ASSIGN_OR_RETURN(OutputFile file, OutputFile::open(path));
  RETURN_IF_ERROR(npz_to([&file](std::string_view bytes) { return file.write(bytes); }, arrays));
  return file.commit();
}

}  // namespace emplace
