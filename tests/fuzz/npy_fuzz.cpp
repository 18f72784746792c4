// .npy and .npz files of any bytes: an array of the size that was there, or an error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/tensor/npy.h"
#include "core/tensor/zip.h"

using namespace emplace;

namespace {

void check_array(std::string_view bytes) {
  Result<Tensor> array = parse_npy(bytes, "fuzz");
  // Text is kept as std::string; everything else was there, byte by byte.
  if (array.ok() && array->dtype() != DType::kString && array->size_bytes() > 2 * bytes.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_array(bytes);
  Result<std::vector<ZipMember>> members = zip_members(bytes);
  if (!members.ok()) return 0;
  for (const ZipMember& member : *members) {
    if (Result<std::string> unpacked = zip_extract(bytes, member); unpacked.ok()) check_array(*unpacked);
  }
  return 0;
}
