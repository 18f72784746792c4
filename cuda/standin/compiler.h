/// The stand-in's NVRTC: the C++ compiler, which gives a shared library in place of a cubin. It is there where
/// EMPLACE_STANDIN_NVRTC is set, since it takes its time; the text is the one that NVRTC gets.
#pragma once

#include "cuda/nvrtc.h"

namespace emplace::standin {

Result<std::string> compiler_version();
Result<std::string> compile(const cuda::CompileRequest& request);

}  // namespace emplace::standin
