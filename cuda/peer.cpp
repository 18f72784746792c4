#include "cuda/peer.h"

#include <map>
#include <mutex>

#include "cuda/error.h"

namespace emplace::cuda {
namespace {

constexpr size_t kPatternBytes = 64 << 10;

/// Memory of one card, for as long as a trial takes.
struct Piece {
  explicit Piece(int device) {
    if (cudaSetDevice(device) == cudaSuccess && cudaMalloc(&data, kPatternBytes) != cudaSuccess) data = nullptr;
  }
  ~Piece() { (void)cudaFree(data); }
  void* data = nullptr;
};

std::vector<unsigned char> pattern() {
  std::vector<unsigned char> bytes(kPatternBytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
  return bytes;
}

/// The way that copies between pages take, which both cards may use: without this the driver goes through the host.
bool open_way(int from, int to) {
  if (cudaSetDevice(to) != cudaSuccess) return false;
  const cudaError_t error = cudaDeviceEnablePeerAccess(from, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled) (void)cudaGetLastError();
  return error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
}

Result<bool> try_copy(int from, int to, cudaStream_t stream) {
  if (!open_way(from, to)) return false;
  Piece source(from), target(to);
  if (!source.data || !target.data) return false;
  const std::vector<unsigned char> sent = pattern();
  std::vector<unsigned char> received(kPatternBytes);
  CUDA_TRY(cudaMemcpyAsync(source.data, sent.data(), kPatternBytes, cudaMemcpyHostToDevice, stream));
  CUDA_TRY(cudaMemcpyPeerAsync(target.data, to, source.data, from, kPatternBytes, stream));
  CUDA_TRY(cudaMemcpyAsync(received.data(), target.data, kPatternBytes, cudaMemcpyDeviceToHost, stream));
  CUDA_TRY(cudaStreamSynchronize(stream));
  return received == sent;
}

}  // namespace

std::vector<int> peers_of(int device) {
  int count = 0;
  std::vector<int> peers;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return peers;
  for (int other = 0; other < count; ++other) {
    int can = 0;
    if (other != device && cudaDeviceCanAccessPeer(&can, other, device) == cudaSuccess && can != 0)
      peers.push_back(other);
  }
  return peers;
}

Result<bool> peer_copies_arrive(int from, int to, cudaStream_t stream) {
  static std::mutex mutex;
  static std::map<std::pair<int, int>, bool> known;
  std::lock_guard lock(mutex);
  auto found = known.find({from, to});
  if (found != known.end()) return found->second;
  int can = 0;
  CUDA_TRY(cudaDeviceCanAccessPeer(&can, to, from));
  bool arrives = false;
  if (can != 0) {
    Result<bool> tried = try_copy(from, to, stream);
    arrives = tried.ok() && *tried;
    CUDA_TRY(cudaSetDevice(to));
  }
  return known[{from, to}] = arrives;
}

}  // namespace emplace::cuda
