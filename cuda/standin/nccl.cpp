// Part of cuda/nccl_api.h: NCCL on the stand-in: ranks meet in ncclGroupEnd(), and the reduction, in the order of the
// ranks, is one operation that waits for all streams and that all streams wait for. EMPLACE_STANDIN_NCCL=none: the
// library is not there; =lost: the last rank never comes, until the communicator is given up; =ordered: it is refused
// unless the environment asks for one ring and one protocol.
#include "cuda/nccl_api.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/arithmetic.h"
#include "cuda/nccl.h"
#include "cuda/standin/streams.h"

namespace emplace::cuda::nccl {

struct ncclComm {
  ncclComm(std::shared_ptr<std::vector<ncclComm*>> ranks, int card) : all(std::move(ranks)), device(card) {}
  std::shared_ptr<std::vector<ncclComm*>> all;
  int device;
  void* buffers = nullptr;
  cudaEvent_t arrived = nullptr, done = nullptr, lost = nullptr;
};

namespace {

constexpr int kInvalidUsage = 5, kRemoteError = 6;
constexpr size_t kBufferBytes = size_t{4} << 20;  // what a rank takes of its card

struct Call {
  const void* from;
  void* to;
  size_t count;
  Data type;
  int reduction;
  Comm comm;
  cudaStream_t stream;
};
thread_local std::vector<Call> calls;
thread_local int depth = 0;

bool is_set_to(std::string_view value, const char* variable = "EMPLACE_STANDIN_NCCL") {
  const char* set = std::getenv(variable);
  return set && value == set;
}

int init_all(Comm* comms, int count, const int* devices) {
  if (is_set_to("ordered") && !(is_set_to("Ring", "NCCL_ALGO") && is_set_to("Simple", "NCCL_PROTO")))
    return kInvalidUsage;
  auto all = std::make_shared<std::vector<ncclComm*>>();
  for (int i = 0; i < count; ++i) {
    if (cudaSetDevice(devices[i]) != cudaSuccess || std::count(devices, devices + count, devices[i]) > 1)
      return kInvalidUsage;
    comms[i] = new ncclComm(all, devices[i]);
    if (cudaMalloc(&comms[i]->buffers, kBufferBytes) != cudaSuccess) return 1;
    (void)cudaEventCreateWithFlags(&comms[i]->arrived, cudaEventDisableTiming);
    (void)cudaEventCreateWithFlags(&comms[i]->done, cudaEventDisableTiming);
    (void)cudaEventCreateWithFlags(&comms[i]->lost, cudaEventDisableTiming);
    all->push_back(comms[i]);
  }
  return 0;
}

template <class T>
void reduce(const std::vector<Call>& group) {
  std::vector<T> result(group[0].count);
  for (size_t i = 0; i < result.size(); ++i) {
    Wide<T> sum = widen(static_cast<const T*>(group[0].from)[i]);
    for (size_t rank = 1; rank < group.size(); ++rank) {
      const Wide<T> x = widen(static_cast<const T*>(group[rank].from)[i]);
      switch (static_cast<Reduction>(group[0].reduction)) {
        case Reduction::kSum:
          sum = add(sum, x);
          break;
        case Reduction::kProduct:
          sum = multiply(sum, x);
          break;
        case Reduction::kMax:
          sum = maximum(sum, x);
          break;
        case Reduction::kMin:
          sum = minimum(sum, x);
          break;
      }
    }
    result[i] = narrow<T>(sum);
  }
  for (const Call& c : group) std::copy(result.begin(), result.end(), static_cast<T*>(c.to));
}

void reduce_group(const std::vector<Call>& group) {
  switch (group[0].type) {
    case Data::kHalf:
      return reduce<half>(group);
    case Data::kFloat:
      return reduce<float>(group);
    case Data::kDouble:
      return reduce<double>(group);
    case Data::kInt32:
      return reduce<int32_t>(group);
    case Data::kInt64:
      return reduce<int64_t>(group);
  }
}

int all_reduce(const void* from, void* to, size_t count, Data type, int reduction, Comm comm, cudaStream_t stream) {
  if (depth == 0) return kInvalidUsage;
  calls.push_back({from, to, count, type, reduction, comm, stream});
  return 0;
}
int group_start() { return ++depth, 0; }

/// Only who is given up is reached.
int async_error(Comm comm, int* error) {
  *error = comm->lost->recorded > comm->lost->reached ? kRemoteError : 0;
  return 0;
}
int abort(Comm comm) {
  comm->lost->reached = comm->lost->recorded;
  return 0;
}

/// A rank that nobody called, or that differs from the others, would hang the real library.
bool complete(const std::vector<Call>& group) {
  if (group.size() != group[0].comm->all->size()) return false;
  return std::all_of(group.begin(), group.end(), [&](const Call& c) {
    return c.count == group[0].count && c.type == group[0].type && c.reduction == group[0].reduction &&
           c.stream->device == c.comm->device;
  });
}

int group_end() {
  if (--depth > 0) return 0;
  const std::vector<Call> group = std::exchange(calls, {});
  if (group.empty()) return 0;
  if (!complete(group)) return kInvalidUsage;
  cudaStream_t first = group[0].stream;
  for (const Call& c : group) {
    if (cudaEventRecord(c.comm->arrived, c.stream) != cudaSuccess ||
        cudaStreamWaitEvent(first, c.comm->arrived) != cudaSuccess)
      return 1;
  }
  if (is_set_to("lost")) {
    cudaEvent_t lost = group.back().comm->lost;
    if (emplace::standin::enqueue(first, {nullptr, lost, ++lost->recorded}) != cudaSuccess) return 1;
  }
  if (emplace::standin::enqueue(first, {[group] { reduce_group(group); }, nullptr, 0, false, true}) != cudaSuccess)
    return 1;
  if (cudaEventRecord(group[0].comm->done, first) != cudaSuccess) return 1;
  for (const Call& c : group) {
    if (c.stream != first && cudaStreamWaitEvent(c.stream, group[0].comm->done) != cudaSuccess) return 1;
  }
  return 0;
}

}  // namespace

Status load(Functions& f) {
  if (is_set_to("none")) return unavailable("no NCCL on the stand-in");
  f.init_all = init_all;
  f.all_reduce = all_reduce;
  f.group_start = group_start;
  f.group_end = group_end;
  f.async_error = async_error;
  f.abort = abort;
  f.error_text = [](int error) {
    return error == kInvalidUsage  ? "invalid usage"
           : error == kRemoteError ? "remote process exited"
                                   : "unhandled error";
  };
  f.last_error = [](Comm) { return ""; };
  return ok_status();
}

}  // namespace emplace::cuda::nccl
