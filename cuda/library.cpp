#include "cuda/library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "core/base/cat.h"

namespace emplace::cuda {

Result<Library> Library::open(std::string_view file) {
  std::string name(file);
  if (const char* folder = std::getenv("EMPLACE_CUDA_LIB_DIR")) {
    if (void* handle = dlopen(cat(folder, "/", name).c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(std::move(name), handle);
  }
  if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(std::move(name), handle);
  return unavailable(cat("cannot load ", name, ": ", dlerror(), "; EMPLACE_CUDA_LIB_DIR names a folder that has it"));
}

Status Library::find_erased(const char* symbol, void*& function) const {
  function = dlsym(handle_, symbol);
  return function ? ok_status() : unavailable(cat(name_, " has no function ", symbol));
}

}  // namespace emplace::cuda
