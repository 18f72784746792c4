#include "core/ops/kit/broadcast.h"

#include <algorithm>

namespace emplace {

int64_t BroadcastPlan::runs() const {
  int64_t n = 1;
  for (size_t i = 0; i + 1 < dims.size(); ++i) n *= dims[i];
  return n;
}

BroadcastPlan plan_broadcast(std::span<const Shape* const> inputs, const Shape& out) {
  // From the innermost dimension outwards: a dimension joins the one inside it if every input continues through both.
  BroadcastPlan plan;
  BroadcastPlan::Offsets extent;  // elements of each input inside the current dimension
  extent.fill(1);
  for (int d = out.rank() - 1; d >= 0; --d) {
    const int64_t size = out.dim(d);
    if (size == 1) continue;
    BroadcastPlan::Offsets stride{};
    for (size_t i = 0; i < inputs.size(); ++i) {
      int own = d - (out.rank() - inputs[i]->rank());
      if (own < 0 || inputs[i]->dim(own) == 1) continue;
      stride[i] = extent[i];
      extent[i] *= inputs[i]->dim(own);
    }
    bool joins = !plan.dims.empty();
    for (size_t i = 0; joins && i < inputs.size(); ++i) {
      joins = stride[i] == plan.strides.back()[i] * plan.dims.back();
    }
    if (joins) {
      plan.dims.back() *= size;
    } else {
      plan.dims.push_back(size);
      plan.strides.push_back(stride);
    }
  }
  if (plan.dims.empty()) {
    plan.dims.push_back(1);
    plan.strides.push_back({});
  }
  std::reverse(plan.dims.begin(), plan.dims.end());
  std::reverse(plan.strides.begin(), plan.strides.end());
  return plan;
}

RunCursor::RunCursor(const BroadcastPlan& plan, int64_t first_run) : plan_(plan), index_(plan.dims.size() - 1) {
  for (size_t d = index_.size(); d-- > 0;) {
    index_[d] = first_run % plan.dims[d];
    first_run /= plan.dims[d];
    for (size_t i = 0; i < offsets_.size(); ++i) offsets_[i] += index_[d] * plan.strides[d][i];
  }
}

void RunCursor::next() {
  for (size_t d = index_.size(); d-- > 0;) {
    for (size_t i = 0; i < offsets_.size(); ++i) offsets_[i] += plan_.strides[d][i];
    if (++index_[d] < plan_.dims[d]) return;
    for (size_t i = 0; i < offsets_.size(); ++i) offsets_[i] -= plan_.strides[d][i] * plan_.dims[d];
    index_[d] = 0;
  }
}

}  // namespace emplace
