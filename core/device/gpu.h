/// What the CUDA plug-in offers to the rest of the program: GPUs to be found, opened, and given work. The interfaces
/// are here, without a CUDA type; cuda/ implements them in a library of its own, core/device/gpu_plugin.h loads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/device/device.h"
#include "core/device/page_source.h"
#include "core/op/kernel.h"

namespace emplace {

/// A point in a lane's work.
class GpuEvent {
 public:
  virtual ~GpuEvent() = default;
};

/// Launches that were recorded once and are enqueued at once.
class GpuRecording {
 public:
  virtual ~GpuRecording() = default;
  virtual Status replay() = 0;
};

/// Nodes of one GPU that follow each other, elementwise over equally many elements: one kernel, compiled for them, can
/// do them all, so that what only they read stays in registers. It gives the bytes that the nodes' own kernels give.
struct GpuChain {
  static constexpr size_t kMostOps = 16, kMostInputs = 16;

  struct Op {
    const Kernel* kernel;       // prepared
    std::vector<int> operands;  // an input of the chain, or ~k: what op k makes
    bool stored;                // an output of the chain; they are in the order of the ops
  };
  std::vector<Op> ops;
  std::vector<bool> single;  // by input: one element for all
  int64_t elements = 0;
  std::string name;     // for messages
  double saved_ns = 0;  // in all steps to come, as far as they are known; infinite: whatever compiling takes
};

/// One logical GPU. Its lanes are streams: what is enqueued in one runs in order, lanes run beside each other unless an
/// event orders them. Work fails late: any call may return the failure of what was enqueued before. One thread at a
/// time enqueues; the memory functions are called under the pool's lock.
class Gpu : public PageSource {
 public:
  enum class Lane : uint8_t { kCompute, kBranch1, kBranch2, kBranch3, kToDevice, kToHost, kPeer };
  static constexpr int kNumLanes = 7,
                       kNumBranches = 4;  // kernels run in kCompute, and while it is recorded in branches of it

  /// Before a kernel of this GPU runs on the calling thread.
  virtual Status activate() = 0;
  /// KernelContext::stream_ and KernelInit::gpu of its kernels.
  virtual void* stream(Lane lane) = 0;
  void* stream() { return stream(Lane::kCompute); }
  virtual void* kernel_state() = 0;

  /// The caller waits for no other work, whatever the size. The bytes at `from` (host) have been read when finish() has
  /// returned for this ticket or a later one; 0: they are read already. Until then `keeps` is held.
  virtual Result<uint64_t> copy_in(void* to, const void* from, size_t bytes, Lane lane,
                                   std::shared_ptr<const void> keeps) = 0;
  /// `to` (host) is written when finish() has returned for this ticket or a later one.
  virtual Result<uint64_t> copy_out(void* to, const void* from, size_t bytes, Lane lane) = 0;
  /// After a failure nothing of the host's memory is read or written any more.
  virtual Status finish(uint64_t ticket) = 0;
  /// From another GPU's memory, or this one's, in this one's lane. The caller orders the lanes of both.
  virtual Status copy_peer(void* to, Gpu& other, const void* from, size_t bytes, Lane lane) = 0;

  virtual Result<std::unique_ptr<GpuEvent>> make_event() = 0;
  virtual Status record(GpuEvent& event, Lane lane) = 0;
  /// Later work in `lane` waits for the event, which may be another GPU's. Nothing to wait for before record().
  virtual Status wait_for(GpuEvent& event, Lane lane) = 0;
  /// The caller waits until everything enqueued in all lanes is done.
  Status wait_idle() override = 0;

  /// Can this kernel, prepared for its shapes, be part of a chain?
  virtual bool chains(const Kernel&) const { return false; }
  /// A kernel with the chain's inputs and outputs. Unavailable: it cannot be compiled, or that takes longer than it
  /// saves.
  virtual Result<std::unique_ptr<Kernel>> compile(const GpuChain&) {
    return unavailable("this device has no compiler for chains");
  }

  /// What the card holds for this process beside the pools: context, code, libraries' own memory. One of the logical
  /// GPUs of a card tells, the others have 0. Nothing: it cannot be told.
  virtual std::optional<int64_t> overhead_bytes() { return {}; }

  /// What is enqueued in the compute lane until end_recording() is noted, not run, and likewise what is enqueued in a
  /// branch that has waited for it. The compute lane waits for all of them before the end.
  virtual Status begin_recording() = 0;
  virtual Result<std::unique_ptr<GpuRecording>> end_recording() = 0;
};

struct GpuKernel {
  bool exists = false;
  KernelMaker maker = nullptr;  // null: the CPU's kernel serves, it touches no element
  bool records = true;          // run() does the same at each step and never waits
  bool gives_way = false;       // run() does without its workspace where there is no memory for it
};

struct GpuOptions {
  int platform_id = 0;
  int stream_priority = 0;
  int64_t memory_limit = 0;
  bool deterministic = false;
  bool tf32 = false;  // matrix products of float may round their inputs to 10 bits
};

/// Where GPUs say what is no status: which library a kernel takes and why, what works without one that is missing. Any
/// thread may.
struct GpuLog {
  void (*say)(void* to, LogLevel level, std::string_view text) = nullptr;  // null: nobody listens
  void* to = nullptr;

  void operator()(LogLevel level, std::string_view text) const {
    if (say) say(to, level, text);
  }
};
/// REQUIRES: the log outlives whoever speaks.
inline GpuLog gpu_log(Log& log) {
  return {[](void* to, LogLevel level, std::string_view text) { static_cast<Log*>(to)->say(level, text); }, &log};
}

/// A member of a collective whose others are in several processes.
struct CollectiveSeat {
  std::string_view id;        // GpuBackend::make_collective_id()
  int rank = 0, members = 0;  // among all of them
  int here = 0;               // how many are in this process: their kernels are made one after the other
};

/// All GPUs of the machine. Thread-safe.
class GpuBackend {
 public:
  virtual ~GpuBackend() = default;

  /// From now on. The plug-in prints nothing by itself.
  virtual void speak_to(GpuLog) {}
  /// Visible cards have their platform id, in CUDA's order; hidden ones (where NVML tells of them) have -1. Creates no
  /// context. Unavailable says why there is none: driver missing, driver too old, no device, all masked.
  virtual Result<std::vector<PhysicalGpu>> enumerate() = 0;
  /// Can the two reach each other's memory?
  virtual bool peers(int platform_id, int other) = 0;
  /// Some node of this op is about to run on a GPU: libraries that it takes may be loaded meanwhile, by other threads.
  virtual void will_run(std::string_view) {}
  /// Creates the card's context if it is the first on it.
  virtual Result<std::unique_ptr<Gpu>> open(const GpuOptions& options) = 0;
  /// Can NcclAllReduce run? Unavailable: NCCL cannot be loaded.
  virtual Status collectives() const { return unavailable("the GPUs have no collectives"); }
  /// By it GPUs of several processes find each other: one of these makes it, all are told. Unavailable: as above.
  virtual Result<std::string> make_collective_id() { return unavailable("the GPUs have no collectives"); }
  /// The kernel of a node of such a collective.
  virtual Result<std::unique_ptr<Kernel>> member_kernel(const KernelInit&, const CollectiveSeat&) {
    return unavailable("the GPUs have no collectives among processes");
  }
  /// What is done here under this id ends, and nothing is begun any longer: a member is lost, or all are done.
  virtual void give_up_collectives(std::string_view /*id*/) {}
  virtual GpuKernel kernel(std::string_view op, DType type) const = 0;
  /// Every op of the table with the types that it has kernels for.
  virtual std::vector<std::pair<std::string_view, DTypeSet>> kernels() const = 0;
};

}  // namespace emplace
