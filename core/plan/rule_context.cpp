#include "core/plan/rule_context.h"

#include <algorithm>

namespace emplace {

void RuleContext::begin(const NodeType& type) {
  type_ = &type;
  attrs_ = type.view();
  inputs.resize(type.input_types.size());
  outputs.assign(type.output_types.size(), Shape::unknown());
  handles.clear();
}

Shape RuleContext::input_as_shape(int i) const {
  const Tensor* value = input_value(i);
  if (value) {
    Shape shape;
    int64_t rank = std::min<int64_t>(value->num_elements(), kMaxRank + 1);  // rules refuse what is longer
    for (int64_t k = 0; k < rank; ++k) shape.add_dim(int_at(*value, k));
    return shape;
  }
  const Shape& s = input(i);
  bool length_known = s.rank_known() && s.rank() == 1 && s.dim(0) >= 0 && s.dim(0) <= kMaxRank;
  return length_known ? Shape::unknown_dims(static_cast<int>(s.dim(0))) : Shape::unknown();
}

void RuleContext::set_output_handle(int i, HandleInfo info) { handles.emplace_back(i, std::move(info)); }

}  // namespace emplace
