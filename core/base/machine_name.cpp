#include "core/base/machine_name.h"

#include <sched.h>

#include <fstream>

#include "core/base/cat.h"
#include "core/base/heap_limit.h"

namespace emplace {

std::string machine_name() {
  const HeapLimit no_limit = HeapLimit::none();  // a stream would keep a refusal to itself
  std::ifstream file("/proc/cpuinfo");
  std::string line, model = "unknown processor";
  while (std::getline(file, line)) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      model = line.substr(colon + 2);
      break;
    }
  }
  cpu_set_t allowed;
  const int count = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  return cat(model, ", ", count, count == 1 ? " processor" : " processors");
}

}  // namespace emplace
