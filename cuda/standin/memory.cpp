#include "cuda/standin/memory.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/standin/machine.h"
#include "cuda/standin/standin.h"
#include "cuda/standin/streams.h"

namespace emplace::standin {
namespace {

/// Pieces of memory by address.
class Pieces {
 public:
  void add(void* data, size_t bytes) {
    std::lock_guard lock(mutex_);
    pieces_[static_cast<char*>(data)] = bytes;
  }
  /// Its size; 0 if there is no such piece.
  size_t remove(void* data) {
    std::lock_guard lock(mutex_);
    auto found = pieces_.find(static_cast<char*>(data));
    if (found == pieces_.end()) return 0;
    size_t bytes = found->second;
    pieces_.erase(found);
    return bytes;
  }
  bool holds(const void* p) const {
    std::lock_guard lock(mutex_);
    auto next = pieces_.upper_bound(static_cast<char*>(const_cast<void*>(p)));
    if (next == pieces_.begin()) return false;
    const auto& [data, bytes] = *std::prev(next);
    return static_cast<const char*>(p) < data + bytes;
  }

 private:
  mutable std::mutex mutex_;
  std::map<char*, size_t> pieces_;  // guarded by mutex_
};

Pieces& device_memory() {
  static Pieces* const kPieces = new Pieces;
  return *kPieces;
}
Pieces& page_locked() {
  static Pieces* const kPieces = new Pieces;
  return *kPieces;
}

}  // namespace

void spoil(void* data, size_t bytes) { std::memset(data, 0xfb, bytes); }
bool is_page_locked(const void* p) { return page_locked().holds(p); }
bool is_device_memory(const void* p) { return device_memory().holds(p); }

void note_device_memory(void* data, size_t bytes) { device_memory().add(data, bytes); }
void forget_device_memory(void* data) { device_memory().remove(data); }

}  // namespace emplace::standin

using namespace emplace::standin;

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (!take_memory(bytes)) return cudaErrorMemoryAllocation;
  *pointer = std::malloc(bytes);
  spoil(*pointer, bytes);
  device_memory().add(*pointer, bytes);
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  if (!pointer) return cudaSuccess;
  cudaDeviceSynchronize();
  size_t bytes = device_memory().remove(pointer);
  if (bytes == 0) return cudaErrorInvalidValue;
  give_back_memory(bytes);
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  *pointer = std::malloc(bytes > 0 ? bytes : 1);
  if (!*pointer) return cudaErrorMemoryAllocation;
  spoil(*pointer, bytes);
  page_locked().add(*pointer, bytes > 0 ? bytes : 1);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  if (!pointer) return cudaSuccess;
  cudaDeviceSynchronize();
  if (page_locked().remove(pointer) == 0) return cudaErrorInvalidValue;
  std::free(pointer);
  return cudaSuccess;
}

// As the driver does it: pageable memory is read before the call returns, and written before it returns.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  bool pageable_source = kind == cudaMemcpyHostToDevice && !is_page_locked(from);
  bool pageable_target = kind == cudaMemcpyDeviceToHost && !is_page_locked(to);
  if (pageable_source) {
    auto held = std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    return enqueue(stream, {[=] { std::memcpy(to, held->data(), bytes); }});
  }
  cudaError_t error = enqueue(stream, {[=] { std::memmove(to, from, bytes); }});
  return error == cudaSuccess && pageable_target ? cudaStreamSynchronize(stream) : error;
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  const char* peers = std::getenv("EMPLACE_STANDIN_PEERS");
  if (peers && std::strcmp(peers, "lost") == 0) return cudaSuccess;
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return enqueue(stream, {[=] { std::memset(to, value, bytes); }});
}
