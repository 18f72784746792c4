#include "cuda/standin/streams.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "cuda/standin/device_access.h"
#include "cuda/standin/machine.h"
#include "cuda/standin/open_things.h"
#include "cuda/standin/standin.h"

namespace emplace::standin {
namespace {

struct State {
  State() {
    if (const char* text = std::getenv("EMPLACE_STANDIN_SEED")) seed = std::strtoull(text, nullptr, 10);
    random.seed(seed);
  }
  std::recursive_mutex mutex;
  // Guarded by mutex.
  std::set<cudaStream_t> streams;
  std::set<std::pair<int, const void*>> loaded;  // kernels, by device
  Counts counts;
  uint64_t open_events = 0;
  uint64_t seed = 0;
  std::mt19937_64 random;
};

State& state() {
  static State* const kState = new State;  // outlives whoever synchronises at exit
  return *kState;
}

/// Every node after those it depends on, in drawn order.
void run_graph(const CUgraph_st& graph) {
  State& s = state();
  std::vector<size_t> open(graph.nodes.size()), ready;
  std::vector<std::vector<size_t>> followers(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    open[n] = graph.nodes[n].after.size();
    for (size_t before : graph.nodes[n].after) followers[before].push_back(n);
    if (open[n] == 0) ready.push_back(n);
  }
  while (!ready.empty()) {
    size_t pick = s.seed == 0 ? 0 : s.random() % ready.size();
    size_t node = ready[pick];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
    if (graph.nodes[node].run) graph.nodes[node].run();
    for (size_t next : followers[node]) {
      if (--open[next] == 0) ready.push_back(next);
    }
  }
}

/// Every third seed ranks the streams: who is behind another waits for as long as that one has something to do.
cudaStream_t drawn(const std::vector<cudaStream_t>& ready) {
  State& s = state();
  if (s.seed == 0 || s.seed % 3 != 0) return ready[s.random() % ready.size()];
  auto rank = [&](cudaStream_t stream) { return std::mt19937_64(s.seed ^ (stream->number << 32))(); };
  return *std::min_element(ready.begin(), ready.end(),
                           [&](cudaStream_t a, cudaStream_t b) { return rank(a) < rank(b); });
}

thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;
thread_local bool in_host_function = false;

void capture_operation(cudaStream_t stream, Operation operation) {
  stream->capture->nodes.push_back({std::move(operation.run), stream->last_nodes});
  stream->last_nodes = {stream->capture->nodes.size() - 1};
}

bool any_queued() {
  for (cudaStream_t s : state().streams) {
    if (!s->queue.empty()) return true;
  }
  return false;
}

/// Does something wait for another process?
bool waits_for_outside() {
  return std::any_of(state().streams.begin(), state().streams.end(),
                     [](cudaStream_t stream) { return !stream->queue.empty() && stream->queue.front().outside; });
}

/// From now on all goes on by itself, as on a card: another process may wait for it while this one waits for that.
void go_on_beside_the_host() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::thread([] {
      for (;; std::this_thread::sleep_for(std::chrono::microseconds(50))) {
        std::lock_guard lock(state().mutex);
        while (run_one()) {
        }
      }
    }).detach();
  });
}

/// run_until() where the host waits.
void wait_until(const std::function<bool()>& done) {
  refuse_in_host_function("waits");
  std::lock_guard lock(state().mutex);
  if (!done()) ++state().counts.waits;
  run_until(done);
}

}  // namespace

Counts counts() {
  std::lock_guard lock(state().mutex);
  return state().counts;
}

OpenThings open_things() {
  std::lock_guard lock(state().mutex);
  return {state().streams.size(), state().open_events, calls_without_card()};
}

void count_page_locked() {
  std::lock_guard lock(state().mutex);
  ++state().counts.page_locked;
}

void refuse_in_host_function(const char* what) {
  if (!in_host_function) return;
  std::fprintf(stderr, "CUDA stand-in: a host function %s\n", what);
  std::abort();
}

bool Operation::ready() const { return (!event || event->reached >= version) && (!outside || outside()); }

void set_seed(uint64_t seed) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.seed = seed;
  s.random.seed(seed);
}

bool run_one() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  std::vector<cudaStream_t> ready;
  for (cudaStream_t stream : s.streams) {
    if (!stream->queue.empty() && stream->queue.front().ready()) ready.push_back(stream);
  }
  if (ready.empty()) return false;
  cudaStream_t stream = drawn(ready);
  const int device = stream->device;
  Operation operation = std::move(stream->queue.front());
  stream->queue.pop_front();
  if (!operation.run) return true;
  if (operation.on_host) {
    in_host_function = true;
    operation.run();
    in_host_function = false;
    return true;
  }
  const DeviceAccess access(operation.on_all_cards ? DeviceAccess::kEveryCard : device);
  operation.run();
  return true;
}

void run_until(const std::function<bool()>& done) {
  std::lock_guard lock(state().mutex);
  while (!done()) {
    if (run_one()) continue;
    if (waits_for_outside()) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      continue;
    }
    std::fprintf(stderr, "CUDA stand-in: streams wait for each other\n");
    std::abort();
  }
}

bool is_captured(cudaStream_t stream) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.streams.contains(stream) && stream->capture;
}

bool breaks_capture() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  bool broken = false;
  for (cudaStream_t stream : s.streams) {
    if (!stream->capture || mode_of_thread == cudaStreamCaptureModeRelaxed) continue;
    const bool own =
        stream->capture->owner == std::this_thread::get_id() && stream->capture->mode != cudaStreamCaptureModeRelaxed;
    const bool others =
        stream->capture->mode == cudaStreamCaptureModeGlobal && mode_of_thread == cudaStreamCaptureModeGlobal;
    if (own || others) stream->capture_broken = broken = true;
  }
  return broken;
}

cudaError_t enqueue(cudaStream_t stream, Operation operation) {
  State& s = state();
  refuse_in_host_function("enqueues work");
  std::lock_guard lock(s.mutex);
  if (!s.streams.contains(stream)) return cudaErrorInvalidValue;  // the legacy stream is not for us
  if (stream->capture_broken) return cudaErrorStreamCaptureInvalidated;
  if (stream->capture) {
    // CUDA captures it; but nobody wants another thread's work in a recording.
    if (stream->capture->owner != std::this_thread::get_id()) return cudaErrorStreamCaptureWrongThread;
    capture_operation(stream, std::move(operation));
    return cudaSuccess;
  }
  if (operation.outside) go_on_beside_the_host();
  stream->queue.push_back(std::move(operation));
  while (s.seed == 0 && run_one()) {
  }
  if (s.seed == 0 && !waits_for_outside()) run_until([&] { return stream->queue.empty(); });
  return cudaSuccess;
}

/// With lazy loading a kernel's code comes with its first launch, which may wait: not in a capture.
bool loads(const void* kernel, cudaStream_t stream) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (stream->capture && !s.loaded.contains({stream->device, kernel})) {
    stream->capture_broken = true;
    return false;
  }
  s.loaded.insert({stream->device, kernel});
  return true;
}

void count_launch() {
  std::lock_guard lock(state().mutex);
  ++state().counts.launches;
  state().counts.waits_at_launch = state().counts.waits;
}

cudaError_t launch(bool barriers, const void* kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                   std::function<void()> body) {
  size_t threads = size_t{block.x} * block.y * block.z;
  if (cudaError_t failure = ordered_failure("cudaLaunchKernel"); failure != cudaSuccess) return failure;
  bool fits = threads > 0 && grid.x > 0 && grid.y > 0 && grid.z > 0 && threads <= 1024 && block.z <= 64 &&
              grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535 && shared_bytes <= (size_t{48} << 10);
  if (!fits) return cudaErrorInvalidConfiguration;
  int current = 0;
  cudaGetDevice(&current);
  if (std::lock_guard lock(state().mutex); !state().streams.contains(stream) || stream->device != current)
    return cudaErrorInvalidResourceHandle;
  if (!loads(kernel, stream)) return cudaErrorStreamCaptureUnsupported;
  count_launch();
  return enqueue(stream, {[=, body = std::move(body)] { run_grid(barriers, grid, block, shared_bytes, body); }});
}

}  // namespace emplace::standin

using emplace::standin::enqueue;
using emplace::standin::need_context;
using emplace::standin::state;

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  need_context();
  if (cudaError_t failure = emplace::standin::ordered_failure("cudaStreamCreateWithPriority"); failure != cudaSuccess)
    return failure;
  std::lock_guard lock(state().mutex);
  *stream = new CUstream_st;
  cudaGetDevice(&(*stream)->device);
  state().streams.insert(*stream);
  (*stream)->number = state().counts.streams++;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  need_context();
  std::lock_guard lock(state().mutex);
  if (!state().streams.contains(stream)) return cudaErrorInvalidValue;
  emplace::standin::run_until([&] { return stream->queue.empty(); });
  state().streams.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  need_context();
  std::lock_guard lock(state().mutex);
  if (!state().streams.contains(stream)) return cudaErrorInvalidValue;
  if (stream->capture) stream->capture_broken = true;
  if (stream->capture || emplace::standin::breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  emplace::standin::wait_until([&] { return stream->queue.empty(); });
  return cudaSuccess;
}

// Who asks whether work is done gives it time to be.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  need_context();
  std::lock_guard lock(state().mutex);
  if (!state().streams.contains(stream)) return cudaErrorInvalidValue;
  if (stream->capture) stream->capture_broken = true;
  if (stream->capture || emplace::standin::breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  if (!stream->queue.empty()) emplace::standin::run_one();
  return stream->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaDeviceSynchronize() {
  need_context();
  std::lock_guard lock(state().mutex);
  if (emplace::standin::breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  emplace::standin::wait_until([] { return !emplace::standin::any_queued(); });
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  need_context();
  return enqueue(stream, {[=] { function(data); }, nullptr, 0, true});
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  need_context();
  std::lock_guard lock(state().mutex);
  if (event->graph) {  // joins, or goes on in, the capture that the event was recorded in
    if (stream->capture && stream->capture != event->graph) return cudaErrorStreamCaptureUnsupported;
    stream->capture = event->graph;
    stream->last_nodes.insert(stream->last_nodes.end(), event->nodes.begin(), event->nodes.end());
    return cudaSuccess;
  }
  if (stream->capture) {  // what came before the capture is not in it
    stream->capture_broken = true;
    return cudaErrorStreamCaptureIsolation;
  }
  return enqueue(stream, {nullptr, event, event->recorded});
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  need_context();
  std::lock_guard lock(state().mutex);
  ++state().open_events;
  *event = new CUevent_st;
  cudaGetDevice(&(*event)->device);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  need_context();
  std::lock_guard lock(state().mutex);
  if (event->reached < event->recorded) emplace::standin::run_until([&] { return event->reached >= event->recorded; });
  // Who still stands in a queue to wait for it has nothing left to wait for.
  for (cudaStream_t stream : state().streams) {
    for (emplace::standin::Operation& operation : stream->queue) {
      if (operation.event == event) operation.event = nullptr;
    }
  }
  --state().open_events;
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  need_context();
  std::lock_guard lock(state().mutex);
  if (!state().streams.contains(stream) || event->device != stream->device) return cudaErrorInvalidResourceHandle;
  event->graph = stream->capture;
  if (stream->capture) {
    event->nodes = stream->last_nodes;
    return cudaSuccess;
  }
  uint64_t version = ++event->recorded;
  return enqueue(stream, {[event, version] { event->reached = version; }});
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  need_context();
  if (event->graph || emplace::standin::breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  if (cudaError_t failure = emplace::standin::ordered_failure("cudaEventSynchronize"); failure != cudaSuccess)
    return failure;
  emplace::standin::wait_until([&] { return event->reached >= event->recorded; });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  need_context();
  std::lock_guard lock(state().mutex);
  if (event->graph || emplace::standin::breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  if (event->reached < event->recorded) emplace::standin::run_one();
  return event->reached >= event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  need_context();
  std::lock_guard lock(state().mutex);
  if (stream->capture) return cudaErrorStreamCaptureUnsupported;
  if (cudaError_t failure = emplace::standin::ordered_failure("cudaStreamBeginCapture"); failure != cudaSuccess)
    return failure;
  stream->capture = new CUgraph_st;
  stream->capture->owner = std::this_thread::get_id();
  stream->capture->mode = mode;
  stream->capture_origin = true;
  stream->last_nodes.clear();
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, emplace::standin::mode_of_thread);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  need_context();
  std::lock_guard lock(state().mutex);
  *graph = nullptr;
  if (!stream->capture || !stream->capture_origin) return cudaErrorInvalidValue;
  CUgraph_st* captured = stream->capture;
  if (captured->mode != cudaStreamCaptureModeRelaxed && captured->owner != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  bool broken = false, joined = true;
  // Whatever a stream did last must come before the end of the origin.
  std::vector<uint8_t> before(captured->nodes.size());
  std::vector<size_t> open = stream->last_nodes;
  while (!open.empty()) {
    size_t n = open.back();
    open.pop_back();
    if (before[n]) continue;
    before[n] = 1;
    open.insert(open.end(), captured->nodes[n].after.begin(), captured->nodes[n].after.end());
  }
  for (uint8_t b : before) joined &= b != 0;
  for (cudaStream_t s : state().streams) {
    if (s->capture != captured) continue;
    broken |= s->capture_broken;
    s->capture = nullptr;
    s->capture_origin = s->capture_broken = false;
    s->last_nodes.clear();
  }
  if (broken || !joined) {
    delete captured;
    return broken ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnjoined;
  }
  *graph = captured;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  need_context();
  *exec = new CUgraphExec_st{std::make_shared<CUgraph_st>(*graph)};
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  need_context();
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  need_context();
  return enqueue(stream, {[graph = exec->graph] { emplace::standin::run_graph(*graph); }});
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  need_context();
  delete exec;
  return cudaSuccess;
}
