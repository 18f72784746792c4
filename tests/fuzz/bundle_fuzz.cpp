// Checkpoints of any bytes: as the table itself, and as what stands in a sound table (its sums keep most changes out):
// TensorBundle finds an error, or tensors of the sizes that it says.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "core/formats/checkpoint/bundle.h"
#include "core/formats/checkpoint/saver.h"
#include "core/formats/checkpoint/sstable_writer.h"
#include "core/formats/checkpoint/tensor_slice.h"

using namespace emplace;

namespace {

/// A folder of this process, removed at its end.
struct Folder {
  Folder() {
    const std::string shared = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
    path = shared + "/emplace_bundle_fuzz." + std::to_string(getpid());
    std::filesystem::create_directories(path);
    write("/p.data-00000-of-00001", std::string(4096, '\1'));
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path + name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string path;
};

void read_all(const std::string& name) {
  Result<std::optional<TensorBundle>> bundle = TensorBundle::find(name);
  if (!bundle.ok() || !*bundle) return;
  for (const auto& [key, entry] : (*bundle)->entries()) {
    if (auto size = entry.shape.checked_num_elements(); !size || *size > (1 << 20)) continue;
    Result<Tensor> tensor = (*bundle)->read(key);
    if (tensor.ok() && !(tensor->shape() == entry.shape)) std::abort();
    if (auto part = parse_slice("0,1:-")) static_cast<void>((*bundle)->read(key, *part));
  }
}

/// Keys and values, each behind a byte that says how long it is; a table wants them sorted.
std::string table_of(std::string_view bytes) {
  std::map<std::string, std::string> entries;
  const auto take = [&] {
    const size_t size = bytes.empty() ? 0 : static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(bytes.empty() ? 0 : 1);
    const std::string_view out = bytes.substr(0, size);
    bytes.remove_prefix(out.size());
    return std::string(out);
  };
  while (!bytes.empty()) {
    std::string key = take();
    entries[key] = take();
  }
  SsTableWriter table;
  for (const auto& [key, value] : entries) table.add(key, value);
  return table.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(parse_slice_key(bytes));
  static_cast<void>(parse_slice(bytes));
  folder.write("/p.index", bytes);
  read_all(folder.path + "/p");
  const std::string table = table_of(bytes);
  folder.write("/p.index", table);
  read_all(folder.path + "/p");
  folder.write("/v1", table);
  read_all(folder.path + "/v1");
  return 0;
}
