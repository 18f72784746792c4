// Part of core/tensor/npy.h: writing.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/output_file.h"
#include "core/base/tiny_float.h"
#include "core/tensor/npy.h"
#include "core/tensor/zip.h"

namespace emplace {
namespace {

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
  const DType written = kTinyInts.has(t.dtype()) ? plain_type(t.dtype()) : t.dtype();
  std::string descr = kTinyFloats.has(t.dtype()) ? "|V1" : cat("|S", width);
  for (const auto& [dtype, text] : kDescr) {
    if (dtype == written) descr = text;
  }
  std::string header = cat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (int64_t d : t.shape().dims()) append(header, d, ", ");
  if (t.shape().rank() > 1) header.resize(header.size() - 2);
  if (t.shape().rank() == 1) header.pop_back();
  header += "), }";
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\0", 8);
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
