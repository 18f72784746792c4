/// The stand-in's NVRTC: compiles the text that NVRTC would get with the C++ compiler, into a shared library in place
/// of a cubin. Slow, hence only where EMPLACE_STANDIN_NVRTC is set.
#pragma once

#include "cuda/nvrtc.h"

namespace emplace::standin {

Result<std::string> compiler_version();
Result<std::string> compile(const cuda::CompileRequest& request);

}  // namespace emplace::standin
