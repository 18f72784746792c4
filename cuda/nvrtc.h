/// NVRTC: CUDA C++ compiled while the program runs. It needs no GPU. Thread-safe.
#pragma once

#include <span>
#include <string>

#include "core/base/status.h"

namespace emplace::cuda {

/// A header that a text includes, by name.
struct SourceHeader {
  const char* name;
  const char* text;
};

struct CompileRequest {
  std::string text;
  std::span<const SourceHeader> headers;
  const char* prelude;       // the name of the header that is included before everything else
  std::string architecture;  // "sm_90"
};

/// "NVRTC 13.0". Unavailable: the library is not there.
Result<std::string> nvrtc_version();
/// Machine code. Unavailable: the library is not there, or does not compile this; with what it says.
Result<std::string> nvrtc_compile(const CompileRequest& request);

}  // namespace emplace::cuda
