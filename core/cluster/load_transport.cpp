#include "core/cluster/load_transport.h"

#include <dlfcn.h>

#include "core/base/cat.h"
#include "core/base/heap.h"
#include "core/base/plugin_file.h"

namespace emplace {
namespace {

Result<Transport*> loaded(const std::string& file) {
  ASSIGN_OR_RETURN(void* library, open_plugin_file(file, "the cluster plug-in"));
  const auto find = reinterpret_cast<const TransportPlugin* (*)()>(dlsym(library, kTransportSymbol));
  if (!find) return unavailable(cat("the cluster plug-in ", file, " has no symbol ", kTransportSymbol));
  const TransportPlugin* const found = find();
  const TransportPlugin own;
  if (found->abi != own.abi || found->answer_bytes != own.answer_bytes || found->options_bytes != own.options_bytes)
    return unavailable(cat("the cluster plug-in ", file, " is of another build; build both together"));
  return found->transport;
}

}  // namespace

Result<Transport*> load_transport(const char* (*environment)(const char*)) {
  keep_heap();
  const char* named = environment("EMPLACE_CLUSTER_PLUGIN");
  std::string file = named ? named : plugin_beside_program(kTransportFile);
  if (named && !file_exists(file))
    return unavailable(cat("no cluster plug-in at EMPLACE_CLUSTER_PLUGIN=", file)).blamed(Blame::kDevice);
  if (file.empty()) {
    return unavailable(
               cat("no cluster plug-in (", kTransportFile, ") beside emplace: build it with 'scripts/build cluster'"))
        .blamed(Blame::kDevice);
  }
  if (file.find('/') == std::string::npos) file.insert(0, "./");  // else dlopen() looks for it elsewhere
  Result<Transport*> transport = loaded(file);
  return transport.ok() ? transport : transport.status().blamed(Blame::kDevice);
}

}  // namespace emplace
