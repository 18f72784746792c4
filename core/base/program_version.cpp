#include "core/base/program_version.h"

#include "core/base/cat.h"

namespace emplace {

std::string program_version() {
  const std::string_view commit = EMPLACE_COMMIT;
  return cat("emplace ", EMPLACE_VERSION, commit.empty() ? "" : cat(" (commit ", commit, ")"));
}

}  // namespace emplace
