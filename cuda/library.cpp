#include "cuda/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/cat.h"

namespace emplace::cuda {
namespace {

/// Is "cudnn" in the list, for "libcudnn.so.9"?
bool is_left_out(std::string_view file) {
  const char* list = std::getenv("EMPLACE_CUDA_WITHOUT");
  std::string_view rest = list ? list : "";
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    if (file == cat("lib", name) || file.starts_with(cat("lib", name, "."))) return true;
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  return false;
}

}  // namespace

Result<Library> Library::open(std::string_view file) {
  std::string name(file);
  if (is_left_out(file)) return unavailable(cat(name, " is left out by EMPLACE_CUDA_WITHOUT"));
  if (const char* folder = std::getenv("EMPLACE_CUDA_LIB_DIR")) {
    if (void* handle = dlopen(cat(folder, "/", name).c_str(), RTLD_NOW | RTLD_LOCAL))
      return Library(std::move(name), handle);
  }
  if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(std::move(name), handle);
  return unavailable(cat("cannot load ", name, ": ", dlerror(), "; EMPLACE_CUDA_LIB_DIR names a folder that has it"));
}

Status Library::find_erased(const char* symbol, void*& function) const {
  function = dlsym(handle_, symbol);
  return function ? ok_status() : unavailable(cat(name_, " has no function ", symbol));
}

}  // namespace emplace::cuda
