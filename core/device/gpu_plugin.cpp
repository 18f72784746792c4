#include "core/device/gpu_plugin.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <fstream>
#include <mutex>

#include "core/base/cat.h"

namespace emplace {
namespace {

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// Empty if there is no plug-in where one belongs.
std::string file_beside_program() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return {};
  std::string folder(path, static_cast<size_t>(length));
  folder.resize(folder.rfind('/') + 1);
  for (std::string_view place : {"", "../lib/"}) {
    if (std::string file = cat(folder, place, kGpuPluginFile); exists(file)) return file;
  }
  return {};
}

/// dlopen() looks at no more than the beginning; the process dies of what a file that was cut off lacks.
bool is_cut_off(const std::string& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const auto size = static_cast<uint64_t>(std::max<std::streamoff>(0, in.tellg()));
  Elf64_Ehdr header{};
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header) || std::memcmp(ELFMAG, header.e_ident, SELFMAG) != 0)
    return false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    in.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof part));
    if (!in.read(reinterpret_cast<char*>(&part), sizeof part)) return true;
    if (part.p_type == PT_LOAD && (part.p_offset > size || part.p_filesz > size - part.p_offset)) return true;
  }
  return false;
}

Result<GpuBackend*> open_plugin(const std::string& file) {
  struct stat kind = {};  // opening a pipe or a device may last for ever
  if (::stat(file.c_str(), &kind) == 0 && !S_ISREG(kind.st_mode))
    return unavailable(cat("the CUDA plug-in cannot be loaded: ", file, " is not a file"));
  if (is_cut_off(file)) return unavailable(cat("the CUDA plug-in cannot be loaded: ", file, " is cut off"));
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return unavailable(cat("the CUDA plug-in cannot be loaded: ", dlerror()));
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
  return exists("/proc/driver/nvidia/version") || exists("/dev/nvidiactl") || exists("/dev/nvidia0") ||
         exists("/dev/dxg");
}

std::string gpu_plugin_file(const char* (*environment)(const char*)) {
  const char* named = environment("EMPLACE_CUDA_PLUGIN");
  return named ? named : file_beside_program();
}

Result<GpuBackend*> load_gpu_plugin(const char* (*environment)(const char*)) {
  const char* named = environment("EMPLACE_CUDA_PLUGIN");
  std::string file = gpu_plugin_file(environment);
  if (named && !exists(file)) return unavailable(cat("no CUDA plug-in at EMPLACE_CUDA_PLUGIN=", file));
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
