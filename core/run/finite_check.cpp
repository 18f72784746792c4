#include "core/run/finite_check.h"

#include "core/run/watchers.h"

namespace emplace {

Status FiniteCheck::run(KernelContext& c) {
  RETURN_IF_ERROR(run_inside(c));
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (!c.output(i).valid()) continue;
    if (std::string text = non_finite_text(c.output(i)); !text.empty()) return {Code::kDataLoss, std::move(text)};
  }
  return ok_status();
}

}  // namespace emplace
