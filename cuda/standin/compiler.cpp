// Compiled while the program runs: texts, and libraries of kernels.
#include "cuda/standin/compiler.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "core/base/cat.h"
#include "cuda/standin/standin.h"

namespace emplace::standin {
namespace {

using Thread = void (*)(unsigned block, unsigned thread, unsigned threads, const void* argument);

/// What a library has beside the kernel: its threads know their numbers, and the host knows how large its argument is.
constexpr const char* kAfter = R"(
extern "C" void emplace_thread(unsigned block, unsigned thread, unsigned threads, const void* argument) {
  blockIdx = {block, 0, 0};
  threadIdx = {thread, 0, 0};
  blockDim = dim3(threads);
  emplace::cuda::emplace_chain(*static_cast<const emplace::cuda::ChainWork*>(argument));
}
extern "C" const unsigned long emplace_argument_bytes = sizeof(emplace::cuda::ChainWork);
)";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Result<std::string> compiler_version() {
  if (!std::getenv("EMPLACE_STANDIN_NVRTC")) return unavailable("no NVRTC on the stand-in");
  return cat("g++ ", __VERSION__);
}

// The headers are those of the tree: what NVRTC has in place of the C++ library would clash with it. Rounding to half
// is the host's function (cuda/narrow.h).
Result<std::string> compile(const cuda::CompileRequest& request) {
  char name[] = "/tmp/emplace-chain-XXXXXX";
  if (!mkdtemp(name)) return unavailable("no place for a chain's text");
  const std::filesystem::path folder = name;
  std::ofstream(folder / "chain.cpp") << request.text << kAfter;
  const std::string command =
      cat("g++ -std=c++20 -O1 -fPIC -shared -w -D__CUDACC_RTC__ -include cuda_runtime.h -I", EMPLACE_SOURCE_DIR, " -I",
          EMPLACE_SOURCE_DIR, "/cuda/standin -o ", folder.string(), "/chain.so ", folder.string(), "/chain.cpp ",
          request.text.find("half") == std::string::npos ? "" : EMPLACE_SOURCE_DIR "/core/base/dtype.cpp", " 2>",
          folder.string(), "/log");
  const bool done = std::system(command.c_str()) == 0;
  std::string result = text_of(folder / (done ? "chain.so" : "log"));
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (done) return result;
  return unavailable("g++: " + result);
}

}  // namespace emplace::standin

struct CUkern_st {
  emplace::standin::Thread thread;
  size_t argument_bytes;
};
struct CUlib_st {
  CUkern_st kernel;
};

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, void*, void**, unsigned, void*, void**,
                                unsigned) {
  const auto* elf = static_cast<const unsigned char*>(code);
  if (std::memcmp(elf, "\177ELF", 4) != 0) return cudaErrorInvalidKernelImage;
  // Its end is the end of the section headers.
  uint64_t sections = 0;
  uint16_t size = 0, count = 0;
  std::memcpy(&sections, elf + 40, sizeof sections);
  std::memcpy(&size, elf + 58, sizeof size);
  std::memcpy(&count, elf + 60, sizeof count);
  const size_t bytes = sections + size_t{size} * count;
  char name[] =
      "/tmp/emplace-chain-XXXXXX";  // a name of its own: the loader takes what has the same for the same library
  const int file = mkstemp(name);
  if (file < 0) return cudaErrorMemoryAllocation;
  const bool written = write(file, code, bytes) == static_cast<ssize_t>(bytes);
  close(file);
  void* handle = written ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(name);
  if (!handle) return cudaErrorInvalidKernelImage;
  auto* thread = reinterpret_cast<emplace::standin::Thread>(dlsym(handle, "emplace_thread"));
  const auto* argument_bytes = static_cast<const unsigned long*>(dlsym(handle, "emplace_argument_bytes"));
  if (!thread || !argument_bytes) return cudaErrorInvalidKernelImage;
  *library = new CUlib_st{{thread, *argument_bytes}};  // never unloaded
  return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  if (std::strcmp(name, "emplace_chain") != 0) return cudaErrorSymbolNotFound;
  *kernel = &library->kernel;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t stream) {
  const CUkern_st& code = *static_cast<const CUkern_st*>(kernel);
  std::shared_ptr<unsigned char[]> argument(new unsigned char[code.argument_bytes]);
  std::memcpy(argument.get(), arguments[0], code.argument_bytes);
  emplace::standin::check_addresses(argument.get(), code.argument_bytes);
  return emplace::standin::launch(false, kernel, grid, block, shared_bytes, stream, [code, argument] {
    code.thread(blockIdx.x, threadIdx.x, blockDim.x, argument.get());
  });
}
