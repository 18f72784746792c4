// IDX files of any bytes, plain and gzip: an array of the size that was there, or an error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/train/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(emplace::looks_like_idx(bytes));
  auto array = emplace::parse_idx(bytes, "fuzz");
  if (array.ok() && array->size_bytes() > 1100 * (size + 1)) std::abort();
  return 0;
}
