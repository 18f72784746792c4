#include "core/base/plugin_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <fstream>

#include "core/base/cat.h"

namespace emplace {
namespace {

/// dlopen() looks at no more than the beginning; the process dies of what a file that was cut off lacks.
bool is_cut_off(const std::string& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const auto size = static_cast<uint64_t>(std::max<std::streamoff>(0, in.tellg()));
  Elf64_Ehdr header{};
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header) || std::memcmp(ELFMAG, header.e_ident, SELFMAG) != 0)
    return false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    in.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof part));
    if (!in.read(reinterpret_cast<char*>(&part), sizeof part)) return true;
    if (part.p_type == PT_LOAD && (part.p_offset > size || part.p_filesz > size - part.p_offset)) return true;
  }
  return false;
}

}  // namespace

bool file_exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string plugin_beside_program(std::string_view name) {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return {};
  std::string folder(path, static_cast<size_t>(length));
  folder.resize(folder.rfind('/') + 1);
  for (std::string_view place : {"", "../lib/"}) {
    if (std::string file = cat(folder, place, name); file_exists(file)) return file;
  }
  return {};
}

Result<void*> open_plugin_file(const std::string& file, std::string_view what) {
  struct stat kind = {};  // opening a pipe or a device may last for ever
  if (::stat(file.c_str(), &kind) == 0 && !S_ISREG(kind.st_mode))
    return unavailable(cat(what, " cannot be loaded: ", file, " is not a file"));
  if (is_cut_off(file)) return unavailable(cat(what, " cannot be loaded: ", file, " is cut off"));
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return unavailable(cat(what, " cannot be loaded: ", dlerror()));
  return library;
}

}  // namespace emplace
