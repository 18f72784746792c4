#include "core/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace emplace {

void assert_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "emplace: internal error at %s:%d: expected %s (%s)\n", file, line, condition, why);
  std::abort();
}

}  // namespace emplace
