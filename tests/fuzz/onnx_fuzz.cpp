// Models of ONNX of any bytes.
#include "tests/fuzz/load_any.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  emplace::load_as(std::make_shared<emplace::ExactSource>(data, size), emplace::GraphFormat::kOnnx, true);
  return 0;
}
