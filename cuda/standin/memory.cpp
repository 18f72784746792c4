#include "cuda/standin/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "cuda/standin/machine.h"
#include "cuda/standin/standin.h"
#include "cuda/standin/streams.h"

namespace emplace::standin {
namespace {

/// Pieces of memory by address.
class Pieces {
 public:
  struct Piece {
    size_t bytes = 0;
    int device = 0;  // of device memory
  };
  void add(void* data, Piece piece) {
    std::lock_guard lock(mutex_);
    pieces_[static_cast<char*>(data)] = piece;
  }
  /// Without bytes if there is none.
  Piece remove(void* data) {
    std::lock_guard lock(mutex_);
    auto found = pieces_.find(static_cast<char*>(data));
    if (found == pieces_.end()) return {};
    Piece piece = found->second;
    pieces_.erase(found);
    return piece;
  }
  bool holds(const void* p) const {
    std::lock_guard lock(mutex_);
    auto next = pieces_.upper_bound(static_cast<char*>(const_cast<void*>(p)));
    if (next == pieces_.begin()) return false;
    const auto& [data, piece] = *std::prev(next);
    return static_cast<const char*>(p) < data + piece.bytes;
  }
  bool empty() const {
    std::lock_guard lock(mutex_);
    return pieces_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::map<char*, Piece> pieces_;  // guarded by mutex_
};

Pieces& device_memory() {
  static Pieces* const kPieces = new Pieces;
  return *kPieces;
}
Pieces& page_locked() {
  static Pieces* const kPieces = new Pieces;
  return *kPieces;
}

constexpr size_t kPatternBytes = size_t{2} << 20;

/// A file in memory that holds the pattern; -1 if there is none to be had.
int pattern_file() {
  static const int kFile = [] {
    const int file = memfd_create("spoiled", MFD_CLOEXEC);
    std::vector<char> part(size_t{64} << 10);
    spoil(part.data(), part.size());
    for (size_t done = 0; done < kPatternBytes; done += part.size()) {
      if (pwrite(file, part.data(), part.size(), static_cast<off_t>(done)) != static_cast<ssize_t>(part.size()))
        return -1;
    }
    return file;
  }();
  return kFile;
}

constexpr size_t kLargeBytes = size_t{1} << 20;  // from here on page-locked memory is mapped, not from the heap

/// Ends at memory that must not be touched, as near as pages allow.
void* map_large(size_t bytes) {
  const auto page = static_cast<size_t>(getpagesize());
  const size_t whole = (bytes + page - 1) / page * page;
  void* data = mmap(nullptr, whole + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  return map_spoiled(data, whole) ? data : nullptr;
}
void unmap_large(void* data, size_t bytes) {
  const auto page = static_cast<size_t>(getpagesize());
  munmap(data, (bytes + page - 1) / page * page + page);
}

}  // namespace

void spoil(void* data, size_t bytes) { std::memset(data, 0xfb, bytes); }

bool map_spoiled(void* at, size_t bytes) {
  const int file = pattern_file();
  if (file < 0) return false;
  for (size_t done = 0; done < bytes; done += kPatternBytes) {
    const size_t part = bytes - done < kPatternBytes ? bytes - done : kPatternBytes;
    void* to = static_cast<char*>(at) + done;
    if (mmap(to, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0) == MAP_FAILED)
      return false;
  }
  return true;
}

bool is_page_locked(const void* p) { return page_locked().holds(p); }
bool is_device_memory(const void* p) { return device_memory().holds(p); }
bool has_device_memory() { return !device_memory().empty(); }

void check_addresses(const void* argument, size_t bytes) {
  constexpr uintptr_t kLowest = uintptr_t{1} << 40;  // no heap, stack or library lies below
  const auto page = static_cast<uintptr_t>(getpagesize());
  for (size_t at = 0; at + sizeof(uintptr_t) <= bytes && has_device_memory(); at += sizeof(uintptr_t)) {
    uintptr_t word = 0;
    std::memcpy(&word, static_cast<const char*>(argument) + at, sizeof word);
    // Memory for tensors is aligned. A flag and the padding behind it, which may hold anything, looks like an address
    // with a low byte of 0 or 1: such words are let pass.
    if (word < kLowest || word % 16 != 0 || word % 256 == 0) continue;
    unsigned char resident = 0;
    if (is_device_memory(reinterpret_cast<void*>(word)) ||
        mincore(reinterpret_cast<void*>(word / page * page), 1, &resident) != 0)
      continue;
    std::fprintf(stderr, "CUDA stand-in: a kernel is given an address of the host's memory\n");
    std::abort();
  }
}

void note_device_memory(void* data, size_t bytes) { device_memory().add(data, {bytes}); }
void forget_device_memory(void* data) { device_memory().remove(data); }

}  // namespace emplace::standin

using namespace emplace::standin;

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  need_context();
  *pointer = nullptr;
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  if (bytes == 0) return cudaSuccess;
  int device = 0;
  cudaGetDevice(&device);
  if (!take_memory(device, bytes)) return cudaErrorMemoryAllocation;
  *pointer = std::malloc(bytes);
  spoil(*pointer, bytes);
  device_memory().add(*pointer, {bytes, device});
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  need_context();
  if (!pointer) return cudaSuccess;
  if (cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) return error;
  const auto [bytes, device] = device_memory().remove(pointer);
  if (bytes == 0) return cudaErrorInvalidValue;
  give_back_memory(device, bytes);
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  need_context();
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  bytes = bytes > 0 ? bytes : 1;
  *pointer = bytes < kLargeBytes ? std::malloc(bytes) : map_large(bytes);
  if (!*pointer) return cudaErrorMemoryAllocation;
  if (bytes < kLargeBytes) spoil(*pointer, bytes);
  page_locked().add(*pointer, {bytes});
  count_page_locked();
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  need_context();
  if (!pointer) return cudaSuccess;
  if (cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) return error;
  const size_t bytes = page_locked().remove(pointer).bytes;
  if (bytes == 0) return cudaErrorInvalidValue;
  if (bytes < kLargeBytes)
    std::free(pointer);
  else
    unmap_large(pointer, bytes);
  return cudaSuccess;
}

// As the driver does it: pageable memory is read before the call returns, and written before it returns, but for a
// captured copy.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  need_context();
  if (bytes == 0) return cudaSuccess;
  if (has_device_memory()) {
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (is_device_memory(to) != to_device || is_device_memory(from) != from_device) return cudaErrorInvalidValue;
  }
  bool pageable_source = kind == cudaMemcpyHostToDevice && !is_page_locked(from);
  bool pageable_target = kind == cudaMemcpyDeviceToHost && !is_page_locked(to);
  if (pageable_source && !is_captured(stream)) {
    auto held =
        std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    return enqueue(stream, {[=] { std::memcpy(to, held->data(), bytes); }});
  }
  cudaError_t error = enqueue(stream, {[=] { std::memmove(to, from, bytes); }});
  return error == cudaSuccess && pageable_target && !is_captured(stream) ? cudaStreamSynchronize(stream) : error;
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  const char* given = std::getenv("EMPLACE_STANDIN_PEERS");
  const std::string_view peers = given ? given : "";
  if (peers == "lost") return cudaSuccess;
  return cudaMemcpyAsync(to, from, peers == "short" ? bytes - 1 : bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  need_context();
  if (bytes > 0 && has_device_memory() && !is_device_memory(to)) return cudaErrorInvalidValue;
  return enqueue(stream, {[=] { std::memset(to, value, bytes); }});
}
