/// The stand-in's streams, events and captured graphs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace emplace::standin {

/// Something that a stream does. An operation that waits is ready once its event has come that far.
struct Operation {
  std::function<void()> run;           // empty: only waits
  struct CUevent_st* event = nullptr;  // waits for ...
  uint64_t version = 0;                // ... this recording of it
  bool on_host = false;                // a host function, which reaches no device memory and makes no calls of CUDA
  bool on_all_cards = false;           // several cards' work together
  std::function<bool()> outside = {};  // not before this is so, which nothing in this process makes so; may be empty

  bool ready() const;
};

/// Runs or queues an operation, or notes it in the graph that the stream is captured into. InvalidValue for the
/// stream of a broken capture.
cudaError_t enqueue(cudaStream_t stream, Operation operation);
bool is_captured(cudaStream_t stream);
/// Must this thread not make calls that might wait for what is captured? As CUDA has it: while it captures itself, or
/// another thread does in the global mode, unless it says that its calls are relaxed. One that it makes all the same
/// breaks the capture.
bool breaks_capture();
/// Ends the process, with a message, in a host function: those must not.
void refuse_in_host_function(const char* what);
/// For counts().
void count_page_locked();
/// Runs something that is ready, if there is any.
bool run_one();
/// Runs whatever is ready, in drawn order, until `done`. Deadlock ends the process with a message, but who waits for
/// another process waits.
void run_until(const std::function<bool()>& done);

}  // namespace emplace::standin

struct CUevent_st {
  int device = 0;
  uint64_t recorded = 0, reached = 0;
  // While captured: the nodes that stand before the recording.
  struct CUgraph_st* graph = nullptr;
  std::vector<size_t> nodes;
};

struct CUgraph_st {
  struct Node {
    std::function<void()> run;
    std::vector<size_t> after;
  };
  std::vector<Node> nodes;
  std::thread::id owner;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
};

struct CUgraphExec_st {
  std::shared_ptr<const CUgraph_st> graph;
};

struct CUstream_st {
  int device = 0;
  uint64_t number = 0;  // how many were made before
  std::deque<emplace::standin::Operation> queue;
  CUgraph_st* capture = nullptr;
  bool capture_origin = false;
  bool capture_broken = false;
  std::vector<size_t> last_nodes;  // of the capture: what the next operation comes after
};
