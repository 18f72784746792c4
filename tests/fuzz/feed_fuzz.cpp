// --feed values: a tensor of the type and a shape that fits, or an error. Files are not opened.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/host_memory.h"
#include "core/tensor/feed.h"

using namespace emplace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view spec(reinterpret_cast<const char*>(data), size);
  if (spec.starts_with('@')) return 0;
  HostMemory::of_process().set_limit(int64_t{64} << 20);
  for (const DType type : {DType::kFloat, DType::kInt64, DType::kString}) {
    for (const Shape& shape : {Shape::unknown(), Shape{2, 3}}) {
      auto value = parse_feed(spec, type, shape);
      if (value.ok() && (value->dtype() != type || !value->shape().compatible_with(shape))) std::abort();
    }
  }
  return 0;
}
