// Tensors in JSON of any bytes; the first byte chooses the dtype that is wanted.
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "core/tensor/json_tensor.h"

using namespace emplace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr DType kTypes[] = {DType::kFloat, DType::kDouble,    DType::kHalf,  DType::kBFloat16,
                              DType::kInt8,  DType::kInt32,     DType::kInt64, DType::kUInt64,
                              DType::kBool,  DType::kComplex64, DType::kString};
  if (size == 0) return 0;
  const DType dtype = kTypes[data[0] % std::size(kTypes)];
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Result<Tensor> tensor = parse_json_tensor(text, dtype, "fuzz");
  if (!tensor.ok()) return 0;
  // An element takes at least one character.
  if (tensor->dtype() != dtype || tensor->num_elements() > static_cast<int64_t>(text.size())) std::abort();
  return 0;
}
