#include "cli/version.h"

#include <cstdlib>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/program_version.h"
#include "core/device/gpu_plugin.h"
#include "core/ops/kit/isa.h"

namespace emplace {
namespace {

std::string_view isa_name() {
  switch (isa()) {
    case Isa::kV4:
      return "x86-64-v4";
    case Isa::kV3:
      return "x86-64-v3";
    case Isa::kBase:
      break;
  }
  return "x86-64";
}

std::string plugin_text() {
  const std::string file = gpu_plugin_file([](const char* name) -> const char* { return std::getenv(name); });
  return file.empty() ? "not there" : printable(file);
}

}  // namespace

std::string version_text() {
  return cat(program_version(), "\nkernels for ", isa_name(), "\nCUDA plug-in: ", plugin_text(), "\n");
}

}  // namespace emplace
