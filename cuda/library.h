/// Library: a shared library that is loaded at its first use, so that nothing heavy is linked into the plug-in.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace::cuda {

class Library {
 public:
  /// `file` is a file name with version ("libcublasLt.so.13"). Looked for in $EMPLACE_CUDA_LIB_DIR, then where the
  /// loader looks. Unavailable names the file and why: not found, or named in $EMPLACE_CUDA_WITHOUT
  /// ("cudnn,cublasLt,nccl"), which shows what the plug-in does without a library. Never unloaded.
  static Result<Library> open(std::string_view file);

  /// The table of functions that `load` fills in, or why it could not.
  template <class Table>
  static Result<Table> table(Status (*load)(Table&)) {
    Table functions;
    RETURN_IF_ERROR(load(functions));
    return functions;
  }

  /// Sets `function` to the symbol. Unavailable names symbol and file.
  template <class F>
  Status find(const char* symbol, F*& function) const {
    void* found = nullptr;
    RETURN_IF_ERROR(find_erased(symbol, found));
    function = reinterpret_cast<F*>(found);
    return ok_status();
  }

 private:
  Library(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}
  Status find_erased(const char* symbol, void*& function) const;

  std::string name_;
  void* handle_;
};

}  // namespace emplace::cuda
