#include "core/run/cut_programs.h"

namespace emplace {
namespace {

bool equal(const StepRequest& a, const StepRequest& b) {
  return a.fetches == b.fetches && a.targets == b.targets && a.feeds == b.feeds && a.guard == b.guard;
}

bool equal(const PartitionOptions& a, const PartitionOptions& b) {
  return a.to_run == b.to_run && a.num_constant_feeds == b.num_constant_feeds && a.early_launches == b.early_launches;
}

}  // namespace

Result<std::shared_ptr<const WholeProgram>> CutPrograms::find(const StepRequest& request, const PartitionOptions& how,
                                                              const Cut& cut) {
  std::lock_guard lock(mutex_);
  if (!last_ || !equal(request, request_) || !equal(how, how_)) {
    last_ = nullptr;
    ASSIGN_OR_RETURN(last_, cut());
    request_ = request, how_ = how;
  }
  return last_;
}

void CutPrograms::clear() {
  std::lock_guard lock(mutex_);
  last_ = nullptr;
}

}  // namespace emplace
