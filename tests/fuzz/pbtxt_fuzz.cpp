// Text graph files (.pbtxt) of any bytes, as each of their kinds.
#include "tests/fuzz/load_any.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  emplace::load_as_each_kind(data, size, false);
  return 0;
}
