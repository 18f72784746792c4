#include "core/formats/arguments.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr int64_t kUnknownLength = -1;

int64_t written_length(const OpSignature& op, const ArgSignature& arg, Attrs written) {
  if (arg.number_attr >= 0) {
    const AttrValue* n = written.find(op.attrs[static_cast<size_t>(arg.number_attr)].name);
    const int64_t* value = n ? n->get_if<int64_t>() : nullptr;
    return value ? *value : kUnknownLength;
  }
  if (arg.type_list_attr >= 0) {
    const AttrValue* types = written.find(op.attrs[static_cast<size_t>(arg.type_list_attr)].name);
    const auto* list = types ? types->get_if<std::vector<DType>>() : nullptr;
    return list ? static_cast<int64_t>(list->size()) : kUnknownLength;
  }
  return 1;
}

}  // namespace

ArgumentPlace argument_of_input(const OpSignature& op, Attrs written, int num_inputs, int input) {
  std::vector<int64_t> lengths;
  int64_t known = 0;
  for (const ArgSignature& arg : op.inputs) {
    lengths.push_back(written_length(op, arg, written));
    if (lengths.back() != kUnknownLength) known += std::clamp<int64_t>(lengths.back(), 0, num_inputs);
  }
  auto open = std::find(lengths.begin(), lengths.end(), kUnknownLength);
  if (open != lengths.end()) *open = std::max<int64_t>(0, num_inputs - known);
  int64_t first = 0;
  for (size_t a = 0; a < lengths.size(); ++a) {
    int64_t length = std::clamp<int64_t>(lengths[a], 0, num_inputs);
    if (input < first + length) return {static_cast<int>(a), static_cast<int>(input - first)};
    first += length;
  }
  return {};
}

}  // namespace emplace
