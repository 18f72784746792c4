// .npy and .npz files of any bytes: an array of the size that was there, or an error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/tensor/npy.h"

using namespace emplace;

namespace {

/// Text is kept as std::string; everything else was there, byte by byte, or packed at most a thousand to one.
void check_array(const Tensor& array, size_t most_bytes) {
  if (array.dtype() != DType::kString && array.size_bytes() > most_bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (auto array = parse_npy(bytes, "fuzz"); array.ok()) check_array(*array, size);
  if (auto arrays = parse_npz(bytes, "fuzz"); arrays.ok()) {
    for (const auto& [name, array] : *arrays) check_array(array, 1100 * (size + 1));
  }
  return 0;
}
