#include "core/cluster/load_message_passing.h"

#include <dlfcn.h>

#include <string>

#include "core/base/cat.h"
#include "core/base/heap.h"
#include "core/base/plugin_file.h"

namespace emplace {

Result<MessagePassing*> load_message_passing(const char* (*environment)(const char*)) {
  keep_heap();
  const char* named = environment("EMPLACE_MPI_PLUGIN");
  std::string file = named ? named : plugin_beside_program(kMessagePassingFile);
  if (file.empty() || !file_exists(file)) {
    return unavailable(cat("--engine mpi: no MPI plug-in (", kMessagePassingFile,
                           ") beside emplace: build it with 'scripts/build cluster'"))
        .blamed(Blame::kDevice);
  }
  if (file.find('/') == std::string::npos) file.insert(0, "./");
  Result<void*> library = open_plugin_file(file, "the MPI plug-in");
  if (!library.ok()) return library.status().blamed(Blame::kDevice);
  const auto find = reinterpret_cast<const MessagePassingPlugin* (*)()>(dlsym(*library, kMessagePassingSymbol));
  const MessagePassingPlugin* plugin = find ? find() : nullptr;
  if (!plugin || plugin->abi != kMessagePassingAbi)
    return unavailable(cat("the MPI plug-in ", file, " is of another build; build both together"))
        .blamed(Blame::kDevice);
  std::string error;
  MessagePassing* made = plugin->start(&error);
  if (!made) return unavailable(cat("--engine mpi: ", error)).blamed(Blame::kDevice);
  return made;
}

}  // namespace emplace
