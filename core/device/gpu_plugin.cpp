#include "core/device/gpu_plugin.h"

#include <dlfcn.h>

#include <mutex>

#include "core/base/cat.h"
#include "core/base/plugin_file.h"

namespace emplace {
namespace {

Result<GpuBackend*> open_plugin(const std::string& file) {
  ASSIGN_OR_RETURN(void* library, open_plugin_file(file, "the CUDA plug-in"));
  auto info_of = reinterpret_cast<const GpuPluginInfo* (*)()>(dlsym(library, kGpuPluginSymbol));
  if (!info_of) return unavailable(cat("the CUDA plug-in ", file, " has no symbol ", kGpuPluginSymbol));
  const GpuPluginInfo* info = info_of();
  if (info->abi != kGpuPluginAbi) {
    return unavailable(cat("the CUDA plug-in ", file, " has interface ", info->abi, ", this program has ",
                           kGpuPluginAbi, "; build both together"));
  }
  if (!info->fits(GpuPluginInfo()))
    return unavailable(cat("the CUDA plug-in ", file, " is of another build; build both together"));
  return info->backend();
}

}  // namespace

bool has_nvidia_driver() {
  return file_exists("/proc/driver/nvidia/version") || file_exists("/dev/nvidiactl") || file_exists("/dev/nvidia0") ||
         file_exists("/dev/dxg");
}

std::string gpu_plugin_file(const char* (*environment)(const char*)) {
  const char* named = environment("EMPLACE_CUDA_PLUGIN");
  return named ? named : plugin_beside_program(kGpuPluginFile);
}

Result<GpuBackend*> load_gpu_plugin(const char* (*environment)(const char*)) {
  const char* named = environment("EMPLACE_CUDA_PLUGIN");
  std::string file = gpu_plugin_file(environment);
  if (named && !file_exists(file)) return unavailable(cat("no CUDA plug-in at EMPLACE_CUDA_PLUGIN=", file));
  if (!named && !has_nvidia_driver()) {
    return unavailable(cat("no NVIDIA driver on this machine",
                           file.empty() ? cat(" and no CUDA plug-in (", kGpuPluginFile, ") beside emplace") : ""));
  }
  if (file.empty()) return unavailable(cat("no CUDA plug-in (", kGpuPluginFile, ") beside emplace"));
  if (file.find('/') == std::string::npos) file.insert(0, "./");  // else dlopen() looks for it elsewhere
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  return open_plugin(file);
}

}  // namespace emplace
