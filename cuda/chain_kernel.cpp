#include "cuda/chain_kernel.h"

#include <map>
#include <mutex>

#include "core/base/cat.h"
#include "cuda/chain.h"
#include "cuda/chain_source.h"
#include "cuda/chainable.h"
#include "cuda/error.h"
#include "cuda/kernel_cache.h"
#include "cuda/kernel_table.h"
#include "cuda/log.h"
#include "cuda/nvrtc.h"
#ifdef EMPLACE_STANDIN
#include "cuda/standin/compiler.h"
#endif

namespace emplace::cuda {
namespace {

static_assert(GpuChain::kMostInputs <= kMaxChainInputs && GpuChain::kMostOps <= kMaxChainOutputs);

// What a chain must save to be worth compiling or loading, with some reserve: NVRTC takes 60 to 90 ms for such a text,
// loading a cached cubin less than one.
constexpr double kCompileNs = 100e6, kLoadNs = 1e6;
constexpr int64_t kThreads = 256;  // of a block

#ifdef EMPLACE_STANDIN
Result<std::string> compiler_version() { return standin::compiler_version(); }
Result<std::string> compile_text(const CompileRequest& request) { return standin::compile(request); }
#else
Result<std::string> compiler_version() { return nvrtc_version(); }
Result<std::string> compile_text(const CompileRequest& request) { return nvrtc_compile(request); }
#endif

Result<cudaKernel_t> load(const std::string& code) {
  cudaLibrary_t library = nullptr;
  CUDA_TRY(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  cudaKernel_t kernel = nullptr;
  CUDA_TRY(cudaLibraryGetKernel(&kernel, library, "emplace_chain"));
  return kernel;
}

std::string key_of(const CompileRequest& request, const std::string& compiler) {
  std::string key = cat(compiler, " for ", request.architecture, "\n", request.text);
  for (const SourceHeader& header : request.headers) append(key, header.name, "\n", header.text);
  return key;
}

Result<cudaKernel_t> make(const CompileRequest& request, const std::string& key, double saved_ns) {
  if (saved_ns < kLoadNs) return unavailable("loading one would take longer than it saves");
  if (std::optional<std::string> kept = find_kernel(key)) {
    if (Result<cudaKernel_t> loaded = load(*kept); loaded.ok()) return loaded;
  }
  if (saved_ns < kCompileNs) return unavailable("compiling one would take longer than it saves");
  ASSIGN_OR_RETURN(const std::string code, compile_text(request));
  ASSIGN_OR_RETURN(cudaKernel_t kernel, load(code));
  keep_kernel(key, code);
  return kernel;
}

/// Kernels stay loaded as long as the process runs: the same chain is often in several kinds of steps, and on several
/// GPUs.
Result<cudaKernel_t> find_or_make(const CompileRequest& request, double saved_ns) {
  static std::mutex mutex;
  static auto* const kLoaded = new std::map<std::string, cudaKernel_t>;
  ASSIGN_OR_RETURN(const std::string compiler, compiler_version());
  const std::string key = key_of(request, compiler);
  const std::lock_guard lock(mutex);
  if (auto found = kLoaded->find(key); found != kLoaded->end()) return found->second;
  ASSIGN_OR_RETURN(cudaKernel_t kernel, make(request, key, saved_ns));
  return kLoaded->emplace(key, kernel).first->second;
}

class ChainKernel final : public Kernel {
 public:
  ChainKernel(cudaKernel_t kernel, int64_t elements, int pack) : kernel_(kernel), elements_(elements), pack_(pack) {}

  Status run(KernelContext& c) override {
    ChainWork work{};
    for (int i = 0; i < c.num_inputs(); ++i) work.in[i] = c.input(i).raw();
    for (int i = 0; i < c.num_outputs(); ++i) work.out[i] = c.output(i).raw();
    work.elements = elements_;
    void* arguments[] = {&work};
    const int64_t per_block = kThreads * pack_;
    const dim3 grid(static_cast<unsigned>((elements_ + per_block - 1) / per_block)), block(kThreads);
    return status_of(cudaLaunchKernel(reinterpret_cast<const void*>(kernel_), grid, block, arguments, 0, stream_of(c)),
                     "cudaLaunchKernel");
  }

 private:
  cudaKernel_t kernel_;
  int64_t elements_;
  int pack_;
};

}  // namespace

bool is_chainable(const Kernel& kernel) {
  const auto* elementwise = dynamic_cast<const ChainableKernel*>(&kernel);
  return elementwise && elementwise->function();
}

Result<std::unique_ptr<Kernel>> compile_chain(const GpuChain& chain, const DeviceState& device) {
  cudaDeviceProp card;
  CUDA_TRY(cudaGetDeviceProperties(&card, device.device));
  ChainSource source = chain_source(chain);
  const CompileRequest request{std::move(source.text), chain_headers(), kChainPrelude,
                               cat("sm_", card.major, card.minor)};
  Result<cudaKernel_t> kernel = find_or_make(request, chain.saved_ns);
  say(LogLevel::kDebug, cat(chain.name, ": ", chain.ops.size(), " nodes as ",
                            kernel.ok() ? "one kernel" : cat("kernels of their own: ", kernel.status().message())));
  if (!kernel.ok()) return kernel.take_status();
  return owned_kernel(new ChainKernel(*kernel, chain.elements, source.pack));
}

}  // namespace emplace::cuda
