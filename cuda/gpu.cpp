#include "cuda/gpu.h"

#include <algorithm>
#include <bit>

#include "cuda/card_memory.h"
#include "cuda/chain_kernel.h"
#include "cuda/error.h"
#include "cuda/peer.h"
#include "cuda/waiting.h"

namespace emplace::cuda {
namespace {

// What this thread's calls go to; the runtime's own answer costs a call. Of a thread that has never said so, any call
// gives the first card a context.
thread_local int current_device = -1;

Status make_current(int device) {
  if (current_device == device) return ok_status();
  CUDA_TRY(cudaSetDevice(device));
  current_device = device;
  return ok_status();
}

class Event final : public GpuEvent {
 public:
  Event(cudaEvent_t made, int device) : handle(made), device_(device) {}
  ~Event() override {
    (void)make_current(device_);
    (void)cudaEventDestroy(handle);
  }
  const cudaEvent_t handle;

 private:
  const int device_;
};

class Recording final : public GpuRecording {
 public:
  Recording(cudaGraphExec_t exec, cudaStream_t stream, int device) : exec_(exec), stream_(stream), device_(device) {}
  ~Recording() override {
    (void)make_current(device_);
    (void)cudaGraphExecDestroy(exec_);
  }
  Status replay() override {
    RETURN_IF_ERROR(make_current(device_));
    return status_of(cudaGraphLaunch(exec_, stream_), "cudaGraphLaunch");
  }

 private:
  const cudaGraphExec_t exec_;
  const cudaStream_t stream_;
  const int device_;
};

cudaEvent_t handle_of(GpuEvent& event) { return static_cast<Event&>(event).handle; }

constexpr int64_t kMostWorkspace = int64_t{4} << 30;  // TensorFlow's, for cuDNN

/// While a step is recorded, calls that might wait for what is recorded are errors, and end it. Memory functions may be
/// among them, but what they do has nothing to do with any stream.
class NotCapturing {
 public:
  NotCapturing() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~NotCapturing() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace

CudaGpu::CudaGpu(const GpuOptions& options, Pages pages, std::unique_ptr<Lanes> lanes)
    : state_{options.platform_id,
             options.deterministic,
             options.tf32,
             std::min(kMostWorkspace, options.memory_limit / 4),
             begin_on_card(options.platform_id),
             options.stream_priority},
      pages_(std::move(pages)),
      lanes_(std::move(lanes)) {}

Result<std::unique_ptr<Gpu>> CudaGpu::open(const GpuOptions& options) {
  note_card(options.platform_id);
  CUDA_TRY(cudaSetDevice(options.platform_id));
  current_device = options.platform_id;
  ASSIGN_OR_RETURN(Pages pages, Pages::make(options.platform_id, options.memory_limit));
  ASSIGN_OR_RETURN(std::unique_ptr<Lanes> lanes, Lanes::take(options.platform_id, options.stream_priority));
  return std::unique_ptr<Gpu>(new CudaGpu(options, std::move(pages), std::move(lanes)));
}

CudaGpu::~CudaGpu() {
  const bool idle = wait_idle().ok() && lanes_->staging.finish(~uint64_t{0}).ok();
  if (idle) Lanes::keep(std::move(lanes_));
  end_on_card(state_.device, state_.place);
}

Status CudaGpu::activate() { return make_current(state_.device); }

Result<std::byte*> CudaGpu::reserve(int64_t bytes) {
  RETURN_IF_ERROR(activate());
  return pages_.reserve(bytes);
}
void CudaGpu::release(std::byte* range, int64_t bytes) {
  if (activate().ok()) pages_.release(range, bytes);
}
Status CudaGpu::map(std::byte* at, int64_t bytes) {
  RETURN_IF_ERROR(activate());
  const NotCapturing now;
  RETURN_IF_ERROR(pages_.map(at, bytes));
  count_pages(state_.device, bytes);
  return ok_status();
}
Status CudaGpu::unmap(std::byte* at, int64_t bytes) {
  RETURN_IF_ERROR(activate());
  const NotCapturing now;
  RETURN_IF_ERROR(pages_.unmap(at, bytes));
  count_pages(state_.device, -bytes);
  return ok_status();
}

Result<uint64_t> CudaGpu::copy_in(void* to, const void* from, size_t bytes, Lane lane,
                                  std::shared_ptr<const void> keeps) {
  RETURN_IF_ERROR(activate());
  return lanes_->staging.copy_in(to, from, bytes, use(lane), std::move(keeps));
}
Result<uint64_t> CudaGpu::copy_out(void* to, const void* from, size_t bytes, Lane lane) {
  RETURN_IF_ERROR(activate());
  return lanes_->staging.copy_out(to, from, bytes, use(lane));
}
Status CudaGpu::finish(uint64_t ticket) {
  RETURN_IF_ERROR(activate());
  return lanes_->staging.finish(ticket);
}

Status CudaGpu::copy_peer(void* to, Gpu& other, const void* from, size_t bytes, Lane lane) {
  RETURN_IF_ERROR(activate());
  auto& source = static_cast<CudaGpu&>(other);
  const int sender = source.state_.device;
  if (sender == state_.device) {
    return status_of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, use(lane)), "cudaMemcpyAsync");
  }
  ASSIGN_OR_RETURN(bool direct, peer_copies_arrive(sender, state_.device, use(Lane::kPeer)));
  if (!direct) return lanes_->bridge.enqueue(to, use(lane), from, {sender, source.use(Lane::kToHost)}, bytes);
  {
    const NotCapturing now;
    RETURN_IF_ERROR(source.pages_.let_read(state_.device));
  }
  return status_of(cudaMemcpyPeerAsync(to, state_.device, from, sender, bytes, use(lane)), "cudaMemcpyPeerAsync");
}

Result<std::unique_ptr<GpuEvent>> CudaGpu::make_event() {
  RETURN_IF_ERROR(activate());
  cudaEvent_t handle = nullptr;
  CUDA_TRY(cudaEventCreateWithFlags(&handle, cudaEventDisableTiming));
  return std::unique_ptr<GpuEvent>(std::make_unique<Event>(handle, state_.device));
}
Status CudaGpu::record(GpuEvent& event, Lane lane) {
  RETURN_IF_ERROR(activate());
  return status_of(cudaEventRecord(handle_of(event), of(lane)), "cudaEventRecord");
}
Status CudaGpu::wait_for(GpuEvent& event, Lane lane) {
  RETURN_IF_ERROR(activate());
  return status_of(cudaStreamWaitEvent(of(lane), handle_of(event), 0), "cudaStreamWaitEvent");
}
// Each wait is a call of the driver. Kernels are handed the compute lane once and for all.
Status CudaGpu::wait_idle() {
  RETURN_IF_ERROR(activate());
  uint32_t used = used_.exchange(0) | 1u << static_cast<unsigned>(Lane::kCompute);
  for (; used != 0; used &= used - 1)
    RETURN_IF_ERROR(cuda::wait_for(lanes_->streams[static_cast<size_t>(std::countr_zero(used))]));
  return ok_status();
}

bool CudaGpu::chains(const Kernel& kernel) const { return is_chainable(kernel); }

Result<std::unique_ptr<Kernel>> CudaGpu::compile(const GpuChain& chain) {
  RETURN_IF_ERROR(activate());
  return compile_chain(chain, state_);
}

std::optional<int64_t> CudaGpu::overhead_bytes() {
  if (!tells_of_card(state_.device, state_.place)) return 0;
  return activate().ok() ? card_overhead(state_.device) : std::nullopt;
}

Status CudaGpu::begin_recording() {
  RETURN_IF_ERROR(activate());
  return status_of(cudaStreamBeginCapture(of(Lane::kCompute), cudaStreamCaptureModeThreadLocal),
                   "cudaStreamBeginCapture");
}

Result<std::unique_ptr<GpuRecording>> CudaGpu::end_recording() {
  RETURN_IF_ERROR(activate());
  cudaStream_t stream = of(Lane::kCompute);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CUDA_TRY(cudaStreamEndCapture(stream, &graph));
  cudaError_t error = cudaGraphInstantiate(&exec, graph, 0);
  (void)cudaGraphDestroy(graph);
  CUDA_TRY(error);
  auto recording = std::make_unique<Recording>(exec, stream, state_.device);
  CUDA_TRY(cudaGraphUpload(exec, stream));
  return std::unique_ptr<GpuRecording>(std::move(recording));
}

}  // namespace emplace::cuda
