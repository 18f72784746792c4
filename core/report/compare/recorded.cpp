#include "core/report/compare/recorded.h"

#include <algorithm>
#include <cstring>

#include "core/base/cat.h"

namespace emplace {

Result<Tensor> deep_copy(const Tensor& tensor) {
  if (!tensor.valid()) return Tensor();
  ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(tensor.dtype(), tensor.shape()));
  if (tensor.dtype() == DType::kString) {
    std::copy(tensor.flat<std::string>().begin(), tensor.flat<std::string>().end(), copy.data<std::string>());
  } else if (tensor.size_bytes() > 0) {
    std::memcpy(copy.raw(), tensor.raw(), tensor.size_bytes());
  }
  return copy;
}

AgainstArrays::AgainstArrays(const Graph& graph, const std::vector<std::pair<std::string, Tensor>>& arrays,
                             const Tolerance& tolerance, bool to_the_end)
    : graph_(graph), tolerance_(tolerance), to_the_end_(to_the_end), found_(graph.num_nodes()) {
  for (const auto& [name, value] : arrays) arrays_[name.find(':') == std::string::npos ? name + ":0" : name] = {&value};
}

Status AgainstArrays::finished(const ObservedInstruction& what, std::span<const Tensor> outputs) {
  if (what.is_copy()) return ok_status();
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const auto array = arrays_.find(cat(graph_.name(what.node), ':', i));
    if (array == arrays_.end() || is_ref(outputs[i].dtype())) continue;
    array->second.met = true;
    OutputDifference found{{what.node, i}};
    found.difference = tensor_difference(outputs[i], *array->second.value, tolerance_);
    found_.add(graph_, std::move(found));
    if (!found_.different.empty() && !to_the_end_) return {Code::kCancelled, "a node is different"};
  }
  return ok_status();
}

std::vector<std::string> AgainstArrays::left_over() const {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays_) {
    if (!array.met) names.push_back(name);
  }
  return names;
}

TensorCapture::TensorCapture(const Graph& graph, std::vector<Endpoint> wanted)
    : wanted_(std::move(wanted)), values_(wanted_.size()), makes_some_(graph.num_nodes(), 0) {
  for (const Endpoint& e : wanted_) makes_some_[e.node] = 1;
}

Status TensorCapture::finished(const ObservedInstruction& what, std::span<const Tensor> outputs) {
  if (what.is_copy() || !makes_some_[what.node]) return ok_status();
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const Endpoint& e = wanted_[i];
    if (e.node != what.node || e.slot >= outputs.size()) continue;
    const Tensor& t = outputs[e.slot];
    if (is_ref(t.dtype()) || t.dtype() == DType::kResource || t.dtype() == DType::kVariant) continue;
    ASSIGN_OR_RETURN(values_[i], deep_copy(t));
  }
  return ok_status();
}

}  // namespace emplace
