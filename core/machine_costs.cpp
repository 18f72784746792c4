#include "core/machine_costs.h"

#include <cctype>

#include "core/base/cat.h"
#include "core/base/machine_name.h"
#include "core/pipeline_stage.h"

namespace emplace {

std::string costs_of_this_machine() {
  const char* own = environment_variable("EMPLACE_CACHE_DIR");
  const char* home = environment_variable("HOME");
  if (own && !*own) return {};
  if (!own && (!home || !*home)) return {};
  std::string id;
  for (const char c : machine_name()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain || (!id.empty() && id.back() != '-')) id += plain ? c : '-';
  }
  return cat(own ? std::string(own) : cat(home, "/.cache/emplace"), "/costs/", id, ".json");
}

}  // namespace emplace
