#include "core/op/list_types.h"

namespace emplace {

std::span<const int> inputs_that_type_elements(std::string_view op) {
  static constexpr int kTensor[] = {0}, kListAndItem[] = {0, 2};
  if (op == "TensorListFromTensor") return kTensor;
  if (op == "TensorListSetItem") return kListAndItem;
  return {};
}

}  // namespace emplace
