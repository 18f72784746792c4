#include "cuda/nvrtc.h"

#include <memory>
#include <vector>

#include "core/base/cat.h"
#include "cuda/library.h"
#if !defined(EMPLACE_STANDIN) && __has_include(<nvrtc.h>)
#include <nvrtc.h>
#endif

namespace emplace::cuda {
namespace {

using Program = struct NvrtcProgram*;

struct NvrtcFunctions {
  int (*version)(int* major, int* minor) = nullptr;
  int (*create)(Program* program, const char* text, const char* name, int num_headers, const char* const* headers,
                const char* const* names) = nullptr;
  int (*compile)(Program program, int num_options, const char* const* options) = nullptr;
  int (*code_size)(Program program, size_t* bytes) = nullptr;
  int (*code)(Program program, char* code) = nullptr;
  int (*log_size)(Program program, size_t* bytes) = nullptr;
  int (*log)(Program program, char* log) = nullptr;
  int (*destroy)(Program* program) = nullptr;
  const char* (*error_text)(int error) = nullptr;
};

#if !defined(EMPLACE_STANDIN) && __has_include(<nvrtc.h>)
template <class... Ours, class... Theirs>
constexpr bool alike(int (*)(Ours...), nvrtcResult (*)(Theirs...)) {
  return ((sizeof(Ours) == sizeof(Theirs)) && ...);
}
static_assert(sizeof(nvrtcResult) == sizeof(int) && NVRTC_SUCCESS == 0);
static_assert(alike(decltype(NvrtcFunctions::create){}, decltype(&nvrtcCreateProgram){}) &&
              alike(decltype(NvrtcFunctions::compile){}, decltype(&nvrtcCompileProgram){}) &&
              alike(decltype(NvrtcFunctions::code_size){}, decltype(&nvrtcGetCUBINSize){}) &&
              alike(decltype(NvrtcFunctions::code){}, decltype(&nvrtcGetCUBIN){}) &&
              alike(decltype(NvrtcFunctions::log_size){}, decltype(&nvrtcGetProgramLogSize){}) &&
              alike(decltype(NvrtcFunctions::log){}, decltype(&nvrtcGetProgramLog){}) &&
              alike(decltype(NvrtcFunctions::destroy){}, decltype(&nvrtcDestroyProgram){}) &&
              alike(decltype(NvrtcFunctions::version){}, decltype(&nvrtcVersion){}));
#endif

Status load(NvrtcFunctions& f) {
  ASSIGN_OR_RETURN(const Library library, Library::open("libnvrtc.so.13"));
  RETURN_IF_ERROR(library.find("nvrtcVersion", f.version));
  RETURN_IF_ERROR(library.find("nvrtcCreateProgram", f.create));
  RETURN_IF_ERROR(library.find("nvrtcCompileProgram", f.compile));
  RETURN_IF_ERROR(library.find("nvrtcGetCUBINSize", f.code_size));
  RETURN_IF_ERROR(library.find("nvrtcGetCUBIN", f.code));
  RETURN_IF_ERROR(library.find("nvrtcGetProgramLogSize", f.log_size));
  RETURN_IF_ERROR(library.find("nvrtcGetProgramLog", f.log));
  RETURN_IF_ERROR(library.find("nvrtcDestroyProgram", f.destroy));
  return library.find("nvrtcGetErrorString", f.error_text);
}

const Result<NvrtcFunctions>& functions() {
  static const Result<NvrtcFunctions> kFunctions = Library::table(load);
  return kFunctions;
}

/// What the compiler says, up to its first empty line.
std::string log_of(const NvrtcFunctions& f, Program program) {
  size_t bytes = 0;
  if (f.log_size(program, &bytes) != 0 || bytes < 2) return {};
  std::string log(bytes, '\0');
  if (f.log(program, log.data()) != 0) return {};
  log.resize(bytes - 1);
  return ": " + log.substr(0, log.find("\n\n"));
}

}  // namespace

Result<std::string> nvrtc_version() {
  if (!functions().ok()) return functions().status();
  int major = 0, minor = 0;
  if (int error = functions()->version(&major, &minor); error != 0)
    return unavailable(cat("nvrtcVersion: ", functions()->error_text(error)));
  return cat("NVRTC ", major, ".", minor);
}

Result<std::string> nvrtc_compile(const CompileRequest& request) {
  if (!functions().ok()) return functions().status();
  const NvrtcFunctions& f = *functions();
  std::vector<const char*> texts, names;
  for (const SourceHeader& header : request.headers) {
    texts.push_back(header.text);
    names.push_back(header.name);
  }
  Program made = nullptr;
  if (int error =
          f.create(&made, request.text.c_str(), "chain.cu", static_cast<int>(texts.size()), texts.data(), names.data());
      error != 0) {
    return unavailable(cat("nvrtcCreateProgram: ", f.error_text(error)));
  }
  const auto destroy = [&f](Program program) { (void)f.destroy(&program); };
  const std::unique_ptr<NvrtcProgram, decltype(destroy)> program(made, destroy);
  const std::string architecture = "--gpu-architecture=" + request.architecture,
                    prelude = cat("--pre-include=", request.prelude);
  // As nvcc compiles the plug-in: no sum is fused with a product unless the text says so.
  const char* const options[] = {"--std=c++20", "--fmad=false", "--device-as-default-execution-space",
                                 architecture.c_str(), prelude.c_str()};
  if (int error = f.compile(made, static_cast<int>(std::size(options)), options); error != 0) {
    return unavailable(cat("NVRTC: ", f.error_text(error), log_of(f, made)));
  }
  size_t bytes = 0;
  if (int error = f.code_size(made, &bytes); error != 0)
    return unavailable(cat("nvrtcGetCUBINSize: ", f.error_text(error)));
  std::string code(bytes, '\0');
  if (int error = f.code(made, code.data()); error != 0)
    return unavailable(cat("nvrtcGetCUBIN: ", f.error_text(error)));
  return code;
}

}  // namespace emplace::cuda
