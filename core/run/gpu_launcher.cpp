#include "core/run/gpu_launcher.h"

namespace emplace {

void GpuLauncher::order(std::vector<Launch>& launches) {
  if (p_.gpus.empty() || p_.runtime.observer || p_.runtime.gpu_options.sync_every_node) return;
  copies_.order(launches);
  recorder_.record(launches);
}

}  // namespace emplace
