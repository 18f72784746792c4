// Part of cuda/nccl_api.h: NCCL on the stand-in: ranks meet in ncclGroupEnd(), and the reduction, in the order of the
// ranks, is one operation that waits for all streams and that all streams wait for. EMPLACE_STANDIN_NCCL=none: the
// library is not there; =lost: the last rank never comes, until the communicator is given up; =ordered: it is refused
// unless the environment asks for one ring and one protocol. Ranks of several processes meet in shared memory
// (cuda/standin/nccl_room.h).
#include "cuda/nccl_api.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/arithmetic.h"
#include "cuda/nccl.h"
#include "cuda/standin/nccl_room.h"
#include "cuda/standin/streams.h"

namespace emplace::cuda::nccl {

struct ncclComm {
  ncclComm(std::shared_ptr<std::vector<ncclComm*>> ranks, int card) : all(std::move(ranks)), device(card) {}
  std::shared_ptr<std::vector<ncclComm*>> all;
  int device;
  void* buffers = nullptr;
  cudaEvent_t arrived = nullptr, done = nullptr, lost = nullptr;
  // With ranks of other processes; `all` are those of this one.
  std::shared_ptr<NcclRoom> room;
  int rank = 0, total = 0;
  uint64_t calls = 0;
  std::atomic<bool> aborted = false, mixed_up = false;
};

namespace {

constexpr int kSystemError = 2, kInvalidUsage = 5, kRemoteError = 6;
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
thread_local std::vector<Comm> entering;  // of one group
thread_local int depth = 0;

bool is_set_to(std::string_view value, const char* variable = "EMPLACE_STANDIN_NCCL") {
  const char* set = std::getenv(variable);
  return set && value == set;
}

/// A rank on this card.
Comm make(const std::shared_ptr<std::vector<Comm>>& all, int card) {
  auto made = std::make_unique<ncclComm>(all, card);
  if (cudaMalloc(&made->buffers, kBufferBytes) != cudaSuccess) return nullptr;
  for (cudaEvent_t* event : {&made->arrived, &made->done, &made->lost})
    (void)cudaEventCreateWithFlags(event, cudaEventDisableTiming);
  all->push_back(made.get());
  return made.release();
}

int unique_id(UniqueId* id) {
  const std::string name = NcclRoom::make();
  if (name.empty() || name.size() >= sizeof id->bytes) return kSystemError;
  std::copy(name.begin(), name.end(), id->bytes);
  return 0;
}

int init_rank(Comm* comm, int count, UniqueId id, int rank, Config* config) {
  if (depth == 0 || config->blocking != 0 || config->magic != Config{}.magic) return kInvalidUsage;
  int device = 0;
  cudaDeviceProp card{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&card, device) != cudaSuccess) return 1;
  const auto all = entering.empty() ? std::make_shared<std::vector<Comm>>() : entering.front()->all;
  Comm made = make(all, device);
  if (!made) return 1;
  made->rank = rank, made->total = count;
  made->room = NcclRoom::enter(id.bytes, rank, count, std::string(card.uuid.bytes, sizeof card.uuid.bytes));
  if (!made->room) return kInvalidUsage;
  entering.push_back(*comm = made);
  return 0;
}

int init_all(Comm* comms, int count, const int* devices) {
  if (is_set_to("ordered") && !(is_set_to("Ring", "NCCL_ALGO") && is_set_to("Simple", "NCCL_PROTO")))
    return kInvalidUsage;
  auto all = std::make_shared<std::vector<ncclComm*>>();
  for (int i = 0; i < count; ++i) {
    if (cudaSetDevice(devices[i]) != cudaSuccess || std::count(devices, devices + count, devices[i]) > 1)
      return kInvalidUsage;
    comms[i] = make(all, devices[i]);
    if (!comms[i]) return 1;
  }
  return 0;
}

/// `from`: by rank, those of other processes, too.
template <class T>
void reduce(const std::vector<Call>& group, const std::vector<const void*>& from) {
  std::vector<T> result(group[0].count);
  for (size_t i = 0; i < result.size(); ++i) {
    Wide<T> sum = widen(static_cast<const T*>(from[0])[i]);
    for (size_t rank = 1; rank < from.size(); ++rank) {
      const Wide<T> x = widen(static_cast<const T*>(from[rank])[i]);
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

void reduce_group(const std::vector<Call>& group, const std::vector<const void*>& from) {
  switch (group[0].type) {
    case Data::kHalf:
      return reduce<half>(group, from);
    case Data::kFloat:
      return reduce<float>(group, from);
    case Data::kDouble:
      return reduce<double>(group, from);
    case Data::kInt32:
      return reduce<int32_t>(group, from);
    case Data::kInt64:
      return reduce<int64_t>(group, from);
  }
}

size_t bytes_of(const Call& c) {
  const size_t each = c.type == Data::kHalf ? 2 : c.type == Data::kFloat || c.type == Data::kInt32 ? 4 : 8;
  return c.count * each;
}

/// As far as all ranks have to agree.
uint64_t what(const Call& c) {
  return (static_cast<uint64_t>(c.count) << 16) + static_cast<uint64_t>(c.type) * 16 +
         static_cast<uint64_t>(c.reduction);
}

/// With ranks of other processes: two operations of the stream, either of which may wait for them.
bool enqueue_in_room(const std::vector<Call>& group) {
  const Comm first = group[0].comm;
  const uint64_t call = ++first->calls;
  const auto room = first->room;
  emplace::standin::Operation post, read;
  post.on_all_cards = read.on_all_cards = true;
  post.outside = [=] { return first->aborted || room->has_place(call); };
  post.run = [=] {
    for (const Call& c : group) {
      if (!first->aborted) room->post(c.comm->rank, call, c.from, bytes_of(c), what(c));
    }
  };
  read.outside = [=] { return first->aborted || room->all_have_posted(call); };
  read.run = [=] {
    if (first->aborted) return;
    if (!room->is_same_call(call)) {
      first->mixed_up = true;
      return;
    }
    std::vector<const void*> from;
    for (int rank = 0; rank < first->total; ++rank) from.push_back(room->posted(rank, call));
    reduce_group(group, from);
    for (const Call& c : group) room->done(c.comm->rank, call);
  };
  return emplace::standin::enqueue(group[0].stream, std::move(post)) == cudaSuccess &&
         emplace::standin::enqueue(group[0].stream, std::move(read)) == cudaSuccess;
}

bool enqueue_here(const std::vector<Call>& group) {
  std::vector<const void*> from;
  for (const Call& c : group) from.push_back(c.from);
  return emplace::standin::enqueue(group[0].stream, {[=] { reduce_group(group, from); }, nullptr, 0, false, true}) ==
         cudaSuccess;
}

int all_reduce(const void* from, void* to, size_t count, Data type, int reduction, Comm comm, cudaStream_t stream) {
  if (depth == 0) return kInvalidUsage;
  calls.push_back({from, to, count, type, reduction, comm, stream});
  return 0;
}
int group_start() { return ++depth, 0; }

/// Only who is given up is reached.
int async_error(Comm comm, int* error) {
  if (comm->room) {
    *error = !comm->room->all_are_here()                                    ? kInProgress
             : comm->room->has_card_twice() || comm->all->front()->mixed_up ? kInvalidUsage
                                                                            : 0;
    return 0;
  }
  *error = comm->lost->recorded > comm->lost->reached ? kRemoteError : 0;
  return 0;
}
int abort(Comm comm) {
  comm->aborted = true;
  comm->lost->reached = comm->lost->recorded;
  return 0;
}

/// A rank that nobody called, or that differs from the others, would hang the real library.
bool complete(const std::vector<Call>& group) {
  if (group.size() != group[0].comm->all->size()) return false;
  if (group[0].comm->room && bytes_of(group[0]) > NcclRoom::kMostBytes) return false;
  return std::all_of(group.begin(), group.end(), [&](const Call& c) {
    return c.count == group[0].count && c.type == group[0].type && c.reduction == group[0].reduction &&
           c.stream->device == c.comm->device;
  });
}

int group_end() {
  if (--depth > 0) return 0;
  const bool enters = !std::exchange(entering, {}).empty();
  const std::vector<Call> group = std::exchange(calls, {});
  if (group.empty()) return enters ? kInProgress : 0;
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
  if (!(group[0].comm->room ? enqueue_in_room(group) : enqueue_here(group))) return 1;
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
  f.unique_id = unique_id;
  f.init_rank = init_rank;
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
