/// The option allow_growth, as TF_FORCE_GPU_ALLOW_GROWTH overrides it; messages as in gpu_bfc_allocator.cc.
#pragma once

#include <string>

namespace emplace {

struct Growth {
  bool allowed = true;
  std::string warning;  // the variable overrides the option
  std::string error;    // the variable says neither true nor false: TensorFlow logs an error and goes on
};

/// `forced`: the variable's value; null: not set.
Growth settle_growth(bool asked, const char* forced);

}  // namespace emplace
